/**
 * Freezing (docs/operations.md): stops an agent, a tool, a reviewer or a whole tenant immediately. Calls in progress
 * are permanently cancelled, and votes of a frozen reviewer never count again.
 */

/** The scope of a freeze: an agent, a tool, a reviewer or, without a name, the whole tenant. */
export interface FreezeScope {
  readonly agent?: string
  readonly tool?: string
  readonly reviewer?: string
}

export const FREEZE_KINDS = ['agent', 'tool', 'reviewer', 'tenant'] as const
export type FreezeKind = (typeof FREEZE_KINDS)[number]

export function kindOf({ agent, tool, reviewer }: FreezeScope): FreezeKind {
  if (agent !== undefined) return 'agent'
  if (reviewer !== undefined) return 'reviewer'
  return tool === undefined ? 'tenant' : 'tool'
}

/** The last freeze of one scope, even after it was lifted. */
export interface Freeze extends FreezeScope {
  /** Threads, approvals and stored answers of an older epoch are void. */
  readonly epoch: number
  readonly reason: string
  /** ms since 1970, by the store's clock. */
  readonly at: number
  /** The actor, as `kind:id`. */
  readonly by: string
  readonly lifted_at?: number
}

/** All freezes of a tenant, with an entry for each scope that was ever frozen. */
export interface Freezes {
  /** Increases with every freeze and every unfreeze. */
  readonly epoch: number
  readonly freezes: readonly Freeze[]
}

export const NEVER_FROZEN: Freezes = { epoch: 0, freezes: [] }

/** The target of a freeze: a thread, or a call that would open one. */
export interface Freezable {
  readonly agent: string
  readonly tool: string
}

/** Freezes the scope from now on. Freezing a frozen scope replaces its reason. */
export function withFreeze(before: Freezes, freeze: Omit<Freeze, 'epoch' | 'lifted_at'>): Freezes {
  const epoch = before.epoch + 1
  return { epoch, freezes: [...others(before, freeze), { ...freeze, epoch }] }
}

/**
 * Unfreezes the scope, and raises its epoch again, so that older threads stay cancelled. Returns undefined when the
 * scope is not frozen.
 */
export function withoutFreeze(before: Freezes, scope: FreezeScope, now: number): Freezes | undefined {
  const frozen = before.freezes.find((one) => isScope(one, scope) && one.lifted_at === undefined)
  if (frozen === undefined) return undefined
  const epoch = before.epoch + 1
  return { epoch, freezes: [...others(before, scope), { ...frozen, epoch, lifted_at: now }] }
}

/** The freeze that stops a new call now. The widest scope takes precedence. */
export function freezeOf({ freezes }: Freezes, call: Freezable): Freeze | undefined {
  return widest(freezes.filter((one) => one.lifted_at === undefined && covers(one, call)))
}

/** The freeze that ended work from `epoch` (0 when absent), even if the freeze has been lifted since. */
export function freezeSince(
  { freezes }: Freezes,
  begun: Freezable & { readonly freeze_epoch?: number },
): Freeze | undefined {
  if (freezes.length === 0) return undefined
  const { freeze_epoch = 0 } = begun
  return widest(freezes.filter((one) => one.epoch > freeze_epoch && covers(one, begun)))
}

/** True while a freeze stops the reviewer. */
export const isReviewerFrozen = ({ freezes }: Freezes, reviewer: string): boolean =>
  freezes.some((one) => one.reviewer === reviewer && one.lifted_at === undefined)

/** True for a vote whose reviewer was frozen after it, even if the freeze has been lifted since. */
export function isVoidVote(
  { freezes }: Freezes,
  { reviewer, freeze_epoch = 0 }: { readonly reviewer: string; readonly freeze_epoch?: number },
): boolean {
  return freezes.some((one) => one.reviewer === reviewer && one.epoch > freeze_epoch)
}

export const frozenNow = ({ freezes }: Freezes): Freeze[] =>
  freezes.filter((one) => one.lifted_at === undefined)

export function isScope(one: FreezeScope, other: FreezeScope): boolean {
  return one.agent === other.agent && one.tool === other.tool && one.reviewer === other.reviewer
}

function covers({ agent, tool, reviewer }: Freeze, begun: Freezable): boolean {
  if (reviewer !== undefined) return false
  return (agent === undefined || agent === begun.agent) && (tool === undefined || tool === begun.tool)
}

const others = ({ freezes }: Freezes, scope: FreezeScope): Freeze[] =>
  freezes.filter((one) => !isScope(one, scope))

function widest(freezes: readonly Freeze[]): Freeze | undefined {
  return freezes.find((one) => one.agent === undefined && one.tool === undefined) ?? freezes[0]
}
