import { type Proofs, verifyEvidence } from '../../evidence/verify.ts'
import { parseDuration } from '../../policy/text/text.ts'
import { exported, keptText } from '../author/evidence-files.ts'
import { EXIT, usage } from '../terminal/failure.ts'
import { withProgress } from '../terminal/progress.ts'
import { verdictText } from './print-verdict.ts'
import { jsonOf } from '../terminal/visible-text.ts'

export interface VerifyOptions {
  readonly key: readonly string[]
  readonly checkpoint: readonly string[]
  readonly receipt: readonly string[]
  /** A duration, as `24h`. */
  readonly within: string | undefined
  readonly json: boolean
}

/**
 * `countersign evidence verify`: reports for each property whether it holds, and the limits of the proof. Exits with 3
 * when a property fails.
 */
export async function verifyExport(file: string, options: VerifyOptions): Promise<void> {
  const now = Date.now()
  const { checkpoint, receipt, within, json } = options
  const proofs = {
    notes: checkpoint.map(keptText),
    verifierKeys: options.key.map((file) => keptText(file).trim()),
    receipts: receipt,
    ...(within === undefined ? {} : freshWithin(durationOf(within), now)),
  }
  const verdict = await withProgress('Verifying the export', () => verifyEvidence(exported(file), proofs))
  const brought = { checkpoints: checkpoint.length, receipts: receipt.length, within, now }
  console.log(json ? jsonOf(verdict) : verdictText(verdict, brought))
  if (verdict.faults.length > 0) process.exitCode = EXIT.doesNotCheck
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
