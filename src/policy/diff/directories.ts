import { fieldsOf } from '../language/history.ts'
import type { BundleIr } from '../language/rule.ts'
import type { AgentEntry, ReviewerEntry } from '../language/snapshot.ts'
import { duration } from '../language/time.ts'
import type { Direction } from './outcome.ts'

/** A change to an agent or a reviewer, as one line. */
export interface DirectoryChange {
  readonly direction: Direction
  /** `acme agent billing-bot: may use ledger.*`. */
  readonly text: string
}

/** Compares agents and reviewers of both directories. Loosened entries come first. */
export function diffDirectories(old: BundleIr, current: BundleIr): readonly DirectoryChange[] {
  const [before, after] = [old.head.directory, current.head.directory]
  const diffAgent = agentDiff(asksForOwners(old) || asksForOwners(current))
  const names = [...new Set([...before.tenants.keys(), ...after.tenants.keys()])].sort()
  const changes = names.flatMap((name) => {
    const [one, other] = [before.tenants.get(name), after.tenants.get(name)]
    return [
      ...diffEntries(`${name} agent`, [one?.agents, other?.agents], diffAgent),
      ...diffEntries(`${name} reviewer`, [one?.reviewers, other?.reviewers], diffReviewer),
    ]
  })
  return changes.sort((a, b) => ORDER.indexOf(a.direction) - ORDER.indexOf(b.direction))
}

const ORDER: readonly Direction[] = ['loosens', 'changes', 'tightens']

/** Returns true when an enforced rule reads the owners of agents. A new owner may then allow a call. */
function asksForOwners({ ruleFiles }: BundleIr): boolean {
  const enforced = ruleFiles.flatMap(({ rules }) => rules.filter(({ mode }) => mode === 'enforced'))
  return enforced.some((rule) => fieldsOf(rule).some(({ root }) => root === 'agent.owners'))
}

type Entries<T> = ReadonlyMap<string, T> | undefined

function diffEntries<T>(
  what: string,
  [before, after]: readonly [Entries<T>, Entries<T>],
  diff: (before: T, after: T) => readonly DirectoryChange[],
): readonly DirectoryChange[] {
  const ids = [...new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])].sort()
  return ids.flatMap((id) => {
    const [old, current] = [before?.get(id), after?.get(id)]
    const changes = old && current ? diff(old, current) : [old ? tightens('removed') : loosens('added')]
    return changes.map(({ direction, text }) => ({ direction, text: `${what} ${id}: ${text}` }))
  })
}

const loosens = (text: string): DirectoryChange => ({ direction: 'loosens', text })
const tightens = (text: string): DirectoryChange => ({ direction: 'tightens', text })

const differs = (text: string): DirectoryChange => ({ direction: 'changes', text })

/** Compares two entries of an agent. `asked` is true when rules decide by the owners. */
function agentDiff(asked: boolean): (before: AgentEntry, after: AgentEntry) => readonly DirectoryChange[] {
  const why = asked ? ', and rules decide by the owners' : ''
  const stricter = asked ? differs : tightens
  return (before, after) => [
    ...gained(after.owners, before.owners).map((owner) =>
      loosens(`${owner} is no owner any more, and may vote${why}`),
    ),
    ...gained(before.owners, after.owners).map((owner) =>
      stricter(`${owner} is an owner, and does not vote${why}`),
    ),
    ...diffPermissions(before, after),
  ]
}

function diffPermissions(before: AgentEntry, after: AgentEntry): readonly DirectoryChange[] {
  return [
    ...gained(before.tools, after.tools).map((tool) => loosens(`may use ${tool}`)),
    ...gained(after.tools, before.tools).map((tool) => tightens(`may no longer use ${tool} by that name`)),
    ...flag('approvals need a signature', before.signedApprovals, after.signedApprovals),
    ...flag(
      'no reviewer votes on a call that they caused',
      before.preventSelfReview,
      after.preventSelfReview,
    ),
    ...amount('token_ttl', [before.tokenTtlMs, after.tokenTtlMs], duration),
    ...diffRates(before, after),
  ]
}

function diffReviewer(before: ReviewerEntry, after: ReviewerEntry): readonly DirectoryChange[] {
  return [
    ...gained(before.groups, after.groups).map((group) => loosens(`votes for group ${group}`)),
    ...gained(after.groups, before.groups).map((group) => tightens(`no longer votes for group ${group}`)),
    ...gained(before.roles, after.roles).map((role) => loosens(`has the role ${role}`)),
    ...gained(after.roles, before.roles).map((role) => tightens(`no longer has the role ${role}`)),
    ...(before.email === after.email ? [] : [differs('has another e-mail address')]),
  ]
}

function gained(before: readonly string[], after: readonly string[]): readonly string[] {
  return after.filter((one) => !before.includes(one)).toSorted()
}

/** Compares a safeguard that is either on or off. */
function flag(text: string, before: boolean, after: boolean): readonly DirectoryChange[] {
  if (before === after) return []
  return [after ? tightens(`from now on ${text}`) : loosens(`no longer: ${text}`)]
}

/** Compares an amount. A larger amount is looser. */
function amount(
  what: string,
  [before, after]: readonly [number, number],
  show: (value: number) => string,
): readonly DirectoryChange[] {
  if (before === after) return []
  return [(after > before ? loosens : tightens)(`${what} ${show(before)} -> ${show(after)}`)]
}

/**
 * Compares rates by average and by burst. `600/h` has the same average as `10/m`, but permits 600 calls in one minute.
 */
function diffRates(before: AgentEntry, after: AgentEntry): readonly DirectoryChange[] {
  const [old, current] = [before.rate, after.rate]
  const text = `rate ${showRate(old)} -> ${showRate(current)}`
  if (isFaster(current, old)) return [loosens(text)]
  return isFaster(old, current) ? [tightens(text)] : []
}

type Rate = AgentEntry['rate']

/** Returns true when `one` permits a larger burst or a higher average than `other`. */
function isFaster(one: Rate, other: Rate): boolean {
  if (!one || !other) return !one && !!other
  return one.calls > other.calls || one.calls * other.withinMs > other.calls * one.withinMs
}

const showRate = (rate: Rate): string => (rate ? `${rate.calls} calls/${duration(rate.withinMs)}` : 'none')
