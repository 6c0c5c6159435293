/** Freezing (docs/operations.md): an agent, a tool or a whole tenant is stopped at once, and what was under way then never comes back to life. */

/** What is frozen: exactly one of the two, or, with neither, everything of the tenant. */
export interface FreezeScope {
  readonly agent?: string
  readonly tool?: string
}

export const FREEZE_KINDS = ['agent', 'tool', 'tenant'] as const
export type FreezeKind = (typeof FREEZE_KINDS)[number]

export function kindOf({ agent, tool }: FreezeScope): FreezeKind {
  if (agent !== undefined) return 'agent'
  return tool === undefined ? 'tenant' : 'tool'
}

/** The last freeze of one scope, also when it was lifted. */
export interface Freeze extends FreezeScope {
  /** Threads, approvals and stored answers that are older than this epoch are dead. */
  readonly epoch: number
  readonly reason: string
  /** ms since 1970, by the store's clock. */
  readonly at: number
  /** Who did it, as `kind:id`. */
  readonly by: string
  readonly lifted_at?: number
}

/** All freezes of a tenant, one for each scope that was ever frozen. */
export interface Freezes {
  /** Rises with every freeze and with every lifting of one. */
  readonly epoch: number
  readonly freezes: readonly Freeze[]
}

export const NEVER_FROZEN: Freezes = { epoch: 0, freezes: [] }

/** What a freeze can hit: a thread, or a call that would open one. */
export interface Freezable {
  readonly agent: string
  readonly tool: string
}

/** The scope is frozen from now on. One that is frozen already is frozen anew, for the new reason. */
export function withFreeze(before: Freezes, freeze: Omit<Freeze, 'epoch' | 'lifted_at'>): Freezes {
  const epoch = before.epoch + 1
  return { epoch, freezes: [...others(before, freeze), { ...freeze, epoch }] }
}

/**
 * The scope is free again. Its epoch rises once more, so that nothing of before comes back with it. Undefined when it is not frozen.
 */
export function withoutFreeze(before: Freezes, scope: FreezeScope, now: number): Freezes | undefined {
  const frozen = before.freezes.find((one) => isScope(one, scope) && one.lifted_at === undefined)
  if (frozen === undefined) return undefined
  const epoch = before.epoch + 1
  return { epoch, freezes: [...others(before, scope), { ...frozen, epoch, lifted_at: now }] }
}

/** The freeze that stops a new call now; the widest first. */
export function freezeOf({ freezes }: Freezes, call: Freezable): Freeze | undefined {
  if (freezes.length === 0) return undefined
  return widest(freezes.filter((one) => one.lifted_at === undefined && covers(one, call)))
}

/** The freeze that ended what was begun in `epoch` (0 when absent), whether or not it has been lifted since. */
export function freezeSince(
  { freezes }: Freezes,
  begun: Freezable & { readonly freeze_epoch?: number },
): Freeze | undefined {
  if (freezes.length === 0) return undefined
  const { freeze_epoch = 0 } = begun
  return widest(freezes.filter((one) => one.epoch > freeze_epoch && covers(one, begun)))
}

export const frozenNow = ({ freezes }: Freezes): Freeze[] =>
  freezes.filter((one) => one.lifted_at === undefined)

export function isScope(one: FreezeScope, other: FreezeScope): boolean {
  return one.agent === other.agent && one.tool === other.tool
}

function covers({ agent, tool }: Freeze, begun: Freezable): boolean {
  return (agent === undefined || agent === begun.agent) && (tool === undefined || tool === begun.tool)
}

const others = ({ freezes }: Freezes, scope: FreezeScope): Freeze[] =>
  freezes.filter((one) => !isScope(one, scope))

function widest(freezes: readonly Freeze[]): Freeze | undefined {
  return freezes.find((one) => one.agent === undefined && one.tool === undefined) ?? freezes[0]
}
