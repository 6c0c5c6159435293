/**
 * The agent API and its votes, written a second time in plain state, without a store, evidence or concurrency.
 * Its sources are docs/agent-api.md, docs/operations.md and docs/policy-language.md.
 * Each method returns the answer that the gateway has to give; `model.test.ts` asks both. `policy.ts` has the
 * policy.
 */
import type { Ballot, Change, Claim, End, Expected, Scope, Submission } from './calls.ts'
import {
  AGENTS,
  BY_RULE,
  type Asked,
  both,
  type Bundle,
  groupsOf,
  judge,
  type Judged,
  LEVELS,
  MINUTE,
  type Need,
  needsProof,
  type Use,
  usesOf,
} from './policy.ts'
import { fingerprint, newState, type State, type Thread } from './state.ts'

const DAY = 24 * 60 * MINUTE

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)
const refused = (http: number, code: string): Expected => ({ http, code })

export class ContractModel {
  readonly #now: () => number
  readonly #state: State

  constructor(now: () => number, state = newState()) {
    this.#now = now
    this.#state = state
  }

  get threads(): State['threads'] {
    return this.#state.threads
  }

  /** A copy, on which the game tries calls. */
  copy(): ContractModel {
    return new ContractModel(this.#now, structuredClone(this.#state))
  }

  /** Equal for two models that answer alike from now on. */
  fingerprint(): string {
    return fingerprint(this.#state)
  }

  /** Returns the events that no answer shows. */
  seen(): string[] {
    const { filledByTime, heldByLimit, released, raised, takenBack } = this.#state
    return [
      ...(filledByTime > 0 ? ['approved by time alone'] : []),
      ...(heldByLimit > 0 ? ['held by a limit'] : []),
      ...(released > 0 ? ['given back to a limit'] : []),
      ...(raised > 0 ? ['raised'] : []),
      ...(takenBack > 0 ? ['taken back'] : []),
    ]
  }

  /** A new key for an agent; tokens that were bound to the earlier key are dead. */
  rotate(agent: string, key: string): void {
    this.#state.keys.set(agent, key)
  }

  submit(call: Submission): Expected {
    const { idempotencyKey, ...body } = call
    if (idempotencyKey === undefined) return this.#judged(call)
    const id = `${call.agent} ${call.task} ${idempotencyKey}`
    const known = this.#state.answers.get(id)
    const age = this.#now() - (known?.at ?? 0)
    if (known !== undefined && age < DAY) {
      if (known.body !== JSON.stringify(body)) return refused(422, 'idempotency_mismatch')
      const lasting = known.answer.status !== 'allow' || (age <= 10 * MINUTE && known.under === this.#under())
      if (lasting) return { ...known.answer, replayed: true }
    }
    const answer = this.#judged(call)
    // the gateway does not keep refusals
    if (answer.http === 200)
      this.#state.answers.set(id, {
        body: JSON.stringify(body),
        answer,
        at: this.#now(),
        under: this.#under(),
      })
    return answer
  }

  /** The state under which the gateway may repeat an allow. */
  #under(): string {
    return `${this.#state.bundle} ${this.#state.freezes}`
  }

