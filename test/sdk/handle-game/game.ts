import { expect } from 'vitest'
import {
  canonicalJson,
  type CountersignError,
  createGate,
  type Gate,
  type Handle,
  NotExecuted,
  type Payload,
} from '@countersign/sdk'
import type { ThreadView } from '../../../src/contract/reviewer.ts'
import type { Reviewer } from '../../gateway-fixture.ts'
import { type Dice, diceOf } from '../../random.ts'
import { problem } from '../double.ts'

/** The gateway of a game, and who plays on it. */
export interface Table {
  readonly url: () => string
  readonly key: string
  readonly ann: Reviewer
  /** How often each thing happened, by name. */
  readonly did: Map<string, number>
}

/** A process of the agent. Its death loses all that it kept in memory, and each of its later requests. */
class Process {
  readonly gate: Gate
  isDead = false
  /** It dies at the next request to this route, before or after the gateway gets it. */
  dies: { readonly at: string; readonly delivered: boolean } | undefined

  constructor({ url, key }: Table) {
    const send = async (address: string, init: RequestInit): Promise<Response> => {
      const { pathname, search } = new URL(address)
      const real = (): Promise<Response> => fetch(url() + pathname + search, init)
      if (!this.isDead && this.dies !== undefined && pathname.endsWith(this.dies.at)) {
        if (this.dies.delivered) await (await real()).text()
        this.isDead = true
      }
      return this.isDead ? problem(400, 'not_found', 'the process is dead') : real()
    }
    this.gate = createGate({ url: 'http://127.0.0.1:1', key, fetch: send, onPending: () => undefined })
  }
}

/** The state of the call. */
type State =
  | 'allowed'
  | 'pending'
  | 'approved'
  | 'redeemed'
  | 'changes'
  | 'rejected'
  | 'withdrawn'
  | 'expired'

/** The end of `resume`, by the state of the call. */
const RESUMED: Readonly<Record<State, string>> = {
  allowed: 'ran',
  pending: 'still_pending',
  approved: 'ran',
  redeemed: 'no_proof',
  changes: 'changes_requested',
  rejected: 'rejected',
  withdrawn: 'withdrawn',
  expired: 'expired',
}
const OPEN: readonly State[] = ['pending', 'approved', 'changes']
const ROUTES = ['/decisions', '/proofs', '/validate', '/outcomes']

type Step = 'resume' | 'edit' | 'withdraw' | 'die' | 'other' | 'vote' | 'race' | 'revise' | 'read'
const ANY: readonly Step[] = ['resume', 'edit', 'withdraw', 'die', 'other']
/** Steps that fit a state, beside any. */
const LIKELY: Partial<Readonly<Record<State, readonly Step[]>>> = {
  pending: ['vote', 'vote', 'vote', 'vote', 'vote', 'race'],
  changes: ['revise', 'revise', 'revise', 'revise'],
  approved: ['resume', 'die', 'die', 'race', 'race', 'read', 'read', 'vote'],
}

/** A call, the processes of its agent, and a model that foretells each answer. */
export class Game {
  readonly #table: Table
  readonly #dice: Dice
  readonly #processes: Process[] = []
  readonly #tool: string
  readonly task: string
  /** The handle as its program saved it, and those of earlier revisions. */
  #saved = ''
  readonly #stale: string[] = []
  #revision = 1
  #state: State = 'pending'
  /** Payloads that a reviewer saw and approved, or that policy allowed. */
  readonly approved = new Set<string>()
  readonly ran: string[] = []

  constructor(table: Table, seed: number) {
    this.#table = table
    this.#dice = diceOf(seed)
    this.task = `game-${seed}`
    this.#tool = this.#dice.once(5) ? 'send' : 'wire'
    this.#processes.push(new Process(table))
  }

  get isHeld(): boolean {
    return this.#tool === 'wire'
  }

  get handle(): Handle {
    return JSON.parse(this.#saved) as Handle
  }

  get #process(): Process {
    const last = this.#processes.at(-1)
    return last === undefined || last.isDead ? this.#another() : last
  }

  #another(): Process {
    const made = new Process(this.#table)
    this.#processes.push(made)
    return made
  }

