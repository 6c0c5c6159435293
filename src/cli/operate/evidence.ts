import { parseArgs } from 'node:util'
import { createApi } from '../client/api-client.ts'
import { reachAsAdmin } from '../client/credentials.ts'
import { proveOne, verifyProof } from './evidence-proof.ts'
import { verifyExport } from './evidence-verify.ts'
import { CliFailure, refuseMore, refuseOptions, usage, wholeNumber } from '../terminal/failure.ts'
import { writeOut } from '../terminal/output.ts'
import { counted, type Tell, withProgress } from '../terminal/progress.ts'
import { escaped, jsonOf } from '../terminal/visible-text.ts'

export const EVIDENCE_USAGE = `countersign evidence <command>

  export --tenant TENANT [--after NUMBER]
      Prints every evidence record of a tenant as NDJSON, in order. On a terminal it escapes hidden characters. The
      tenant _system has the loads of policy and the reads of evidence.
  checkpoint --tenant TENANT
      Prints the newest signed checkpoint. Keep it where the gateway cannot write: in a repository or on another
      machine.
  key --tenant TENANT
      Prints the key that verifies checkpoints. Keep it too, once, when the log is new.
  verify FILE --key FILE ... [--checkpoint FILE ...] [--receipt NUMBER:HASH ...] [--within DURATION]
      Checks an export, from record 1 on, against kept checkpoints and receipts. Replays every thread, vote, proof and
      freeze. With --within, the newest checkpoint must be no older than that. Needs no gateway and no network.
  prove FILE NUMBER --key FILE --checkpoint FILE
      Prints a proof (C2SP tlog-proof) of one record of an export, for a reader who must not see the other records.
  verify-proof FILE --key FILE
      Checks such a proof, and prints the record. After a rotation of the key, name every key: --key FILE --key FILE.

  --url URL   the gateway (COUNTERSIGN_URL)
  --json      print the answer as JSON

export, checkpoint and key need COUNTERSIGN_ADMIN_KEY, or COUNTERSIGN_ADMIN_KEY_FILE. verify and verify-proof exit 3 if
the check fails.`

/** The lines of the help about one command, for a mistake in its arguments. */
function aboutOf(command: string): string {
  const [lines = ''] = new RegExp(`^  ${command} .*\n(?: {6}.*\n)+`, 'm').exec(EVIDENCE_USAGE) ?? []
  return `${lines}\n\`countersign evidence --help\` describes every command.`
}

const OPTIONS = {
  tenant: { type: 'string' },
  after: { type: 'string', default: '0' },
  key: { type: 'string', multiple: true, default: [] as string[] },
  checkpoint: { type: 'string', multiple: true, default: [] as string[] },
  receipt: { type: 'string', multiple: true, default: [] as string[] },
  within: { type: 'string' },
  url: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const

/** The options that each command accepts. Commands without a tenant refuse `--tenant` themselves. */
const TAKEN: ReadonlyMap<string | undefined, readonly string[]> = new Map([
  ['export', ['tenant', 'after']],
  ['checkpoint', ['tenant']],
  ['key', ['tenant']],
  ['verify', ['key', 'checkpoint', 'receipt', 'within', 'tenant']],
  ['prove', ['key', 'checkpoint', 'tenant']],
  ['verify-proof', ['key', 'tenant']],
])

type Values = ReturnType<typeof parse>['values']

function parse(args: readonly string[]) {
  return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, tokens: true })
}

const PAGE = 10_000

export async function evidence(args: readonly string[]): Promise<void> {
  const { values, positionals, tokens } = parse(args)
  const [command, ...named] = positionals
  refuseOptions(tokens, TAKEN.get(command) ?? Object.keys(OPTIONS), EVIDENCE_USAGE)
  if (command === 'verify') return verify(named, values)
  if (command === 'prove') return prove(named, values)
  if (command === 'verify-proof') return verifyOneProof(named, values)
  if (command === undefined)
    throw usage('name a command: export, checkpoint, key, verify, prove or verify-proof', EVIDENCE_USAGE)
  if (command !== 'export' && command !== 'checkpoint' && command !== 'key')
    throw usage(`unknown command \`evidence ${command}\``, EVIDENCE_USAGE)
  refuseMore(positionals, 1, EVIDENCE_USAGE)
  if (values.tenant === undefined) throw usage('name a tenant, with --tenant', aboutOf(command))
  return command === 'export' ? exportAll(values.tenant, values) : newest(command, values.tenant, values)
}

