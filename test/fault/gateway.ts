import { createHash } from 'node:crypto'
import { createReadStream, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Verdict, verifyEvidence } from '../../src/evidence/verify.ts'
import { MAIN, type StartedProcess, startProcess } from '../crash.ts'
import { stopwatch } from '../stopwatch.ts'
import { until } from '../until.ts'

/*
 * A real gateway: `serve` of dist/ in its own process, on free ports of the loopback. Its state is in a temporary
 * directory.
 */
export const STARTER_POLICIES = fileURLToPath(new URL('../../policies', import.meta.url))
/** One tool, two rules: it loads with half a second of processor time less than the starter policies. */
export const SMALL_POLICIES = fileURLToPath(new URL('policies', import.meta.url))
const ADMIN_KEY = 'an-admin-key-for-tests-on-the-loopback-only'

export interface Answer {
  readonly status: number
  readonly headers: NodeJS.Dict<string | string[]>
  readonly text: string
  /** The body as JSON; for an answer without JSON a throw. */
  readonly body: Record<string, unknown>
}

export interface Ask {
  readonly method?: string
  readonly path: string
  readonly key?: string
  readonly body?: object
  readonly headers?: Record<string, string>
}

export interface Gateway {
  readonly url: string
  readonly metricsUrl: string
  readonly process: StartedProcess
  /** From the start of the process to its first 200 of /readyz. */
  readonly readyMs: number
  ask(ask: Ask): Promise<Answer>
  admin(method: string, path: string, body?: object): Promise<Answer>
  /** Issues (or rotates) a key and returns it. */
  key(kind: 'agent' | 'reviewer', id: string): Promise<string>
  /** Ends the connections that are kept alive. */
  hangUp(): void
}

export interface GatewayOptions {
  readonly directory: string
  readonly policies?: string
  readonly args?: readonly string[]
  /** False when the gateway is expected to listen without becoming ready. */
  readonly ready?: boolean
  readonly through?: readonly string[]
  /** The program; this build without it. */
  readonly main?: string
}

/** Runs a test against a gateway of its own, and stops the gateway by its id, also when the test fails. */
export async function withGateway(
  options: GatewayOptions,
  run: (gateway: Gateway) => Promise<void>,
): Promise<void> {
  const gateway = await startGateway(options)
  try {
    await run(gateway)
  } finally {
    gateway.hangUp()
    await gateway.process.kill('SIGTERM')
  }
}

