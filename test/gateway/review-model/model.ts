/**
 * Acts of people beside voting, written a second time in plain state, without a store or evidence.
 * Its sources are docs/review-api.md and docs/signing-in.md; `model.test.ts` asks both.
 * The policy is `contract-model/policy.ts`, with a level that requires a session, and another second directory.
 */
import {
  AGENTS,
  both,
  BUNDLES as FIRST,
  groupsOf,
  judge,
  LEVELS,
  MINUTE,
  type Need,
  type Pay,
  PEOPLE,
  type Risk,
  type Tool,
} from '../contract-model/policy.ts'
import { SessionsModel } from './sessions.ts'

const CLAIM_MS = 15 * MINUTE
const TOKEN_MS = 10 * MINUTE
const RISKS = ['low', 'medium', 'high', 'critical'] as const

const { 'directory.yaml': directory = '', 'routing.yaml': before = '' }: Record<string, string> = FIRST.first
const routing = before.replace('approvals: 2, expires: 30m', '$&, interactive: true')
const changed = directory
  .replace(/^ {6}eve: .*\n/m, '')
  .replace('groups: [desk, audit] }', 'groups: [audit] }')

/** In the second bundle, eve has left, and cat is no longer at the desk. */
export const BUNDLES = {
  first: { 'routing.yaml': routing, 'directory.yaml': directory },
  second: { 'routing.yaml': routing, 'directory.yaml': changed },
} as const
export type Bundle = keyof typeof BUNDLES

/** A person, with a key or with the session of a browser. */
export interface Caller {
  readonly who: string
  readonly via: 'key' | 'link'
}

export interface Call {
  readonly agent: string
  readonly task: string
  readonly tool: Tool
  readonly payload: Pay
  readonly subject: string
}

export interface Vote {
  readonly who: string
  readonly via: Caller['via']
  readonly decision: string
  readonly revision: number
  readonly at: number
}

export interface Ballot {
  readonly decision: 'approve' | 'reject' | 'request_changes'
  readonly revision?: number
  /** The kind of tag that If-Match names. */
  readonly tag?: 'current' | 'earlier' | 'weak' | '*'
}

export interface Thread extends Call {
  readonly createdAt: number
  status: 'pending_review' | 'changes_requested' | 'approved' | 'rejected'
  revision: number
  risk: Risk
  submittedAt: number
  deadline: number
  need: Need
  interactive: boolean
  votes: Vote[]
  readonly comments: {
    readonly who: string
    readonly via: string
    readonly text: string
    readonly revision: number
  }[]
  claim: { readonly who: string; readonly until: number } | undefined
  /** When people, time or a freeze decided. */
  approvedAt: number | undefined
  endedAt: number
  collectedAt: number | undefined
  dead: boolean
  withdrawn: boolean
  /** The age of the revision up to which the timer sent reminders and escalations. */
  announced: number
}

export interface Query {
  readonly status?: string
  readonly tool?: string
  readonly risk?: string
  readonly group?: string
  readonly agent?: string
  readonly task_id?: string
  readonly mine?: 'true'
  readonly claimed?: 'me' | 'nobody'
  readonly since?: string
  readonly until?: string
  readonly q?: string
}

export class ReviewModel {
  readonly threads = new Map<string, Thread>()
  readonly sessions: SessionsModel
  readonly #now: () => number
  #bundle: Bundle = 'first'

  constructor(now: () => number) {
    this.#now = now
    this.sessions = new SessionsModel(now, (who) => this.groupsOf(who))
  }

