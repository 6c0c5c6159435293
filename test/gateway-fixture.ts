import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import { type App, startApp } from '../src/app.ts'
import type { Clock } from '../src/app/chat.ts'
import type { WebhookParts } from '../src/app/webhooks.ts'
import type { Config } from '../src/settings/config.ts'
import { SETTING_ROWS, SETTINGS } from '../src/settings/settings.ts'
import type {
  ApprovalValidationResult,
  Decision,
  EventReceipt,
  ResolveResult,
} from '../src/contract/agent.ts'
import { ERRORS, type Problem } from '../src/contract/errors.ts'
import type { ThreadList, ThreadView } from '../src/contract/reviewer.ts'
import type { WatchClock } from '../src/policy/bundle/watch.ts'
import type { LoginLink, SignedIn as Opened } from '../src/contract/session.ts'
import { leafHash } from '../src/domain/digest.ts'
import { issueKey } from '../src/gateway/auth/keys.ts'
import { INDEX } from '../src/gateway/core/indexes.ts'
import { SYSTEM } from '../src/gateway/core/records.ts'
import { runDue } from '../src/gateway/jobs/scheduler.ts'
import type { Deps } from '../src/gateway/core/deps.ts'
import { listTenants } from '../src/gateway/core/tenants.ts'
import { loadBundle } from '../src/policy/bundle/directory.ts'
import { type Commit, overriding, type Store } from '../src/store/store.ts'
import { createLog } from '../src/telemetry/log/log.ts'
import { BUNDLE } from './bundle.ts'
import { checkDocumented } from './documented.ts'
import { faultsIn } from './evidence/replayed.ts'
import { openTestStore } from './test-store.ts'
import { until } from './until.ts'

export { until } from './until.ts'

/** A whole gateway in this process, with a clock that tests move: nothing here waits for time to pass. */

export const ADMIN_KEY = 'the admin key of the tests, 32 characters or more'
export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
/** Far beyond what a busy machine takes: a test whose subject is the deadline sets its own. */
const STORE_DEADLINE_MS = 30_000
/** A Monday, noon. */
const START = Date.UTC(2026, 2, 2, 12)
/** The defaults of all settings that have one. */
const DEFAULTS = Object.fromEntries(
  SETTING_ROWS.flatMap(({ key, parse, default: text }) => (text === undefined ? [] : [[key, parse(text)]])),
) as Config

/** Settings as a test gives them: networks as text. */
export type Given = Omit<Partial<Config>, 'webhooksAllow' | 'trustedProxies'> & {
  readonly webhooksAllow?: string
  readonly trustedProxies?: string
}

function parsed({ webhooksAllow, trustedProxies, ...others }: Given): Partial<Config> {
  return {
    ...others,
    ...(webhooksAllow === undefined ? {} : { webhooksAllow: SETTINGS.webhooksAllow.parse(webhooksAllow) }),
    ...(trustedProxies === undefined
      ? {}
      : { trustedProxies: SETTINGS.trustedProxies.parse(trustedProxies) }),
  }
}
/** The log of a round that failed. */
const FAILED_ROUND = /a round of the timer failed|the store cannot answer/
/** The longest delay of setTimeout: the timer of the gateway does one round at start, then tests call `due()`. */
const NEVER_MS = 2 ** 31 - 1

export interface ManualClock {
  now: number
  advance(ms: number): void
  /** Lets time pass by itself, from the current time. */
  run(): void
  wall(): number
  monotonic(): number
}

function manualClock(): ManualClock {
  let startedAt: number | undefined
  const clock: ManualClock = {
    now: START,
    advance: (ms) => {
      clock.now += ms
    },
    run: () => {
      startedAt = performance.now()
    },
    wall: () => clock.now + (startedAt === undefined ? 0 : performance.now() - startedAt),
    monotonic: () => clock.wall(),
  }
  return clock
}

export interface Answer<T> {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The parsed body; typed as what the endpoint answers when it succeeds. */
  readonly body: T
  /** The parsed body of a refusal; checked to be RFC 9457. */
  readonly problem: Problem
}