  #judged(call: Submission): Expected {
    const { agent, tool, hash } = call
    const judged = this.#judge(call)
    if (judged === undefined) return refused(400, 'invalid_policy_input')
    const echo = hash === undefined ? {} : { action_hash: hash }
    if (this.#isFrozen(agent, tool)) return { http: 200, status: 'reject', starts: 'frozen: ', ...echo }
    if (judged.verdict === 'allow') this.#charge(usesOf(call), 1)
    if (needsProof(this.#state.bundle, call))
      return { http: 200, status: 'pending_review', thread_id: 'new', ...echo }
    if (judged.verdict !== 'review') return { http: 200, status: judged.verdict, ...echo }
    return { http: 200, status: 'pending_review', thread_id: 'new', ...echo }
  }

  /** The thread that an answer with `thread_id: 'new'` opened. */
  opened(id: string, call: Submission): void {
    const { agent, task, tool, payload, hash, risk = 'low', idempotencyKey } = call
    const now = this.#now()
    const byRule = needsProof(this.#state.bundle, call)
    const asked = byRule ? BY_RULE : (judge(this.#state.bundle, call)?.need ?? LEVELS.critical)
    this.threads.set(id, {
      agent,
      task,
      tool,
      v2: hash !== undefined,
      status: byRule ? 'approved' : 'pending_review',
      byRule,
      revision: 1,
      openedAt: now,
      submittedAt: now,
      approvedAt: byRule ? now : 0,
      deadline: now + asked.expiresMs,
      need: asked,
      payload,
      risk,
      hash,
      votes: new Map(),
      revisionIds: new Set(),
      dead: false,
      charged: [],
      collected: false,
      redeemed: false,
      reissued: 0,
    })
    const stored = this.#state.answers.get(`${agent} ${task} ${idempotencyKey}`)
    if (stored?.answer.thread_id === 'new') stored.answer = { ...stored.answer, thread_id: id }
  }

  poll(agent: string, by: { readonly thread?: string; readonly task?: string }): Expected {
    const id = by.thread ?? this.#newestOf(agent, by.task)
    const thread = this.threads.get(id ?? '')
    if (id === undefined || thread?.agent !== agent) return refused(404, 'not_found')
    if (by.task !== undefined && thread.task !== by.task) return refused(404, 'not_found')
    this.#settle(thread)
    const lapse = thread.status === 'approved' && !thread.redeemed ? this.#lapseOf(thread) : undefined
    if (lapse !== undefined) this.#end(thread, lapse)
    else if (thread.status === 'approved' && !thread.collected) this.#raise(thread)
    const { status, hash, code } = thread
    const echo = hash === undefined ? {} : { action_hash: hash }
    const seen = { http: 200, status, thread_id: id, ...echo, ...(code && { starts: `${code}: ` }) }
    if (status !== 'approved' || thread.collected) return seen
    thread.collected = true
    const { signed = true, ttlMs = 10 * MINUTE } = AGENTS[agent] ?? {}
    // no redemption will report its use
    if (!signed) thread.charged = []
    return signed ? { ...seen, tokenUntil: this.#now() + ttlMs } : seen
  }

  /** The token that an answer with `tokenUntil` carried. */
  minted(token: string, thread: string, expiresAt: number): void {
    const key = this.#state.keys.get(this.threads.get(thread)?.agent ?? '') ?? ''
    this.#state.tokens.set(token, { thread, key, expiresAt, used: false, dead: false })
  }

  /** Replaces the lost token, which is dead from then on. */
  reissue(agent: string, id: string): Expected {
    const thread = this.threads.get(id)
    if (thread?.agent !== agent) return refused(404, 'not_found')
    this.#settle(thread)
    const { status, hash, code } = thread
    const echo = hash === undefined ? {} : { action_hash: hash }
    const seen = { http: 200, thread_id: id, ...echo }
    if (status !== 'approved') return { ...seen, status, ...(code && { starts: `${code}: ` }) }
    if (thread.redeemed) return refused(409, 'proof_used')
    const lost = [...this.#state.tokens.values()].find((one) => one.thread === id && !one.dead)
    const isBound = lost?.key === this.#state.keys.get(agent)
    if (lost === undefined || this.#now() >= lost.expiresAt || !isBound) return refused(409, 'not_pending')
    if (thread.reissued >= 5) return refused(409, 'too_many_proofs')
    const lapse = this.#lapseOf(thread)
    if (lapse !== undefined) {
      this.#end(thread, lapse)
      return { ...seen, status: 'rejected', starts: `${lapse}: ` }
    }
    thread.reissued++
    lost.dead = true
    return { ...seen, status, tokenUntil: lost.expiresAt }
  }

  validate({ agent, token, task, payload, thread: named, hash }: Claim): Expected {
    const invalid = { http: 200, valid: false, reason: 'invalid' }
    const known = this.#state.tokens.get(token)
    const thread = this.threads.get(known?.thread ?? '')
    if (known === undefined || known.dead || thread === undefined) return invalid
    const bound = thread.agent === agent && known.key === this.#state.keys.get(agent) && thread.task === task
    const path = thread.v2
      ? named === known.thread && hash === thread.hash
      : hash === undefined && (named === undefined || named === known.thread)
    if (!bound || !path || !same(payload, thread.payload)) return invalid
    if (known.used) return { ...invalid, reason: 'used' }
    if (this.#now() >= known.expiresAt) return { ...invalid, reason: 'expired' }
    if (thread.status !== 'approved' || thread.dead) return invalid
    const lapse = this.#lapseOf(thread)
    if (lapse !== undefined) {
      this.#end(thread, lapse)
      return invalid
    }
    known.used = true
    thread.redeemed = true
    thread.charged = []
    const proof = thread.v2 ? { task_id: task, thread_id: known.thread, action_hash: thread.hash ?? '' } : {}
    return { http: 200, valid: true, ...proof }
  }

  vote({ who, thread: id, decision, revision }: Ballot): Expected {
    if (groupsOf(this.#state.bundle, who) === undefined) return refused(401, 'unauthenticated')
    const thread = this.threads.get(id)
    if (thread === undefined) return refused(404, 'not_found')
    const rejects = decision === 'reject'
    const isOpen = thread.status === 'pending_review' || (rejects && this.#isUnused(thread))
    if (!isOpen || this.#isExpired(thread) || thread.dead) return refused(409, 'not_pending')
    if (revision === undefined) return refused(428, 'revision_required')
    if (revision !== thread.revision) return refused(412, 'stale_revision')
    const obstacle = rejects && thread.votes.get(who) === 'approve' ? undefined : this.#obstacle(thread, who)
    if (obstacle !== undefined) return refused(403, obstacle)
    thread.votes.set(who, decision)
    if (decision === 'request_changes') thread.status = 'changes_requested'
    else if (rejects) this.#reject(thread)
    else if (this.#isFilled(thread, this.#now()) && this.#raise(thread)) {
      // the gateway judges the vote again by what policy asks for now
      thread.votes.delete(who)
      return this.vote({ who, thread: id, decision, revision })
    } else this.#approveIfFilled(thread)
    const { status, hash } = thread
    return { http: 200, status, revision, thread_id: id, ...(hash !== undefined && { action_hash: hash }) }
  }

  revise(change: Change): Expected {
    const { agent, task, thread: id, revisionId, tool, payload, hash, risk = 'low' } = change
    const thread = this.threads.get(id)
    if (thread?.agent !== agent || thread.task !== task) return refused(409, 'unknown_thread')
    const open = thread.status === 'pending_review' || thread.status === 'changes_requested'
    if (!open || this.#isExpired(thread) || thread.dead) return refused(409, 'not_pending')
    if (thread.revisionIds.has(revisionId)) return refused(409, 'duplicate_revision')
    if (thread.revision >= 20) return refused(409, 'too_many_revisions')
    if (tool !== thread.tool || thread.v2 !== (hash !== undefined)) return refused(400, 'invalid_revision')
    const judged = this.#judge(change)
    if (judged === undefined) return refused(400, 'invalid_policy_input')
    const stricter = judged.verdict === 'review' ? both(thread.need, judged.need) : thread.need
    Object.assign(thread, {
      revision: thread.revision + 1,
      submittedAt: this.#now(),
      votes: new Map(),
      payload,
      hash,
    })
    Object.assign(thread, { need: stricter, deadline: this.#now() + stricter.expiresMs })
    Object.assign(thread, { risk })
    thread.revisionIds.add(revisionId)
    thread.status = judged.verdict === 'reject' ? 'rejected' : 'pending_review'
    return { http: 201, status: thread.status, revision: thread.revision, thread_id: id }
  }

  withdraw(agent: string, id: string): Expected {
    const thread = this.threads.get(id)
    if (thread?.agent !== agent) return refused(404, 'not_found')
    if (thread.status !== 'rejected' && this.#isExpired(thread)) this.#end(thread, 'expired')
    else if (thread.status !== 'rejected' && thread.dead) this.#end(thread, 'frozen')
    const { signed = true } = AGENTS[agent] ?? {}
    const used = thread.redeemed || (thread.collected && !signed)
    if (thread.status === 'approved' && used) return refused(409, 'not_pending')
    if (thread.status !== 'rejected') this.#end(thread, 'withdrawn')
    const { status, hash, code } = thread
    const echo = hash === undefined ? {} : { action_hash: hash }
    return { http: 200, status, thread_id: id, ...echo, ...(code && { starts: `${code}: ` }) }
  }

  outcome({ agent, task, thread: id, hash, outcome }: End): Expected {
    const thread = this.threads.get(id)
    const { signed = true } = AGENTS[agent] ?? {}
    const isOwn = thread?.agent === agent && thread.task === task && thread.hash === hash
    const mayRun = thread?.redeemed === true || (thread?.collected === true && !signed)
    if (!isOwn || !mayRun) return refused(404, 'not_found')
    const isNew = thread.ended === undefined
    thread.ended ??= outcome
    if (thread.ended !== outcome) return refused(409, 'outcome_recorded')
    const repeats = isNew ? {} : { replayed: true }
    return { http: isNew ? 201 : 200, thread_id: id, action_hash: hash, ...repeats }
  }

  #obstacle(thread: Thread, who: string): string | undefined {
    const chairs = [...thread.need.seats.keys()]
    const isSeated = chairs.some((group) => this.#fits(thread, group, { who, at: this.#now() }))
    if (!isSeated) return 'not_eligible'
    if (AGENTS[thread.agent]?.owners.includes(who)) return 'self_review'
    return thread.votes.has(who) ? 'already_voted' : undefined
  }

  /** A reviewer rejects a call, or takes back its approval. */
  #reject(thread: Thread): void {
    if (thread.status === 'approved') this.#state.takenBack++
    thread.status = 'rejected'
    this.#release(thread)
  }

  /** True for an approval that the agent has not used. An unsigned one is used once it was read. */
  #isUnused({ status, agent, collected, redeemed }: Thread): boolean {
    const { signed = true } = AGENTS[agent] ?? {}
    return status === 'approved' && !redeemed && !(collected && !signed)
  }

  /** Another policy is in force. */
  change(bundle: Bundle): void {
    this.#state.bundle = bundle
  }

  freeze(scope: Scope): Expected {
    this.#state.freezes++
    this.#state.frozen.add(nameOf(scope))
    for (const thread of this.threads.values())
      if (covers(scope, thread) && !thread.redeemed) thread.dead = true
    return { http: 200 }
  }

  unfreeze(scope: Scope): Expected {
    if (!this.#state.frozen.delete(nameOf(scope))) return refused(404, 'not_found')
    this.#state.freezes++
    return { http: 204 }
  }

  /** Makes the changes that time alone brings about, as the timer does. */
  due(): void {
    for (const thread of this.threads.values()) this.#settle(thread)
    for (const { thread, used, dead, expiresAt } of this.#state.tokens.values())
      if (!used && !dead && this.#now() >= expiresAt) this.#release(this.threads.get(thread))
  }

  /** Judges the call by policy and limits: a call beyond a limit is held. */
  #judge(call: Asked & { readonly task: string }): Judged | undefined {
    const judged = judge(this.#state.bundle, call)
    const full = ({ name, amount, most }: Use): boolean => (this.#state.used.get(name) ?? 0) + amount > most
    if (judged?.verdict !== 'allow' || !usesOf(call).some(full)) return judged
    this.#state.heldByLimit++
    return { ...judged, verdict: 'review' }
  }

  #charge(uses: readonly Use[], times: 1 | -1): void {
    for (const { name, amount } of uses)
      this.#state.used.set(name, (this.#state.used.get(name) ?? 0) + amount * times)
  }

  #release(thread: Thread | undefined): void {
    if (thread === undefined || thread.charged.length === 0) return
    this.#state.released++
    this.#charge(thread.charged, -1)
    thread.charged = []
  }

  #end(thread: Thread, code: NonNullable<Thread['code']>): void {
    Object.assign(thread, { status: 'rejected', code })
    this.#release(thread)
  }

  #isFrozen(agent: string, tool: string): boolean {
    return ['', `agent ${agent}`, `tool ${tool}`].some((name) => this.#state.frozen.has(name))
  }

  /** Returns the newest thread. Any thread of the same millisecond would do; the last id decides. */
  #newestOf(agent: string, task: string | undefined): string | undefined {
    const own = [...this.threads].filter(([, one]) => one.agent === agent && one.task === task)
    const place = ([id, { openedAt }]: (typeof own)[number]): string => `${openedAt} ${id}`
    return own.toSorted((a, b) => (place(a) < place(b) ? -1 : 1)).at(-1)?.[0]
  }

  /** An approval waits to be collected as long as the thread waited for people. */
  #isExpired({ status, collected, deadline }: Thread): boolean {
    return status !== 'rejected' && !collected && this.#now() >= deadline
  }

  /** Brings the thread up to date; the first look at it does so. */
  #settle(thread: Thread): void {
    if (thread.status === 'rejected') return
    if (this.#isExpired(thread)) this.#end(thread, 'expired')
    else if (thread.dead) this.#end(thread, 'frozen')
    else if (thread.status === 'pending_review' && this.#isFilled(thread, this.#now()))
      if (!this.#raise(thread) && this.#approveIfFilled(thread)) this.#state.filledByTime++
  }

  /** Returns the reason why an approval no longer holds, though no reviewer took it back. */
  #lapseOf(thread: Thread): Thread['code'] | undefined {
    if (!this.#isFilled(thread, thread.approvedAt)) return 'reviewer_removed'
    const judged = judge(this.#state.bundle, thread)
    const isRefused = judged === undefined || judged.verdict === 'reject'
    const isShort = thread.collected && AGENTS[thread.agent]?.signed !== false && this.#demand(thread)
    const isAsked = thread.byRule ? judged?.verdict === 'review' : isShort
    return isRefused || isAsked ? 'policy_changed' : undefined
  }

  /** The need that policy has now, where the votes of an approval are not enough for it. */
  #demand(thread: Thread): Need | undefined {
    const judged = judge(this.#state.bundle, thread)
    if (thread.byRule || judged?.verdict !== 'review') return undefined
    const need = { ...both(thread.need, judged.need), expiresMs: thread.need.expiresMs }
    if (same(seatsOf(need), seatsOf(thread.need))) return undefined
    const isEnough = thread.status === 'approved' && this.#isFilled({ ...thread, need }, thread.approvedAt)
    return isEnough ? undefined : need
  }

  /** The thread asks for more, and its approval waits again. */
  #raise(thread: Thread): boolean {
    const need = this.#demand(thread)
    if (need === undefined) return false
    this.#state.raised++
    this.#release(thread)
    const deadline = thread.submittedAt + need.expiresMs
    Object.assign(thread, { status: 'pending_review', need, deadline })
    return true
  }

  #approveIfFilled(thread: Thread): boolean {
    const now = this.#now()
    if (!this.#isFilled(thread, now)) return false
    Object.assign(thread, { status: 'approved', approvedAt: now, deadline: now + thread.need.expiresMs })
    thread.charged = usesOf(thread)
    this.#charge(thread.charged, 1)
    return true
  }

  #isFilled(thread: Thread, at: number): boolean {
    const chairs = [...thread.need.seats].flatMap(([group, { count }]) => Array<string>(count).fill(group))
    const people = [...thread.votes].filter(([, decision]) => decision === 'approve').map(([who]) => who)
    return this.#areSeated(thread, chairs, { people, at })
  }

  /** Tries every way to seat the people, each on one chair. */
  #areSeated(
    thread: Thread,
    [chair, ...chairs]: readonly string[],
    { people, at }: { readonly people: readonly string[]; readonly at: number },
  ): boolean {
    if (chair === undefined) return true
    const fitting = people.filter((who) => this.#fits(thread, chair, { who, at }))
    const others = (who: string): readonly string[] => people.filter((one) => one !== who)
    return fitting.some((who) => this.#areSeated(thread, chairs, { people: others(who), at }))
  }

  #fits(
    { need: { seats }, submittedAt }: Thread,
    group: string,
    { who, at }: { readonly who: string; readonly at: number },
  ): boolean {
    const groups = groupsOf(this.#state.bundle, who) ?? []
    const later = [...(seats.get(group)?.later ?? [])]
    const open = later.filter(([, ms]) => at - submittedAt >= ms).map(([one]) => one)
    return [group, ...open].some((one) => groups.includes(one))
  }
}

const seatsOf = ({ seats }: Need): unknown =>
  [...seats].map(([group, { count, later }]) => [group, count, [...later]])

const nameOf = ({ agent, tool }: Scope): string =>
  agent === undefined ? (tool === undefined ? '' : `tool ${tool}`) : `agent ${agent}`
const covers = (scope: Scope, { agent, tool }: Thread): boolean =>
  (scope.agent ?? agent) === agent && (scope.tool ?? tool) === tool
