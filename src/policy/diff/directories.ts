import { fieldsOf } from '../language/history.ts'
import type { BundleIr } from '../language/rule.ts'
import { type Change, changed, loosenedFirst, loosens, tightens } from '../check/change.ts'
import { AGENT_KEYS, REVIEWER_KEYS } from '../check/directory-keys.ts'
import { diffOf } from '../check/spec.ts'

/** Compares agents and reviewers of both directories. Loosened entries come first. */
export function diffDirectories(old: BundleIr, current: BundleIr): readonly Change[] {
  const [before, after] = [old.head.directory, current.head.directory]
  const asked = asksForOwners(old) || asksForOwners(current)
  const names = [...new Set([...before.tenants.keys(), ...after.tenants.keys()])].sort()
  const changes = names.flatMap((name) => {
    const [one, other] = [before.tenants.get(name), after.tenants.get(name)]
    return [
      ...diffEntries(`${name} agent`, [one?.agents, other?.agents], (...entries) =>
        diffOf(AGENT_KEYS, entries, { asked }),
      ),
      ...diffEntries(`${name} reviewer`, [one?.reviewers, other?.reviewers], (...entries) =>
        diffOf(REVIEWER_KEYS, entries, undefined),
      ),
    ]
  })
  const groups = diffEntries('group of the identity provider', [before.groups, after.groups], (one, other) =>
    changed(`is group ${other}, no longer ${one}`)(one, other),
  )
  return [...changes, ...groups].sort(loosenedFirst)
}

/** Returns true when an enforced rule reads the owners of agents. A new owner may then allow a call. */
function asksForOwners({ ruleFiles }: BundleIr): boolean {
  const enforced = ruleFiles.flatMap(({ rules }) => rules.filter(({ mode }) => mode === 'enforced'))
  return enforced.some((rule) => fieldsOf(rule).some(({ root }) => root === 'agent.owners'))
}

type Entries<T> = ReadonlyMap<string, T> | undefined

function diffEntries<T>(
  what: string,
  [before, after]: readonly [Entries<T>, Entries<T>],
  diff: (before: T, after: T) => readonly Change[],
): readonly Change[] {
  const ids = [...new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])].sort()
  return ids.flatMap((id) => {
    const [old, current] = [before?.get(id), after?.get(id)]
    const changes = old && current ? diff(old, current) : [old ? tightens('removed') : loosens('added')]
    return changes.map(({ direction, text }) => ({ direction, text: `${what} ${id}: ${text}` }))
  })
}