export interface CallOptions {
  readonly body?: unknown
  readonly raw?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** Sends one call and checks rules that every answer obeys: no-store, and problem+json for every refusal. */
export async function call<T>(
  url: string,
  method: string,
  { body, raw, headers = {}, signal }: CallOptions = {},
): Promise<Answer<T>> {
  const content = raw ?? (body === undefined ? undefined : JSON.stringify(body))
  const response = await fetch(url, {
    method,
    headers: { ...(content === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(content === undefined ? {} : { body: content as string }),
    ...(signal === undefined ? {} : { signal }),
    redirect: 'error',
  })
  const text = await response.text()
  const json =
    /^application\/(?:problem\+)?json\b/.test(response.headers.get('content-type') ?? '') && text !== ''
  const parsed = json ? (JSON.parse(text) as unknown) : undefined
  const answer = {
    status: response.status,
    headers: response.headers,
    text,
    body: parsed as T,
    problem: parsed as Problem,
  }
  checkEveryAnswer(answer)
  checkDocumented(method, new URL(url).pathname, answer)
  return answer
}

function checkEveryAnswer({ status, headers, problem }: Answer<unknown>): void {
  expect(headers.get('cache-control')).toBe('no-store')
  if (status < 400) return
  expect(headers.get('content-type')).toMatch(/^application\/problem\+json\b/)
  expect(problem).toMatchObject({
    status,
    title: ERRORS[problem.code].title,
    type: `urn:countersign:error:${problem.code}`,
    detail: expect.stringMatching(/./),
  })
  expect(ERRORS[problem.code].status).toBe(status)
  expect(headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null)
}

export interface Proposal {
  readonly tool_name: string
  readonly payload?: unknown
  readonly [member: string]: unknown
}

export interface PollOptions {
  readonly thread_id?: string
  readonly task_id?: string
}

/** A caller of one plane of the gateway, with a key or a session. */
class KeyHolder {
  readonly #at: { readonly url: string }
  readonly #plane: 'agent' | 'review'
  readonly key: string
  constructor(at: { readonly url: string }, plane: 'agent' | 'review', key: string) {
    this.#at = at
    this.#plane = plane
    this.key = key
  }

  get url(): string {
    return this.#at.url
  }

  /** Headers that prove the identity of the caller. */
  credentials(): Record<string, string> {
    return { authorization: `Bearer ${this.key}` }
  }

  call<T>(method: string, path: string, options: CallOptions = {}): Promise<Answer<T>> {
    const headers = { ...this.credentials(), ...options.headers }
    return call<T>(`${this.#at.url}/api/${this.#plane}/${path}`, method, { ...options, headers })
  }
}

export class Agent extends KeyHolder {
  constructor(at: { readonly url: string }, key: string) {
    super(at, 'agent', key)
  }

  submit(task: string, body: Proposal, headers: Record<string, string> = {}): Promise<Answer<Decision>> {
    return this.call('POST', `tasks/${task}/requests`, { body, headers })
  }

  poll(query: PollOptions, options: CallOptions = {}): Promise<Answer<Decision>> {
    const search = new URLSearchParams(query as Record<string, string>)
    return this.call('GET', `decisions?${search.toString()}`, options)
  }

  validate(body: unknown): Promise<Answer<ApprovalValidationResult>> {
    return this.call('POST', 'approvals/validate', { body })
  }

  event(task: string, body: unknown): Promise<Answer<EventReceipt>> {
    return this.call('POST', `tasks/${task}/events`, { body })
  }

  /** A revision of the thread; the first four members are what the contract requires. */
  revise(
    task: string,
    thread: string,
    revision: Record<string, unknown>,
    more: object = {},
  ): Promise<Answer<EventReceipt>> {
    const proposed = { revision_id: 'r1', tool_name: 'pay', subject: 'again', ...revision }
    return this.event(task, {
      event_type: `revision.${task}.${thread}`,
      event_summary: 'revised',
      payload: { revision: proposed },
      ...more,
    })
  }

  withdraw(thread: string, body: unknown = {}): Promise<Answer<Decision>> {
    return this.call('POST', `threads/${thread}/withdrawals`, { body })
  }

  reissue(thread: string): Promise<Answer<Decision>> {
    return this.call('POST', `threads/${thread}/proofs`)
  }

  resolve(tools: unknown): Promise<Answer<ResolveResult>> {
    return this.call('POST', 'tools/resolve', { body: { tools } })
  }
}

export class Reviewer extends KeyHolder {
  constructor(at: { readonly url: string }, key: string) {
    super(at, 'review', key)
  }

  list(query: Record<string, string> = {}): Promise<Answer<ThreadList>> {
    return this.call('GET', `threads?${new URLSearchParams(query).toString()}`)
  }

  show(thread: string): Promise<Answer<ThreadView>> {
    return this.call('GET', `threads/${thread}`)
  }

  vote(thread: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer<ThreadView>> {
    return this.call('POST', `threads/${thread}/votes`, { body, headers })
  }

  approve(thread: string, revision = 1): Promise<Answer<ThreadView>> {
    return this.vote(thread, { decision: 'approve', revision })
  }
}

/** A reviewer who has signed in to the console: what a page of the gateway sends. */
export class SignedIn extends Reviewer {
  /** The secret that the page keeps: the cookie alone proves nothing. */
  readonly secret: string

  constructor(at: { readonly url: string }, cookie: string, secret: string) {
    super(at, cookie)
    this.secret = secret
  }

  /** By the answer to a sign-in. */
  static by(at: { readonly url: string }, answer: Answer<Opened>): SignedIn {
    return new SignedIn(at, sessionIn(answer) ?? '', answer.body.page_secret)
  }

  override credentials(): Record<string, string> {
    const cookie = `__Host-countersign=${this.key}`
    return { cookie, 'countersign-page': this.secret, ...pageOf(this.url) }
  }
}

/** Headers that a browser adds to a request of a page of the gateway. */
export const pageOf = (url: string): Record<string, string> => ({
  origin: url,
  'sec-fetch-site': 'same-origin',
})

/** The session in an answer's Set-Cookie. */
export function sessionIn({ headers }: { readonly headers: Headers }): string | undefined {
  const cookies = headers.getSetCookie().flatMap((one) => /^__Host-countersign=([^;]+)/.exec(one)?.[1] ?? [])
  return cookies[0]
}

export interface EvidenceLine {
  readonly number: number
  readonly leaf_hash: string
  readonly disclosures?: {
    readonly members: Readonly<Record<string, unknown>>
    readonly erased?: readonly string[]
  }
  readonly record: {
    readonly type: string
    readonly tenant: string
    readonly at: string
    readonly actor: { readonly kind: string; readonly id: string }
    readonly task_id?: string
    readonly thread_id?: string
    readonly revision?: number
    readonly tool?: string
    readonly details?: Readonly<Record<string, unknown>>
  }
}

export interface WorldOptions {
  /** Files that differ from the bundle of the tests; null leaves one out. */
  readonly files?: Readonly<Record<string, string | null>>
  readonly config?: Given
  /**
   * Another store than that of the tests, with the clock of the world. Several gateways on one store use the time of
   * the store instead.
   */
  readonly openStore?: (clock: ManualClock) => Promise<Store>
  /** Time between two rounds of the timer, ms; the tests do them by `due` when absent. */
  readonly timerEveryMs?: number
  readonly streamBeatMs?: number
  /** The timers of the watch of the bundle; those of the system when absent. */
  readonly policyClock?: WatchClock
  /** Time between two reports of the instance, ms; none when absent. */
  readonly reportEveryMs?: number
  /** Time between two rounds of the writer of tiles, ms; none when absent. */
  readonly tilesEveryMs?: number
  /** Time between two checkpoints of evidence, ms; one at the start and one at the end when absent. */
  readonly checkpointEveryMs?: number
  readonly webhooks?: WebhookParts
  /** Time and waiting of the chat; those of the system when absent. */
  readonly chatClock?: Clock
  /** The test writes to the store behind the gateway's back: its evidence need not be what could have happened. */
  readonly tampered?: boolean
  /** Puts a double before the store. */
  readonly wrapStore?: (store: Store) => Store
}

export class World {
  readonly clock = manualClock()
  /** Everything that was logged, at every level. */
  readonly logged: string[] = []
  /** Watches of the store that are open: polls that wait. */
  watches = 0
  readonly #options: WorldOptions
  readonly #directory: string
  #app: App | undefined
  /** Items that the timer has claimed in its current round. */
  #claimed = 0
  #timerRests = false

  constructor(directory: string, options: WorldOptions) {
    this.#directory = directory
    this.#options = options
  }

  get app(): App {
    if (this.#app === undefined) throw new Error('the gateway is not running')
    return this.#app
  }

  get policies(): string {
    return join(this.#directory, 'policies')
  }

  get url(): string {
    return this.app.url
  }

  async start(other: Given = {}): Promise<void> {
    const config: Config = {
      ...DEFAULTS,
      port: 0,
      store: SETTINGS.store.parse(`file:${this.#directory}/data`),
      policies: this.policies,
      adminKey: ADMIN_KEY,
      metricsPort: 0,
      logLevel: 'trace',
      storeDeadline: STORE_DEADLINE_MS,
      storeMinFree: 0,
      storeNewCallsMinFree: 0,
      policyRescan: 50,
      ...parsed({ ...this.#options.config, ...other }),
    }
    const { clock, logged } = this
    const { wrapStore = (store: Store) => store, timerEveryMs = NEVER_MS } = this.#options
    const { checkpointEveryMs = NEVER_MS, reportEveryMs = NEVER_MS } = this.#options
    const { tilesEveryMs = NEVER_MS } = this.#options
    const { streamBeatMs, webhooks, policyClock, chatClock } = this.#options
    this.#timerRests = false
    const before = logged.length
    const open = this.#options.openStore ?? (() => openTestStore(join(this.#directory, 'data'), clock))
    this.#app = await startApp(config, {
      log: createLog('trace', { write: (line: string) => void logged.push(line) }),
      loadPolicies: (dir, texts) => loadBundle(dir, texts ? { texts } : {}),
      openStore: async () => {
        return wrapStore(this.#counting(await open(clock)))
      },
      timerEveryMs,
      checkpointEveryMs,
      reportEveryMs,
      tilesEveryMs,
      ...(streamBeatMs === undefined ? {} : { streamBeatMs }),
      ...(policyClock === undefined ? {} : { policyClock }),
      ...(chatClock === undefined ? {} : { chatClock }),
      webhooks: { wall: () => clock.wall(), ...webhooks },
    })
    // the first rounds would otherwise take from a test what it makes due
    const hasFailed = (): boolean => logged.slice(before).some((line) => FAILED_ROUND.test(line))
    await until(() => this.#timerRests || hasFailed())
  }

  #counting(store: Store): Store {
    const claimDue: Store['claimDue'] = async (tenant, index, ...rest) => {
      const isOfRound = index === INDEX.due || index === INDEX.purge
      let claimed: Awaited<ReturnType<Store['claimDue']>> = []
      try {
        claimed = await store.claimDue(tenant, index, ...rest)
        return claimed
      } finally {
        if (isOfRound) this.#claimed += claimed.length
        // a round ends with this partition, and another one follows if it had something to do
        if (isOfRound && tenant === SYSTEM) {
          this.#timerRests ||= this.#claimed === 0
          this.#claimed = 0
        }
      }
    }
    const watch: Store['watch'] = async (...args) => {
      this.watches++
      await store.watch(...args).finally(() => this.watches--)
    }
    return overriding(store, { watch, claimDue })
  }

  async stop(): Promise<void> {
    const app = this.#app
    this.#app = undefined
    await app?.close()
  }

  async restart(config: Given = {}): Promise<void> {
    await this.stop()
    await this.start(config)
  }

  /** Ends the world; what it leaves in evidence must be what could have happened. */
  async close(): Promise<void> {
    const wrong = await this.#replayed()
    await this.stop()
    await rm(this.#directory, { recursive: true, force: true })
    expect(wrong, 'evidence that could not have happened').toEqual([])
  }

  /** Faults that `evidence verify` finds in the evidence of all tenants. */
  async #replayed(): Promise<string[]> {
    if (this.#app === undefined || this.#options.tampered) return []
    const { deps } = this.#app
    const tenants = [...(await listTenants(deps)), SYSTEM]
    return (await Promise.all(tenants.map((tenant) => faultsIn(deps.store, tenant)))).flat()
  }

  /** Everything that time alone brings about, until nothing is left to do. */
  async due(): Promise<void> {
    while ((await runDue(this.app.deps)) > 0);
  }

  async agent(id = 'bot', tenant = 'acme'): Promise<Agent> {
    const { api_key } = await issueKey(this.app.deps, { kind: 'agent', tenant, id })
    return new Agent(this, api_key)
  }

  async reviewer(id: string, tenant = 'acme'): Promise<Reviewer> {
    const { api_key } = await issueKey(this.app.deps, { kind: 'reviewer', tenant, id })
    return new Reviewer(this, api_key)
  }

  /** The token of a new one-time link. */
  async link(id: string, tenant = 'acme'): Promise<string> {
    const { status, body } = await this.admin<LoginLink>('POST', `reviewers/${tenant}/${id}/login-link`)
    expect(status).toBe(201)
    return /#\/sign-in\/(csl_.+)$/.exec(body.url)?.[1] ?? ''
  }

  /** A reviewer with a session, opened by a one-time link. */
  async signIn(id: string, tenant = 'acme'): Promise<SignedIn> {
    const answer = await this.openSession(await this.link(id, tenant))
    expect(answer.status).toBe(200)
    return SignedIn.by(this, answer)
  }

  openSession(link: string, headers: Record<string, string> = {}): Promise<Answer<Opened>> {
    const page = { ...pageOf(this.url), ...headers }
    return call<Opened>(`${this.url}/api/review/session`, 'POST', { body: { link }, headers: page })
  }

  admin<T>(method: string, path: string, options: CallOptions = {}): Promise<Answer<T>> {
    const headers = { authorization: `Bearer ${ADMIN_KEY}`, ...options.headers }
    return call<T>(`${this.url}/api/admin/${path}`, method, { ...options, headers })
  }

  /** The evidence of a tenant, checked to be dense and to hash to what it says. */
  async evidence(tenant = 'acme', after = 0): Promise<EvidenceLine[]> {
    const { text } = await this.admin('GET', `evidence?tenant=${tenant}&after=${after}&disclosures=true`)
    const lines = text.split('\n').filter((line) => line !== '')
    const parsed = lines.map((line) => JSON.parse(line) as EvidenceLine)
    const wrong = parsed.filter((one, i) => {
      const record = lines[i]?.slice((lines[i]?.indexOf('"record":') ?? 0) + '"record":'.length, -1) ?? ''
      return (
        one.number !== after + i + 1 || leafHash(record) !== one.leaf_hash || one.record.tenant !== tenant
      )
    })
    expect(wrong, 'numbers are dense, leaves hash to what they say, and tenants keep to themselves').toEqual(
      [],
    )
    return parsed
  }

  /** All evidence of a tenant, page by page. */
  async allEvidence(tenant = 'acme'): Promise<EvidenceLine[]> {
    const all: EvidenceLine[] = []
    for (;;) {
      const page = await this.evidence(tenant, all.length)
      if (page.length === 0) return all
      all.push(...page)
    }
  }

  /** Records that `act` adds to the evidence of a tenant. */
  async evidenceOf(act: () => Promise<unknown>, tenant = 'acme'): Promise<EvidenceLine[]> {
    const before = (await this.evidence(tenant)).length
    await act()
    return this.evidence(tenant, before)
  }

  /**
   * Replaces files of the bundle. Resolves when the gateway has loaded or refused the whole change, although the files
   * are written one after another.
   */
  async changePolicies(files: Readonly<Record<string, string>>): Promise<void> {
    const { policies } = this.app.deps
    const before = policies.status().lastLoad?.revision
    await writeBundle(this.policies, files)
    const loaded = await loadBundle(this.policies)
    const wanted = loaded.ok ? loaded.snapshot.revision : loaded.revision
    await until(() => {
      const { revision = '' } = policies.status().lastLoad ?? {}
      return revision !== before && revision === wanted
    })
  }
}

/** Lets another gateway be quicker: it commits between what a verb has read and its commit. */
export class Overtaking {
  /** Done once, before the next commit of a verb reaches the store. */
  before: (() => Promise<unknown>) | undefined

  readonly wrapStore = (store: Store): Store =>
    overriding(store, {
      commit: async (partition, commit) => {
        const quicker = isCheckpoint(commit) || isLookAtThreads(commit) ? undefined : this.before
        if (quicker) this.before = undefined
        await quicker?.()
        return store.commit(partition, commit)
      },
    })
}

/** True for a checkpoint. A gateway signs the evidence that it finds at start, and may commit this at any time. */
export const isCheckpoint = ({ writes }: Commit): boolean =>
  writes.some((write) => write.op === 'put' && write.type === 'checkpoint')

/** True when the timer only plans its next look at ended threads. */
const isLookAtThreads = ({ writes }: Commit): boolean =>
  writes.some((write) => write.op === 'index' && write.member === 'threads all')

/** Another gateway on the same store: the gateway of this world does not see its actions in memory. */
export const elsewhere = ({ app }: World): Deps => ({
  ...app.deps,
  freezes: new Map(),
  legalHolds: new Map(),
  sweeps: new Map(),
  keys: new Map(),
  destinations: new Map(),
})

export { overriding }

export async function writeBundle(
  dir: string,
  files: Readonly<Record<string, string | null>>,
): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    if (text === null) continue
    await mkdir(dirname(join(dir, path)), { recursive: true })
    await writeFile(join(dir, path), text)
  }
}

export async function openWorld(options: WorldOptions = {}): Promise<World> {
  const directory = await mkdtemp(join(tmpdir(), 'countersign-test-'))
  await writeBundle(join(directory, 'policies'), { ...BUNDLE, ...options.files })
  const world = new World(directory, options)
  await world.start()
  return world
}

/** A file of the test bundle with one passage replaced; a passage that is not there is a mistake of the test. */
export function edited(path: string, from: string, to: string): Record<string, string> {
  const text = BUNDLE[path] ?? ''
  expect(text).toContain(from)
  return { [path]: text.replace(from, to) }
}

export const HASH = 'a'.repeat(64)
export const OTHER_HASH = 'b'.repeat(64)

/** Makes a record in the store invalid JSON, until the returned function runs. */
export async function breakRecord(
  { app }: World,
  type: 'thread' | 'delivery',
  id: string,
): Promise<() => Promise<void>> {
  const { deps } = app
  const { store } = deps
  const known = await store.get('acme', type, id)
  const write = async (body: string): Promise<void> => {
    const writes = [{ op: 'put', type, id, body } as const]
    const commit = { commitId: deps.nextCommitId(), deadline: Infinity, guards: [], writes, events: [] }
    expect(await store.commit('acme', commit)).toMatchObject({ ok: true })
  }
  await write('{"state":')
  return () => write(known?.body ?? '')
}

/** An amount of money that policy sends to one person of the desk. */
export const REVIEWED = { amount: 500 }

let tasks = 0
/** A task id that no other test uses. */
export const newTask = (): string => `task-${++tasks}`

export interface Held {
  readonly task: string
  readonly thread: string
  readonly payload: unknown
}

/** Makes many equal calls, 20 at once, which costs half of one after the other. */
export async function submitMany(agent: Agent, count: number, body: Proposal): Promise<void> {
  const submit = (): Promise<unknown> => agent.submit(newTask(), body)
  for (let left = count; left > 0; left -= 20)
    await Promise.all(Array.from({ length: Math.min(20, left) }, submit))
}

/** A proposal that policy holds for review. */
export async function held(agent: Agent, proposal: Partial<Proposal> = {}, task = newTask()): Promise<Held> {
  const body = { tool_name: 'pay', payload: REVIEWED, ...proposal }
  const { status, body: decision } = await agent.submit(task, body)
  expect([status, decision.status]).toEqual([200, 'pending_review'])
  return { task, thread: decision.thread_id ?? '', payload: body.payload }
}

export interface Approved extends Held {
  readonly token: string
}

/** A proposal that was reviewed, approved and collected: the token is in hand. */
export async function approved(
  agent: Agent,
  reviewer: Reviewer,
  proposal: Partial<Proposal> = {},
): Promise<Approved> {
  const one = await held(agent, proposal)
  const voted = await reviewer.approve(one.thread)
  expect([voted.status, voted.body.status]).toEqual([200, 'approved'])
  const { body } = await agent.poll({ thread_id: one.thread })
  expect(body.approval_token).toMatch(/^cst_/)
  return { ...one, token: body.approval_token ?? '' }
}
