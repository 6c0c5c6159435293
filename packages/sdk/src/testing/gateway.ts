import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { createGate, type Gate } from '../gate.ts'
import type { GateOptions } from '../options.ts'
import type { Files } from './bundle.ts'
import { type EvidenceRecord, Reviewer, type Watched } from './reviewer.ts'

export interface TestGatewayOptions {
  /**
   * A built checkout, or a directory whose node_modules has `countersign`. Default: COUNTERSIGN_TEST_GATEWAY, else the
   * package `countersign` that the tests can import.
   */
  readonly source?: string | undefined
  /** More flags of `countersign serve`. */
  readonly flags?: readonly string[]
}

export interface TestGateway extends Watched {
  readonly adminKey: string
  readonly agentKey: string
  /** A gate of the agent. */
  gate(options?: GateOptions): Gate
  /** The reviewer of one test, who reads only what happens from now on. */
  reviewer(): Promise<Reviewer>
  /** Calls the admin API. @throws Error for a refusal */
  admin(method: string, path: string, body?: object): Promise<Response>
  /** Ends the gateway, and deletes its store. */
  stop(): Promise<void>
}

const START_MS = 60_000
const STOP_MS = 15_000

/** Ends the gateway with the process of the tests, which has the other end of its standard input, even by SIGKILL. */
const ENDS_WITH_US = `data:text/javascript,${encodeURIComponent(`
import { rmSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
if (isMainThread && process.argv[2] === 'serve') {
  process.stdin.on('end', () => process.kill(process.pid, 'SIGTERM')).resume().unref()
  process.on('exit', () => rmSync(process.cwd(), { recursive: true, force: true }))
}`)}`

/**
 * Starts a real gateway on a bundle, with a store and a port of its own.
 *
 * @param files a directory, or the text of each path
 * @throws Error when there is no gateway, or when it does not start or load the bundle
 */
export async function startGateway(
  files: Files | string,
  { source = process.env['COUNTERSIGN_TEST_GATEWAY'], flags = [] }: TestGatewayOptions = {},
): Promise<TestGateway> {
  const program = programOf(source)
  const directory = mkdtempSync(join(tmpdir(), 'countersign-test-'))
  const policies = typeof files === 'string' ? resolve(files) : join(directory, 'policies')
  if (typeof files !== 'string') write(files, policies)
  const adminKey = randomBytes(24).toString('base64url')
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('COUNTERSIGN_'))
  const serve = ['serve', '--port', '0', '--metrics-port', '0', '--store', `file:${join(directory, 'data')}`]
  const args = [`--import=${ENDS_WITH_US}`, program, ...serve, '--policies', policies, ...flags]
  const child = spawn(process.execPath, args, {
    cwd: directory,
    env: { ...Object.fromEntries(own), COUNTERSIGN_ADMIN_KEY: adminKey },
  })
  const stop = async (): Promise<void> => {
    await end(child)
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    return await opened({ url: await addressOf(child, policies), adminKey, stop })
  } catch (error) {
    await stop()
    throw error
  }
}

function write(files: Files, policies: string): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(policies, name)), { recursive: true })
    writeFileSync(join(policies, name), text)
  }
}

/** @throws Error that says how to install the gateway */
function programOf(source: string | undefined): string {
  const main = 'dist/bin/main.js'
  const places =
    source === undefined
      ? [process.cwd(), import.meta.dirname].flatMap((from) => {
          try {
            return [dirname(createRequire(join(from, '_')).resolve('countersign/package.json'))]
          } catch {
            return []
          }
        })
      : [resolve(source), resolve(source, 'node_modules/countersign')]
  const found = places.map((place) => join(place, main)).find((path) => existsSync(path))
  if (found !== undefined) return found
  throw new Error(
    source === undefined
      ? 'no gateway for the tests: install it (`npm install --save-dev PATH/TO/countersign-0.1.0.tgz`), or set COUNTERSIGN_TEST_GATEWAY to a built checkout'
      : `${source} holds no built gateway: run \`npm ci && npm run build\` there`,
  )
}

/** Reads the log until the gateway listens. @throws Error when it ends before, or did not load the bundle */
async function addressOf(child: ChildProcess, policies: string): Promise<string> {
  const said: string[] = []
  const timer = setTimeout(() => child.kill('SIGKILL'), START_MS)
  const streams = [child.stdout, child.stderr].map((stream) =>
    createInterface({ input: stream ?? ([] as never) }),
  )
  try {
    return await new Promise((found, reject) => {
      const hear = (line: string): void => {
        said.push(line)
        const { msg, url } = entryOf(line)
        if (msg !== 'listening') return
        const isLoaded = said.some((one) => entryOf(one).msg === 'policies loaded')
        if (isLoaded) found(url ?? '')
        else reject(new Error(`the bundle in ${policies} does not load:\n${said.join('\n')}`))
      }
      for (const stream of streams) stream.on('line', hear)
      child.once('error', reject)
      child.once('close', () =>
        reject(new Error(`the gateway did not start:\n${said.slice(-20).join('\n')}`)),
      )
    })
  } finally {
    clearTimeout(timer)
    for (const stream of streams) stream.removeAllListeners('line').on('line', () => undefined)
    // tests that forget to stop the gateway end nevertheless
    for (const one of [child, ...child.stdio]) (one as { unref?(): void } | null)?.unref?.()
  }
}

function entryOf(line: string): { readonly msg?: string; readonly url?: string } {
  try {
    return JSON.parse(line) as object
  } catch {
    return {}
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  child.ref()
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await exited
  clearTimeout(timer)
}

async function opened(started: Pick<TestGateway, 'url' | 'adminKey' | 'stop'>): Promise<TestGateway> {
  const { url, adminKey } = started
  const gates: Gate[] = []
  const admin: TestGateway['admin'] = async (method, path, body) => {
    const answer = await fetch(`${url}/api/admin/${path}`, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${method} ${path} was refused: ${await answer.text()}`)
    return answer
  }
  const issue = async (who: string): Promise<string> =>
    ((await (await admin('POST', `${who}/key`, {})).json()) as { api_key: string }).api_key
  const agentKey = await issue('agents/test/agent')
  const gateway: TestGateway = {
    ...started,
    agentKey,
    reviewerKey: await issue('reviewers/test/reviewer'),
    admin,
    gate: (options) => {
      const gate = createGate({
        url,
        key: agentKey,
        maxWaitMs: START_MS,
        onPending: () => undefined,
        ...options,
      })
      gates.push(gate)
      return gate
    },
    reviewer: async () => new Reviewer(gateway, (await gateway.evidence()).at(-1)?.number ?? 0),
    evidence: async (after = 0) => {
      await Promise.all(gates.map((gate) => gate.settled()))
      const found: EvidenceRecord[] = []
      for (;;) {
        const last = found.at(-1)?.number ?? after
        const answer = await admin('GET', `evidence?tenant=test&disclosures=true&after=${last}`)
        const lines = (await answer.text()).split('\n').filter((line) => line !== '')
        if (lines.length === 0) return found
        found.push(...lines.map(recordOf))
      }
    },
  }
  return gateway
}

function recordOf(line: string): EvidenceRecord {
  const { number, record, disclosures } = JSON.parse(line) as {
    readonly number: number
    readonly record: EvidenceRecord
    readonly disclosures?: { readonly members?: object }
  }
  return { ...record, number, details: { ...record.details, ...disclosures?.members } }
}
