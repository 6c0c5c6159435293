import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { readState, type VerifiedState, writeState } from '../../evidence/state.ts'
import { type Proofs, type Verdict, verifyAfter, verifyEvidence } from '../../evidence/verify.ts'
import { parseDuration } from '../../policy/text/text.ts'
import { exportLines } from '../../tiles/export.ts'
import { exported, keptText } from '../author/evidence-files.ts'
import { EXIT, usage } from '../terminal/failure.ts'
import { withProgress } from '../terminal/progress.ts'
import { isPlace, type NamedLog, withLog } from './evidence-place.ts'
import { verdictText } from './print-verdict.ts'
import { jsonOf } from '../terminal/visible-text.ts'

export interface VerifyOptions {
  readonly key: readonly string[]
  readonly checkpoint: readonly string[]
  readonly receipt: readonly string[]
  /** A duration, as `24h`. */
  readonly within: string | undefined
  /** A file that keeps the state after the last record, with which the next run begins. Only for tiles. */
  readonly state: string | undefined
  readonly json: boolean
}

/**
 * `countersign evidence verify`: reports for each property whether it holds, and the limits of the proof. Exits with 3
 * when a property fails.
 */
export async function verifyExport(name: string, options: VerifyOptions): Promise<void> {
  const now = Date.now()
  const { checkpoint, receipt, within, json } = options
  const proofs = {
    notes: checkpoint.map(keptText),
    verifierKeys: options.key.map((file) => keptText(file).trim()),
    receipts: receipt,
    ...(within === undefined ? {} : freshWithin(durationOf(within), now)),
  }
  const isTiles = isPlace(name)
  const verdict = isTiles
    ? await withLog(name, (log) => verifyTiles(log, proofs, options.state))
    : await withProgress('Verifying the export', () => verifyEvidence(exported(name), proofs))
  const checkpoints = checkpoint.length + (isTiles ? 1 : 0)
  const brought = { checkpoints, receipts: receipt.length, within, now }
  console.log(json ? jsonOf(verdict) : verdictText(verdict, brought))
  if (verdict.faults.length > 0) process.exitCode = EXIT.doesNotCheck
}

/** Verifies tiles up to their own checkpoint, from the kept state on. */
async function verifyTiles(log: NamedLog, proofs: Proofs, file: string | undefined): Promise<Verdict> {
  const from = file === undefined ? undefined : keptState(file)
  if (from !== undefined && file !== undefined)
    console.error(`records 1 to ${from.tree.size} were verified by an earlier run (${file})`)
  const given = { ...proofs, notes: [...proofs.notes, log.note], ...(from && { from }) }
  const lines = exportLines(log.place, log.size, from?.tree.size)
  const { verdict, state } = await withProgress('Verifying the tiles', () => verifyAfter(lines, given))
  if (file !== undefined && state !== undefined) keepState(file, state)
  return verdict
}

function keptState(file: string): VerifiedState | undefined {
  if (!existsSync(file)) return undefined
  const state = readState(readFileSync(file))
  if (state === undefined)
    console.error(`${file} is damaged, or of another version: this run begins with record 1`)
  return state
}

/** Replaces the file as a whole, so that an interrupted run leaves the earlier state. */
function keepState(file: string, state: VerifiedState): void {
  writeFileSync(`${file}.new`, writeState(state), { mode: 0o600, flush: true })
  renameSync(`${file}.new`, file)
}

/**
 * The accepted range of times, which extends equally before and after this clock's time. Clocks differ, and a wrong
 * clock is trusted only within this range.
 */
function freshWithin(ms: number, now: number): Required<Pick<Proofs, 'freshSince' | 'freshUntil'>> {
  return { freshSince: Math.max(0, now - ms), freshUntil: now + ms }
}

function durationOf(text: string): number {
  const ms = parseDuration(text)
  if (ms === undefined) throw usage(`--within must be a duration like 24h, not \`${text}\``)
  return ms
}