  #did(what: string): void {
    this.#table.did.set(what, (this.#table.did.get(what) ?? 0) + 1)
  }

  /** Proposes the call for the first time, or again, in any process. */
  async propose(): Promise<void> {
    const payload = { cents: 1 + this.#dice.below(1_000) }
    const first = this.#saved === ''
    const given = first ? payload : (this.handle.payload ?? {})
    const handle = await this.#process.gate.propose(this.#tool, given, { taskId: this.task, callId: 'c1' })
    this.#did('proposed')
    if (first) {
      this.#saved = JSON.stringify(handle)
      if (!this.isHeld) this.approved.add(canonicalJson(payload))
      this.#state = this.isHeld ? 'pending' : 'allowed'
    } else expect(handle.thread_id).toBe(this.handle.thread_id)
  }

  /** One random step. */
  async step(): Promise<void> {
    const step = this.#dice.one([...ANY, ...(LIKELY[this.#state] ?? [])])
    if (step !== undefined) await this[step]()
    if (this.#dice.once(4)) this.#kill()
  }

  /** Time passed beyond the review's. */
  async expire(): Promise<void> {
    if (this.#state === 'pending' || this.#state === 'changes') {
      this.#state = 'expired'
      this.#did('expired')
    } else await this.#look()
  }

  async settled(): Promise<void> {
    for (const { isDead, gate } of this.#processes) if (!isDead) await gate.settled()
  }

  #kill(): void {
    this.#process.isDead = true
    this.#did('killed')
  }

  async #resumed(process: Process, saved = this.#saved, payload?: Payload): Promise<string> {
    const run = (approved: Payload): void => void this.ran.push(canonicalJson(approved))
    try {
      await process.gate.resume(JSON.parse(saved) as Handle, run, { maxWaitMs: 0, payload })
      this.#did('ran')
      return 'ran'
    } catch (error) {
      if (!(error instanceof NotExecuted)) throw error
      return error.code
    }
  }

  async resume(): Promise<void> {
    expect(await this.#resumed(this.#process)).toBe(RESUMED[this.#state])
    if (this.#state === 'approved') this.#state = 'redeemed'
  }

  /** The process dies while it resumes. */
  async die(): Promise<void> {
    const process = this.#process
    process.dies = { at: this.#dice.one(ROUTES) ?? '', delivered: this.#dice.once(2) }
    await this.#resumed(process)
    await process.gate.settled()
    process.isDead = true
    this.#did('died')
    await this.#look()
  }

  /** A program edits the saved state. */
  async edit(): Promise<void> {
    const payload = { cents: 5_000 + this.#dice.below(1_000) }
    const edited = JSON.stringify({ ...this.handle, payload })
    const more = this.#dice.once(2) ? payload : undefined
    expect(await this.#resumed(this.#process, edited, more)).toBe('arguments_changed')
    this.#did('edited')
    const [stale] = this.#stale
    if (stale === undefined) return
    expect(await this.#resumed(this.#process, stale)).not.toBe('ran')
    this.#did('resumed an old revision')
    await this.#look()
  }

  async read(): Promise<void> {
    const told = await this.#process.gate.decision(this.handle)
    expect(JSON.stringify(told)).not.toContain('cst_')
    if (this.#state === 'approved' || this.#state === 'redeemed') expect(told.status).toBe('approved')
    this.#did('read')
  }

  async withdraw(): Promise<void> {
    const done = await this.#process.gate.withdraw(this.handle, 'no longer needed')
    if (this.isHeld) expect(done).toBe(this.#state !== 'redeemed')
    if (OPEN.includes(this.#state)) this.#state = 'withdrawn'
    if (done) this.#did('withdrew')
  }

  async vote(): Promise<void> {
    if (this.#state === 'approved') return this.#decide('reject')
    await this.#decide(
      this.#dice.one(['approve', 'approve', 'approve', 'reject', 'request_changes', 'request_changes']),
    )
  }

  async #decide(decision = 'approve'): Promise<void> {
    const { thread_id = '' } = this.handle
    const { status, body } = await this.#table.ann.vote(thread_id, {
      decision,
      revision: this.#revision,
      comment: 'so',
    })
    if (status !== 200) return
    this.#did(decision)
    const seen = body.revisions.find(({ number }) => number === this.#revision)
    if (decision === 'approve') this.approved.add(canonicalJson(seen?.payload as Payload))
    this.#see(body)
  }

  async revise(): Promise<void> {
    const next = await this.#process.gate.revise(this.handle, { cents: 2_000 + this.#dice.below(1_000) })
    this.#stale.push(this.#saved)
    this.#saved = JSON.stringify(next)
    this.#revision++
    this.#state = 'pending'
    this.#did('revised')
  }

  /** Two processes, or a process and another act, at the same time. */
  async race(): Promise<void> {
    const [one, other] = [this.#process, this.#another()]
    const before = this.ran.length
    const against = this.#dice.one([
      () => this.#resumed(other),
      () => this.#resumed(other),
      () => other.gate.withdraw(this.handle),
      () => this.#decide('reject'),
    ])
    await Promise.all([this.#resumed(one), against?.()])
    this.#did(this.ran.length > before ? 'raced and ran' : 'raced')
    await this.#look()
  }

  /** A person reports the call. The gateway takes that only of a call that may have run, and once. */
  async other(): Promise<void> {
    if (!this.isHeld) return this.propose()
    const { task_id, thread_id, action_hash } = this.handle
    const report = { action_hash, thread_id: thread_id ?? '', outcome: 'executed' } as const
    const code = await this.#process.gate.client.report(task_id, report).then(
      () => 'recorded',
      (error: unknown) => (error as CountersignError).code,
    )
    const isUsed = this.#state === 'redeemed'
    expect(isUsed ? ['recorded', 'outcome_recorded'] : ['not_found']).toContain(code)
    this.#did(`${code} by hand`)
  }

  /** The state after something that has more than one end. */
  async #look(): Promise<void> {
    const { thread_id } = this.handle
    if (thread_id === undefined) return
    this.#see((await this.#table.ann.show(thread_id)).body)
  }

  #see({ status, token, message }: ThreadView): void {
    const ended = /^(?:withdrawn|expired)(?=: )/.exec(message)?.[0] as State | undefined
    if (status === 'pending_review') this.#state = 'pending'
    else if (status === 'changes_requested') this.#state = 'changes'
    else if (status === 'rejected') this.#state = ended ?? 'rejected'
    else this.#state = token?.state === 'redeemed' ? 'redeemed' : 'approved'
  }
}
