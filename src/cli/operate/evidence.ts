import { type Chosen, chooseLines } from './evidence-about.ts'
import { exportLines } from '../../tiles/export.ts'
import { createApi } from '../client/api-client.ts'
import { reachAsAdmin, URL_FLAG } from '../client/credentials.ts'
import { acceptLoss } from './evidence-loss.ts'
import { isPlace, withLog } from './evidence-place.ts'
import { proveOne, verifyProof } from './evidence-proof.ts'
import { verifyExport } from './evidence-verify.ts'
import { serveTiles } from './tile-server.ts'
import { STOP_SIGNALS } from '../terminal/signals.ts'
import { command } from '../terminal/command.ts'
import { CliFailure, usage, wholeNumber } from '../terminal/failure.ts'
import { writeOut } from '../terminal/output.ts'
import { type Asked, parse } from '../terminal/parse.ts'
import { counted, type Tell, withProgress } from '../terminal/progress.ts'
import { usageOf } from '../terminal/usage.ts'
import { escaped, jsonOf } from '../terminal/visible-text.ts'

export const EVIDENCE = command({
  name: 'evidence',
  says: 'Exports, verifies and proves evidence.',
  subcommands: {
    export: {
      operands: '[PLACE]',
      flags: ['tenant', 'after', 'disclosures', 'field', 'equals'],
      says: `Prints every evidence record of a tenant as NDJSON, in order. On a terminal it escapes hidden characters. The
        tenant _system has the loads of policy and the reads of evidence. With --field and --equals, it prints the
        records about one value, such as the address of a person. With PLACE, it reads tiles instead of the gateway.`,
    },
    checkpoint: {
      needs: ['tenant'],
      says: `Prints the newest signed checkpoint. Keep it where the gateway cannot write: in a repository or on another
        machine.`,
    },
    key: {
      needs: ['tenant'],
      says: 'Prints the key that verifies checkpoints. Keep it too, once, when the log is new.',
    },
    'new-log': {
      needs: ['tenant', 'reason'],
      says: `Starts a new log when the tiles of the last contradict the store, or are lost. It has the same records, and
        another key and place. Evidence keeps the last note of the log before.`,
    },
    'accept-loss': {
      needs: ['tenant', 'before', 'reason'],
      flags: ['yes'],
      says: `Accepts that tiles are gone for good, with the records before --before that no gateway can read. It asks
        every gateway, shows what is lost, and asks you. Evidence keeps what is lost, by whose word, and why.`,
    },
    verify: {
      operands: 'FILE|PLACE',
      needs: ['key'],
      flags: ['checkpoint', 'receipt', 'within', 'state'],
      says: `Checks an export, from record 1 on, against kept checkpoints and receipts, of which it needs one. Tiles have
        a checkpoint of their own. Replays every thread, vote, proof and freeze. Needs no gateway.`,
    },
    prove: {
      operands: 'FILE|PLACE NUMBER',
      needs: ['key'],
      flags: ['checkpoint'],
      says: `Prints a proof (C2SP tlog-proof) of one record of an export or of tiles, for a reader who must not see the
        other records. An export needs a checkpoint.`,
    },
    serve: {
      operands: 'PLACE',
      flags: ['port'],
      says: 'Serves tiles to programs of this machine (C2SP tlog-tiles over HTTP), until it is stopped.',
    },
    'verify-proof': {
      operands: 'FILE',
      needs: ['key'],
      says: 'Checks such a proof, and prints the record. After a rotation of the key, name every key.',
    },
  },
  flags: {
    tenant: { takes: 'TENANT', says: 'the tenant whose evidence it is' },
    reason: { takes: 'TEXT', says: 'why; kept as evidence' },
    before: { takes: 'NUMBER', says: 'the first record after those that may be lost' },
    yes: { says: 'does not ask' },
    after: { takes: 'NUMBER', default: '0', says: 'begins after this record' },
    disclosures: { says: 'adds the values and texts that evidence has a commitment to' },
    field: { takes: 'FIELD', says: 'only calls with a value in this field, with their disclosures' },
    equals: { takes: 'VALUE', says: 'the value of --field' },
    key: { takes: 'FILE', many: true, says: 'the kept key' },
    checkpoint: { takes: 'FILE', many: true, says: 'a kept checkpoint' },
    receipt: { takes: 'NUMBER:HASH', many: true, says: 'a kept receipt' },
    state: {
      takes: 'FILE',
      says: 'with PLACE: begins after the records that the last run verified, and keeps the state for the next one',
    },
    port: { takes: 'PORT', default: '0', says: 'port of the loopback; 0 takes a free one' },
    within: { takes: 'DURATION', says: 'the newest checkpoint must be no older than that' },
    url: URL_FLAG,
    json: { common: true, says: 'prints the answer as JSON' },
  },
  notes: `PLACE is the log of one tenant as tiles: a directory, or s3://BUCKET/PREFIX with the settings COUNTERSIGN_TILES_...
export, checkpoint, key, new-log and accept-loss need COUNTERSIGN_ADMIN_KEY, or COUNTERSIGN_ADMIN_KEY_FILE.
verify and verify-proof exit 3 if the check fails.`,
})

type Values = Asked<typeof EVIDENCE>['values']

const PAGE = 10_000
/** A new log first tries all records that left the store, ms. */
const START_MS = 3_600_000

export async function evidence(args: readonly string[]): Promise<void> {
  const { subcommand, operands, values } = parse(EVIDENCE, args)
  const [file = '', number = ''] = operands
  const { tenant = '' } = values
  const run = {
    verify: () => verify(file, values),
    prove: () => prove(file, number, values),
    'verify-proof': () => verifyProof(file, values),
    serve: () => serveLog(file, wholeNumber(values.port, '--port')),
    export: () => (file === '' ? exportAll(tenant, values) : exportTiles(file, values)),
    checkpoint: () => newest('checkpoint', tenant, values),
    key: () => newest('key', tenant, values),
    'new-log': () => startLog(tenant, values),
    'accept-loss': () => acceptLoss(tenant, values),
  }
  return run[subcommand]()
}