/** A gateway that does not get ready is stopped before the error is thrown. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { directory, policies = SMALL_POLICIES, args = [], ready = true, through = [], main = MAIN } = options
  const tookMs = stopwatch()
  const ports = ['--port', '0', '--metrics-port', '0']
  const child = startProcess(
    main,
    ['serve', ...ports, '--store', `file:${directory}/data`, '--policies', policies, ...args],
    { through: ['env', `COUNTERSIGN_ADMIN_KEY=${ADMIN_KEY}`, ...through] },
  )
  const line = await child.lineWhere((text) => text.includes('"listening"'))
  const { url, metrics: metricsUrl } = JSON.parse(line) as { url: string; metrics: string }
  const agent = new Agent({ keepAlive: true, maxSockets: 128 })
  const ask = (one: Ask): Promise<Answer> => send(url, agent, one)
  const isReady = async (): Promise<boolean> => (await ask({ path: '/readyz' })).status === 200
  if (ready)
    await until(isReady).catch(async (error: unknown) => {
      agent.destroy()
      await child.kill()
      throw error
    })
  const readyMs = tookMs()
  const admin = (method: string, path: string, body?: object): Promise<Answer> =>
    ask({ method, path: `/api/admin${path}`, key: ADMIN_KEY, ...(body && { body }) })
  return {
    url,
    metricsUrl,
    process: child,
    readyMs,
    ask,
    admin,
    key: async (kind, id) => (await admin('POST', `/${kind}s/acme/${id}/key`)).body['api_key'] as string,
    hangUp: () => agent.destroy(),
  }
}

function send(
  url: string,
  agent: Agent,
  { method = 'GET', path, key, body, headers = {} }: Ask,
): Promise<Answer> {
  const text = body === undefined ? undefined : JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      url + path,
      {
        method,
        agent,
        headers: {
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...(text === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
          ...headers,
        },
      },
      (response) => {
        let received = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => (received += chunk))
        response.on('error', reject)
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: received,
            get body() {
              return JSON.parse(received) as Record<string, unknown>
            },
          }),
        )
      },
    )
    request.on('error', reject)
    request.end(text)
  })
}

/** Runs a test in a directory of its own that is gone afterwards. */
export async function inDirectory(run: (directory: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'countersign-fault-'))
  try {
    await run(directory)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** One record of the evidence export. */
export interface Evidence {
  readonly number: number
  readonly leaf_hash: string
  readonly record: {
    readonly type: string
    readonly thread_id?: string
    readonly revision?: number
    readonly details?: { readonly [member: string]: unknown }
  }
}

const RECORD = ',"record":'

/** The exported bytes of the record hash to the leaf that is exported with them (RFC 6962 section 2.1). */
function checkedLeaf(line: string): Evidence {
  const evidence = JSON.parse(line) as Evidence
  const leaf = line.slice(line.indexOf(RECORD) + RECORD.length, -1)
  const hashed = createHash('sha256').update(Uint8Array.of(0)).update(leaf).digest('hex')
  if (hashed !== evidence.leaf_hash) throw new Error(`record ${evidence.number} does not hash to its leaf`)
  return evidence
}

/** Every record of the tenant with a number above `after`. */
export async function evidenceAfter(gateway: Gateway, after: number): Promise<Evidence[]> {
  const all: Evidence[] = []
  for (;;) {
    const from = all.at(-1)?.number ?? after
    const { text } = await gateway.admin('GET', `/evidence?tenant=acme&after=${from}&limit=10000`)
    const page = text.split('\n').filter((line) => line !== '')
    if (page.length === 0) return all
    for (const line of page) all.push(checkedLeaf(line))
  }
}

/** All evidence of the tenant with its disclosures, as an export prints it. */
export async function exportOf(gateway: Gateway): Promise<string> {
  let all = ''
  for (let after = 0; ;) {
    const query = `tenant=acme&disclosures=true&after=${after}&limit=10000`
    const { text } = await gateway.admin('GET', `/evidence?${query}`)
    if (text === '') return all
    all += text
    const last = text.trimEnd().split('\n').at(-1) ?? ''
    after = (JSON.parse(last) as Evidence).number
  }
}

export const TRANSFER_PATH = (task: string): string => `/api/agent/tasks/${task}/requests`

/** A transfer that both bundles allow up to 100.00 and send to a team lead above. */
export function transfer(amount_cents: number): { tool_name: string; payload: Record<string, unknown> } {
  return {
    tool_name: 'ledger.transfer',
    payload: { from: 'acct_ops', to: 'acct_travel', amount_cents, currency: 'eur' },
  }
}
export const SMALL_CENTS = 2_500
export const LARGE_CENTS = 25_000

/** Verifies all evidence of the tenant and its checkpoints, as an auditor does with an export. */
export async function verdictOn(gateway: Gateway, directory: string): Promise<Verdict> {
  const file = join(directory, 'evidence.ndjson')
  writeFileSync(file, await exportOf(gateway))
  const { verifier_key, checkpoints } = (await gateway.admin('GET', '/checkpoints?tenant=acme')).body as {
    verifier_key: string
    checkpoints: { note: string }[]
  }
  return verifyEvidence(createReadStream(file), {
    notes: checkpoints.map(({ note }) => note),
    verifierKeys: [verifier_key],
    receipts: [],
  })
}
