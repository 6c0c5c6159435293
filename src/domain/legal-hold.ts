/** Legal holds (docs/data.md): no thread under one is deleted, whatever its retention says. */

/** The scope of a legal hold: a thread, a task, an agent or, without a name, the whole tenant. */
export interface LegalHoldScope {
  readonly thread_id?: string
  /** The task of every agent that uses this name. */
  readonly task_id?: string
  readonly agent?: string
}

export const LEGAL_HOLD_KINDS = ['thread', 'task', 'agent', 'tenant'] as const
export type LegalHoldKind = (typeof LEGAL_HOLD_KINDS)[number]

export function legalHoldKind({ thread_id, task_id, agent }: LegalHoldScope): LegalHoldKind {
  if (thread_id !== undefined) return 'thread'
  if (task_id !== undefined) return 'task'
  return agent === undefined ? 'tenant' : 'agent'
}

export interface LegalHold extends LegalHoldScope {
  readonly reason: string
  /** ms since 1970, by the store's clock. */
  readonly at: number
  /** The actor, as `kind:id`. */
  readonly by: string
}

/** The legal holds in force of a tenant, at most one for each scope. Evidence keeps those that ended. */
export interface LegalHolds<H extends LegalHold = LegalHold> {
  readonly holds: readonly H[]
}

export const NO_LEGAL_HOLDS: LegalHolds<never> = { holds: [] }

/** Data that may be under a legal hold. Data of a call that was never held has no thread. */
export interface Holdable {
  readonly thread_id?: string | undefined
  readonly task_id: string
  readonly agent: string
}

/** Adds the legal hold, in place of an earlier one of the same scope. */
export function withLegalHold<H extends LegalHold>(before: LegalHolds<H>, hold: H): LegalHolds<H> {
  return { holds: [...others(before, hold), hold] }
}

/** Removes the legal hold of this scope. Returns undefined without one. */
export function withoutLegalHold<H extends LegalHold>(
  before: LegalHolds<H>,
  scope: LegalHoldScope,
): LegalHolds<H> | undefined {
  const holds = others(before, scope)
  return holds.length === before.holds.length ? undefined : { holds }
}

/** The first legal hold that covers the data. */
export const legalHoldOver = <H extends LegalHold>({ holds }: LegalHolds<H>, data: Holdable): H | undefined =>
  holds.find((hold) => covers(hold, data))

/** True when the legal hold covers the data, or may cover it: a member that is not known any more is undefined. */
export const mayCover = (hold: LegalHold, data: Names): boolean =>
  NAMED.every((name) => hold[name] === undefined || data[name] === undefined || hold[name] === data[name])

export const legalHoldOf = <H extends LegalHold>(
  { holds }: LegalHolds<H>,
  scope: LegalHoldScope,
): H | undefined => holds.find((hold) => isSameScope(hold, scope))

type Names = { readonly [N in keyof LegalHoldScope]: string | undefined }

/** The members of the scope, and no others. */
export const scopeOf = ({ thread_id, task_id, agent }: Names): LegalHoldScope => ({
  ...(thread_id !== undefined && { thread_id }),
  ...(task_id !== undefined && { task_id }),
  ...(agent !== undefined && { agent }),
})

const NAMED = ['thread_id', 'task_id', 'agent'] as const

const covers = (hold: LegalHold, data: Holdable): boolean =>
  NAMED.every((name) => hold[name] === undefined || hold[name] === data[name])

const isSameScope = (one: LegalHoldScope, other: LegalHoldScope): boolean =>
  NAMED.every((name) => one[name] === other[name])

const others = <H extends LegalHold>({ holds }: LegalHolds<H>, scope: LegalHoldScope): H[] =>
  holds.filter((hold) => !isSameScope(hold, scope))