async function exportTiles(name: string, { tenant, after, disclosures, field }: Values): Promise<void> {
  if (tenant !== undefined) throw usage('name a --tenant or a place, not both', usageOf(EVIDENCE, 'export'))
  if (disclosures || field !== undefined)
    throw usage('tiles have no disclosures: name a --tenant, to ask the gateway', usageOf(EVIDENCE, 'export'))
  const from = wholeNumber(after, '--after')
  await withLog(name, async ({ place, size }) => {
    await copyOut(exportLines(place, size, Math.min(from, size)))
  })
}

/** `countersign evidence serve`: ends with the first signal. */
async function serveLog(name: string, port: number): Promise<void> {
  await withLog(name, async ({ place, size }) => {
    const server = await serveTiles(place, port)
    console.log(`serving ${size} records at ${server.url}`)
    await new Promise((resolve) => {
      for (const signal of STOP_SIGNALS) process.once(signal, resolve)
    })
    await server.close()
  })
}

async function exportAll(tenant: string, values: Values): Promise<void> {
  if (tenant === '') throw usage('name a --tenant, or a place of tiles', usageOf(EVIDENCE, 'export'))
  const api = createApi(reachAsAdmin(values.url))
  const from = wholeNumber(values.after, '--after')
  const chosen = chosenIn(values)
  const beside = values.disclosures || chosen !== undefined ? { disclosures: 'true' as const } : {}
  const copyAll = async (tell: Tell): Promise<number> => {
    let after = from
    async function* pages(): AsyncGenerator<Uint8Array> {
      for (let end = after; after === end;) {
        end += PAGE
        const query = { tenant, after: String(after), limit: String(PAGE), ...beside }
        for await (const chunk of await api.export_evidence({ query })) {
          for (const byte of chunk) if (byte === LINE_END) after++
          yield chunk
        }
        tell(`${counted(after - from)} records`)
      }
    }
    await copyOut(pages(), chosen)
    return after - from
  }
  // printed records already show the progress
  const isSeen = process.stdout.isTTY
  const records = await (isSeen ? copyAll(() => undefined) : withProgress('Exporting the evidence', copyAll))
  if (records === 0) console.error(`\`${tenant}\` has no evidence after record ${from}: nothing was exported`)
}

/** The filter of --field and --equals. */
function chosenIn({ field, equals }: Values): Chosen | undefined {
  if ((field === undefined) !== (equals === undefined))
    throw usage('give --field and --equals together', usageOf(EVIDENCE, 'export'))
  return field === undefined || equals === undefined ? undefined : chooseLines(field, equals)
}

async function newest(what: 'checkpoint' | 'key', tenant: string, { url, json }: Values): Promise<void> {
  const answer = await createApi(reachAsAdmin(url)).list_checkpoints({ query: { tenant, limit: '1' } })
  if (json) return console.log(jsonOf(answer))
  if (what === 'key') return console.log(answer.verifier_key)
  const [checkpoint] = answer.checkpoints
  if (checkpoint === undefined) throw new CliFailure(`no evidence of \`${tenant}\` has been signed yet`)
  process.stdout.write(checkpoint.note)
}

async function startLog(tenant: string, { url, json, reason = '' }: Values): Promise<void> {
  const started = await createApi(reachAsAdmin(url)).start_log({
    body: { tenant, reason },
    timeoutMs: START_MS,
  })
  if (json) return console.log(jsonOf(started))
  const { log, origin, verifier_key, previous_verifier_key } = started
  console.log(`${tenant} has log ${log} now, ${origin}, with this key:\n${verifier_key}`)
  console.log(`the key of the log before:\n${previous_verifier_key}`)
  console.error('give auditors both keys, and the tiles of both logs: both are evidence')
}

function verify(file: string, values: Values): Promise<void> {
  const isTiles = isPlace(file)
  if (values.state !== undefined && !isTiles)
    throw usage('--state needs a place of tiles', usageOf(EVIDENCE, 'verify'))
  if (!isTiles && values.checkpoint.length + values.receipt.length === 0)
    throw usage(
      'give a checkpoint or a receipt: verify needs one to compare with',
      usageOf(EVIDENCE, 'verify'),
    )
  return verifyExport(file, values)
}

function prove(file: string, number: string, { key, checkpoint: [checkpoint, ...more] }: Values) {
  if (!NUMBER.test(number))
    throw usage(`\`${number}\` is not the number of a record`, usageOf(EVIDENCE, 'prove'))
  if (more.length > 0 || (checkpoint === undefined && !isPlace(file)))
    throw usage('give exactly one --checkpoint that covers the record', usageOf(EVIDENCE, 'prove'))
  return proveOne(file, { number: Number(number), key, checkpoint })
}

const NUMBER = /^[1-9][0-9]{0,14}$/

const LINE_END = 0x0a

/** Copies the stream as it arrives, or only its chosen lines. */
async function copyOut(stream: AsyncIterable<Uint8Array>, chosen?: Chosen): Promise<void> {
  const copied = chosen === undefined ? stream : chosen(stream)
  await writeOut(process.stdout.isTTY ? forTheEye(copied) : copied)
}

/** Makes text safe for a terminal, which would obey control characters. A file receives the records byte for byte. */
async function* forTheEye(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder()
  for await (const chunk of stream) yield Buffer.from(escaped(decoder.decode(chunk, { stream: true })))
}