  groupsOf(who: string): readonly string[] | undefined {
    if (this.#bundle === 'second' && who === 'eve') return undefined
    return this.#bundle === 'second' && who === 'cat' ? ['audit'] : groupsOf('first', who)
  }

  change(bundle: Bundle): void {
    this.#bundle = bundle
  }

  /** True when the credential holds. The question is a use of a session. */
  proved({ who, via }: Caller): boolean {
    return via === 'key' ? this.groupsOf(who) !== undefined : this.sessions.holds(who)
  }

  opened(id: string, call: Call): void {
    const now = this.#now()
    const { need, risk } = asked(call)
    this.threads.set(id, {
      ...call,
      createdAt: now,
      status: 'pending_review',
      revision: 1,
      risk,
      submittedAt: now,
      deadline: now + need.expiresMs,
      need,
      interactive: risk === 'critical',
      votes: [],
      comments: [],
      claim: undefined,
      approvedAt: undefined,
      endedAt: 0,
      collectedAt: undefined,
      dead: false,
      withdrawn: false,
      announced: -1,
    })
  }

  /** Revises the thread; returns the HTTP status. */
  revise(thread: Thread, call: Pick<Call, 'payload' | 'subject'>): number {
    const open = thread.status === 'pending_review' || thread.status === 'changes_requested'
    if (!open || this.#isExpired(thread) || thread.dead) return 409
    const { need, risk } = asked({ ...thread, ...call })
    const now = this.#now()
    const stricter = both(thread.need, need)
    Object.assign(thread, call, { status: 'pending_review', revision: thread.revision + 1, announced: -1 })
    Object.assign(thread, { need: stricter, submittedAt: now, deadline: now + stricter.expiresMs })
    if (RISKS.indexOf(risk) > RISKS.indexOf(thread.risk)) thread.risk = risk
    thread.interactive ||= risk === 'critical'
    return 201
  }

  /** The agent polls; returns the status of the thread. */
  poll(thread: Thread): string {
    this.settle(thread)
    if (thread.status !== 'approved') return thread.status
    if (this.#isFilled(thread)) thread.collectedAt ??= this.#now()
    else this.#end(thread)
    return thread.status
  }

  freeze(agent: string): void {
    for (const thread of this.threads.values()) if (thread.agent === agent) thread.dead = true
  }

  /** The status of the answer. */
  withdraw(thread: Thread): number {
    if (this.#isExpired(thread) || thread.dead) this.settle(thread)
    if (thread.status === 'rejected') return 200
    this.#end(thread)
    thread.withdrawn = true
    return 200
  }

  /** Brings the thread up to date; the first look at it does so. */
  settle(thread: Thread): void {
    if (thread.status === 'rejected') return
    if (this.#isExpired(thread) || thread.dead) this.#end(thread)
    else if (thread.status === 'pending_review') this.#approveIfFilled(thread)
  }

  /** Makes the changes of time, as the timer does. */
  due(): void {
    const now = this.#now()
    for (const thread of this.threads.values()) {
      const moments = [...thread.need.seats.values()].flatMap(({ later }) => [...later.values()])
      if (thread.need.seats.has('leads')) moments.push(15 * MINUTE)
      const age = now - thread.submittedAt
      const reached = Math.max(-1, ...moments.filter((ms) => ms <= age))
      const announces = thread.status === 'pending_review' && reached > thread.announced
      // an approval whose proof has expired permits no act: the next look ends it
      const { collectedAt = now } = thread
      const swept = thread.dead && now < collectedAt + TOKEN_MS
      if (announces || swept || this.#isExpired(thread)) this.settle(thread)
      if (announces && thread.status === 'pending_review') thread.announced = reached
    }
    this.sessions.due()
  }

  /** Why the caller may not vote on the thread now; undefined when nothing is in the way. */
  obstacle(thread: Thread, { who, via }: Caller, rejects = false): string | undefined {
    // a rejection also takes back an approval, which no agent of this model uses
    const isOpen = thread.status === 'pending_review' || (rejects && thread.status === 'approved')
    if (!isOpen || this.#isExpired(thread) || thread.dead) return 'not_pending'
    const needsSignIn = thread.interactive && via === 'key' && thread.status === 'pending_review'
    if (rejects && this.#approvers(thread, () => true).includes(who))
      return needsSignIn ? 'sign_in_required' : undefined
    const chairs = [...thread.need.seats.keys()]
    if (!chairs.some((group) => this.#fits(thread, group, who))) return 'not_eligible'
    if (AGENTS[thread.agent]?.owners.includes(who)) return 'self_review'
    if (thread.votes.some((one) => one.who === who && one.revision === thread.revision))
      return 'already_voted'
    return needsSignIn ? 'sign_in_required' : undefined
  }

  whoCanVote(thread: Thread): string[] {
    return PEOPLE.filter((who) => this.groupsOf(who) && !this.obstacle(thread, { who, via: 'link' }))
  }

  /** The code of a refusal; undefined when the vote is counted. */
  vote(thread: Thread, caller: Caller, { decision, revision, tag }: Ballot): string | undefined {
    const obstacle = this.obstacle(thread, caller, decision === 'reject')
    if (obstacle === 'not_pending') return obstacle
    if (revision === undefined && tag === undefined) return 'revision_required'
    if ((revision ?? thread.revision) !== thread.revision || (tag ?? 'current') !== 'current')
      return 'stale_revision'
    if (obstacle !== undefined) return obstacle
    const { who, via } = caller
    thread.votes.push({ who, via, decision, revision: thread.revision, at: this.#now() })
    if (decision === 'reject') thread.status = 'rejected'
    else if (decision === 'request_changes') thread.status = 'changes_requested'
    else this.#approveIfFilled(thread)
    return undefined
  }

  claim(thread: Thread, caller: Caller, takeOver: boolean): string | undefined {
    const obstacle = this.obstacle(thread, caller)
    if (obstacle !== undefined) return obstacle
    const holder = this.claimant(thread)
    if (holder !== undefined && holder !== caller.who && !takeOver) return 'already_claimed'
    thread.claim = { who: caller.who, until: this.#now() + CLAIM_MS }
    return undefined
  }

  release(thread: Thread, who: string): void {
    if (this.claimant(thread) === who) thread.claim = undefined
  }

  claimant({ status, claim }: Thread): string | undefined {
    return status === 'pending_review' && claim !== undefined && this.#now() < claim.until
      ? claim.who
      : undefined
  }

  /** Names of the threads that a list holds, in its order. */
  list(caller: Caller, query: Query): string[] {
    const found = [...this.threads].filter(([, thread]) => this.#matches(thread, caller, query))
    const ids = found.map(([id]) => id)
    if (query.status !== 'pending_review') return ids.reverse()
    if (query.agent !== undefined && query.task_id !== undefined) return ids
    // threads that the caller may vote on precede others; then risk and remaining time decide
    const weight = (thread: Thread): readonly number[] => [
      this.obstacle(thread, caller) === undefined ? 0 : 1,
      -RISKS.indexOf(thread.risk),
      this.#urgentAt(thread),
    ]
    const byWeight = found.map(([id, thread]) => ({ id, weight: weight(thread) }))
    const compare = (a: readonly number[], b: readonly number[]): number =>
      a.map((one, i) => one - (b[i] ?? 0)).find((difference) => difference !== 0) ?? 0
    return byWeight.sort((a, b) => compare(a.weight, b.weight) || (a.id < b.id ? -1 : 1)).map(({ id }) => id)
  }

  /** The next escalation that the timer has not announced, or the deadline. */
  #urgentAt({ need, announced, submittedAt, deadline }: Thread): number {
    const ages = [...need.seats.values()].flatMap(({ later }) => [...later.values()])
    const next = ages.filter((ms) => ms > announced).map((ms) => submittedAt + ms)
    return Math.min(deadline, ...next)
  }

  #matches(thread: Thread, caller: Caller, query: Query): boolean {
    const { status, tool, risk, agent, task_id: task } = query
    const wanted = Object.entries({ status, tool, risk, agent, task })
    const { mine, claimed, group, since, until, q = '' } = query
    const { createdAt } = thread
    return (
      wanted.every(([name, value]) => value === undefined || thread[name as 'tool'] === value) &&
      (mine === undefined || this.obstacle(thread, caller) === undefined) &&
      (claimed === undefined || this.claimant(thread) === (claimed === 'me' ? caller.who : undefined)) &&
      (group === undefined || this.#mayApprove(thread, group)) &&
      (since === undefined || createdAt >= Date.parse(since)) &&
      (until === undefined || createdAt < Date.parse(until)) &&
      thread.subject.includes(q)
    )
  }

  counts(): Record<string, number> {
    const threads = [...this.threads.values()]
    const waiting = (risk: Risk): number =>
      threads.filter((one) => one.status === 'pending_review' && one.risk === risk).length
    return Object.fromEntries([
      ...RISKS.map((risk) => [risk, waiting(risk)] as const),
      ['changes_requested', threads.filter(({ status }) => status === 'changes_requested').length],
    ])
  }

  /** The number of filled seats, by the way of seating the approving reviewers that fills the most. */
  given(thread: Thread): number {
    const chairs = [...thread.need.seats].flatMap(([group, { count }]) => Array<string>(count).fill(group))
    return this.#most(thread, chairs, this.#approvers(thread))
  }

  #most(thread: Thread, [chair, ...rest]: readonly string[], people: readonly string[]): number {
    if (chair === undefined) return 0
    const sitting = people
      .filter((who) => this.#fits(thread, chair, who))
      .map(
        (who) =>
          1 +
          this.#most(
            thread,
            rest,
            people.filter((one) => one !== who),
          ),
      )
    return Math.max(this.#most(thread, rest, people), ...sitting)
  }

  #approvers(thread: Thread, counts = (who: string): boolean => this.groupsOf(who) !== undefined): string[] {
    return thread.votes
      .filter(({ revision, decision }) => revision === thread.revision && decision === 'approve')
      .map(({ who }) => who)
      .filter(counts)
  }

  #isFilled(thread: Thread): boolean {
    const chairs = [...thread.need.seats.values()].reduce((sum, { count }) => sum + count, 0)
    return this.#approvers(thread).length > 0 && this.given(thread) === chairs
  }

  #approveIfFilled(thread: Thread): void {
    if (!this.#isFilled(thread)) return
    const now = this.#now()
    Object.assign(thread, { status: 'approved', approvedAt: now, deadline: now + thread.need.expiresMs })
  }

  #end(thread: Thread): void {
    Object.assign(thread, { status: 'rejected', endedAt: this.#now() })
  }

  #isExpired({ status, collectedAt, deadline }: Thread): boolean {
    return status !== 'rejected' && collectedAt === undefined && this.#now() >= deadline
  }

  /** How long the revision has waited: until now, or until its decision. */
  #waited(thread: Thread): number {
    const { status, approvedAt, submittedAt, endedAt, votes } = thread
    const decided = Math.max(submittedAt, endedAt, ...votes.map(({ at }) => at))
    return (approvedAt ?? (status === 'pending_review' ? this.#now() : decided)) - submittedAt
  }

  #mayApprove(thread: Thread, group: string): boolean {
    const waited = this.#waited(thread)
    return [...thread.need.seats].some(
      ([own, { later }]) => own === group || waited >= (later.get(group) ?? Infinity),
    )
  }

  #fits(thread: Thread, group: string, who: string): boolean {
    const waited = this.#waited(thread)
    const later = [...(thread.need.seats.get(group)?.later ?? [])]
    const open = [group, ...later.filter(([, ms]) => waited >= ms).map(([one]) => one)]
    return open.some((one) => this.groupsOf(who)?.includes(one))
  }
}

/** Returns the demands of policy, which holds every call here. */
function asked(call: Call): { readonly need: Need; readonly risk: Risk } {
  const { amount = 0 } = call.payload
  const risk = call.tool !== 'pay' || amount <= 10_000 ? 'low' : amount <= 50_000 ? 'high' : 'critical'
  return { need: judge('first', call)?.need ?? LEVELS.critical, risk }
}
