import { createReadStream, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { CheckpointList } from '../contract/checkpoint.ts'
import { verifyEvidence, type Verdict } from '../evidence/verify.ts'
import { createApi } from './api.ts'
import { reachAsAdmin } from './credentials.ts'
import { CliFailure, EXIT, refuseMore, usage } from './failure.ts'
import { writeOut } from './output.ts'

export const EVIDENCE_USAGE = `countersign evidence <command>

  export --tenant TENANT [--after NUMBER]
      Prints every evidence record of a tenant as NDJSON, in order. Tenant _system holds policy loads and reads of evidence.
  checkpoint --tenant TENANT
      Prints the newest signed checkpoint. Keep it where the gateway cannot write: a repository, a ticket, another machine.
  key --tenant TENANT
      Prints the key that checkpoints are verified with. Keep it, too, once, when the log is new.
  verify FILE --key FILE [--checkpoint FILE ...] [--receipt NUMBER:HASH ...]
      Checks an export, from record 1 on, against kept checkpoints and receipts. Needs no gateway and no network.

  --url URL   the gateway (COUNTERSIGN_URL)
  --json      print the answer as JSON

All but verify need COUNTERSIGN_ADMIN_KEY. verify exits 3 when something is wrong.`

const OPTIONS = {
  tenant: { type: 'string' },
  after: { type: 'string', default: '0' },
  key: { type: 'string' },
  checkpoint: { type: 'string', multiple: true, default: [] as string[] },
  receipt: { type: 'string', multiple: true, default: [] as string[] },
  url: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const

type Values = ReturnType<typeof parse>['values']

function parse(args: readonly string[]) {
  return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
}

const PAGE = 10_000

export async function evidence(args: readonly string[]): Promise<void> {
  const { values, positionals } = parse(args)
  const [command, ...named] = positionals
  if (command === 'verify') return verify(named, values)
  refuseMore(positionals, 1, EVIDENCE_USAGE)
  if (values.tenant === undefined) throw usage('name a tenant', EVIDENCE_USAGE)
  if (command === 'export') return exportAll(values.tenant, values)
  if (command === 'checkpoint' || command === 'key') return newest(command, values.tenant, values)
  throw usage('name what to do with evidence', EVIDENCE_USAGE)
}

async function exportAll(tenant: string, values: Values): Promise<void> {
  const reach = reachAsAdmin(values.url)
  const api = createApi(reach.url, reach.key)
  for (let after = Number(values.after); ;) {
    const query = new URLSearchParams({ tenant, after: String(after), limit: String(PAGE) })
    const lines = await copyOut(await api.stream(`/api/admin/evidence?${query.toString()}`))
    if (lines < PAGE) return
    after += lines
  }
}

async function newest(what: 'checkpoint' | 'key', tenant: string, { url, json }: Values): Promise<void> {
  const reach = reachAsAdmin(url)
  const query = new URLSearchParams({ tenant, limit: '1' }).toString()
  const answer = await createApi(reach.url, reach.key).get<CheckpointList>(`/api/admin/checkpoints?${query}`)
  if (json) return console.log(JSON.stringify(answer, null, 2))
  if (what === 'key') return console.log(answer.verifier_key)
  const [checkpoint] = answer.checkpoints
  if (checkpoint === undefined) throw new CliFailure(`no evidence of \`${tenant}\` has been signed yet`)
  process.stdout.write(checkpoint.note)
}

async function verify(named: readonly string[], values: Values): Promise<void> {
  const [file, ...more] = named
  if (file === undefined || more.length > 0) throw usage('name one export', EVIDENCE_USAGE)
  if (values.tenant !== undefined)
    throw usage('the key says whose evidence it is: --tenant is not for verify', EVIDENCE_USAGE)
  if (values.key === undefined) throw usage('name the file with the key, by --key', EVIDENCE_USAGE)
  if (values.checkpoint.length + values.receipt.length === 0)
    throw usage(
      'bring a checkpoint or a receipt: without one there is nothing to check against',
      EVIDENCE_USAGE,
    )
  const verdict = await verifyEvidence(chunksOf(file), {
    notes: values.checkpoint.map(textOf),
    verifierKey: textOf(values.key).trim(),
    receipts: values.receipt,
  })
  console.log(values.json ? JSON.stringify(verdict, null, 2) : sentencesOf(verdict))
  if (verdict.faults.length > 0) process.exitCode = EXIT.doesNotCheck
}

function sentencesOf({ faults, omitted, records, signed, unsigned }: Verdict): string {
  if (faults.length > 0) return [...faults, ...(omitted === 0 ? [] : [`... and ${omitted} more`])].join('\n')
  const covered = signed
    ? `The first ${signed.size} are those that were signed at ${signed.at}.`
    : 'No checkpoint was given.'
  const rest = unsigned === 0 ? [] : [`Nothing but receipts speaks for the last ${unsigned}.`]
  return [`${records} records, without a gap, each with its hash.`, covered, ...rest].join('\n')
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw unreadable(file, error)
  }
}

async function* chunksOf(file: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(file) as AsyncIterable<Uint8Array>
  } catch (error) {
    throw unreadable(file, error)
  }
}

function unreadable(file: string, error: unknown): CliFailure {
  return new CliFailure(`\`${file}\` cannot be read: ${(error as Error).message}`, { cause: error })
}

const LINE_END = 0x0a

/** Writes what comes, as it comes, and counts the lines. */
async function copyOut(stream: AsyncIterable<Uint8Array>): Promise<number> {
  let lines = 0
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of stream) {
      for (const byte of chunk) if (byte === LINE_END) lines++
      yield chunk
    }
  }
  await writeOut(counted())
  return lines
}