async function exportAll(tenant: string, values: Values): Promise<void> {
  const reach = reachAsAdmin(values.url)
  const api = createApi(reach.url, reach.key)
  const from = wholeNumber(values.after, '--after')
  const copyAll = async (tell: Tell): Promise<number> => {
    for (let after = from; ;) {
      const query = { tenant, after: String(after), limit: String(PAGE) }
      const lines = await copyOut(await api.export_evidence({ query }))
      after += lines
      if (lines < PAGE) return after - from
      tell(`${counted(after - from)} records`)
    }
  }
  // printed records already show the progress
  const isSeen = process.stdout.isTTY
  const records = await (isSeen ? copyAll(() => undefined) : withProgress('Exporting the evidence', copyAll))
  if (records === 0) console.error(`\`${tenant}\` has no evidence after record ${from}: nothing was exported`)
}

async function newest(what: 'checkpoint' | 'key', tenant: string, { url, json }: Values): Promise<void> {
  const reach = reachAsAdmin(url)
  const answer = await createApi(reach.url, reach.key).list_checkpoints({ query: { tenant, limit: '1' } })
  if (json) return console.log(jsonOf(answer))
  if (what === 'key') return console.log(answer.verifier_key)
  const [checkpoint] = answer.checkpoints
  if (checkpoint === undefined) throw new CliFailure(`no evidence of \`${tenant}\` has been signed yet`)
  process.stdout.write(checkpoint.note)
}

function verify(named: readonly string[], values: Values): Promise<void> {
  const [file] = named
  if (file === undefined) throw usage('name one export', aboutOf('verify'))
  refuseMore(named, 1, aboutOf('verify'))
  const { checkpoint, receipt, within, json } = values
  const key = keyFiles('verify', values)
  if (checkpoint.length + receipt.length === 0)
    throw usage('give a checkpoint or a receipt: verify needs one to compare with', aboutOf('verify'))
  return verifyExport(file, { key, checkpoint, receipt, within, json })
}

function prove(named: readonly string[], values: Values): Promise<void> {
  const [file, number] = named
  const [checkpoint, ...more] = values.checkpoint
  if (file === undefined || number === undefined)
    throw usage('name one export, and the number of a record', aboutOf('prove'))
  refuseMore(named, 2, aboutOf('prove'))
  if (!NUMBER.test(number)) throw usage(`\`${number}\` is not the number of a record`, aboutOf('prove'))
  if (checkpoint === undefined || more.length > 0)
    throw usage('give exactly one --checkpoint that covers the record', aboutOf('prove'))
  return proveOne(file, { number: Number(number), key: keyFiles('prove', values), checkpoint })
}

function verifyOneProof(named: readonly string[], values: Values): Promise<void> {
  const [file] = named
  if (file === undefined) throw usage('name one proof', aboutOf('verify-proof'))
  refuseMore(named, 1, aboutOf('verify-proof'))
  return verifyProof(file, { key: keyFiles('verify-proof', values), json: values.json })
}

const NUMBER = /^[1-9][0-9]{0,14}$/

function keyFiles(command: string, { key, tenant }: Values): readonly string[] {
  if (tenant !== undefined)
    throw usage('the key names the tenant: --tenant is only for export, checkpoint and key', aboutOf(command))
  if (key.length === 0) throw usage('name the file with the key, with --key', aboutOf(command))
  return key
}

const LINE_END = 0x0a

/** Copies the stream as it arrives, and counts the lines. */
async function copyOut(stream: AsyncIterable<Uint8Array>): Promise<number> {
  let lines = 0
  async function* linesCounted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of stream) {
      for (const byte of chunk) if (byte === LINE_END) lines++
      yield chunk
    }
  }
  await writeOut(process.stdout.isTTY ? forTheEye(linesCounted()) : linesCounted())
  return lines
}

/** Makes text safe for a terminal, which would obey control characters. A file receives the records byte for byte. */
async function* forTheEye(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder()
  for await (const chunk of stream) yield Buffer.from(escaped(decoder.decode(chunk, { stream: true })))
}
