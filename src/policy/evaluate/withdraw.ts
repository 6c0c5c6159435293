import type { AgentEntry, Directory, ReviewerEntry, Tenant } from '../language/snapshot.ts'

/*
 * Withdrawals (docs/operations.md): what a newer directory takes away, while the bundle of that directory does not
 * load. Only removes: every right of the result is in both directories.
 */

/** The people and agents of both directories. */
export function withdraw(directory: Directory, newer: Directory): Directory {
  return {
    tenants: new Map(
      [...directory.tenants].map(([name, tenant]) => [name, within(tenant, newer.tenants.get(name))]),
    ),
    groups: new Map([...directory.groups].filter(([name, group]) => newer.groups.get(name) === group)),
  }
}

function within({ reviewers, agents }: Tenant, newer: Tenant | undefined): Tenant {
  return {
    reviewers: kept(reviewers, newer?.reviewers, reviewerWithin),
    agents: kept(agents, newer?.agents, agentWithin),
  }
}

function kept<T>(
  entries: ReadonlyMap<string, T>,
  newer: ReadonlyMap<string, T> | undefined,
  both: (entry: T, newer: T) => T | undefined,
): Map<string, T> {
  const found = new Map<string, T>()
  for (const [id, entry] of entries) {
    const other = newer?.get(id)
    const result = other && both(entry, other)
    if (result !== undefined) found.set(id, result)
  }
  return found
}

/** A reviewer with another address or subject may be another person, and is withdrawn. */
function reviewerWithin(entry: ReviewerEntry, newer: ReviewerEntry): ReviewerEntry | undefined {
  if (entry.email !== newer.email || entry.subject !== newer.subject) return undefined
  const groups = entry.groups.filter((one) => newer.groups.includes(one))
  const roles = entry.roles.filter((one) => newer.roles.includes(one))
  if (groups.length === entry.groups.length && roles.length === entry.roles.length) return entry
  return { ...entry, groups, roles, withdrawn: entry.groups.filter((one) => !groups.includes(one)) }
}

function agentWithin(entry: AgentEntry, newer: AgentEntry): AgentEntry {
  return entry.tools.every((one) => newer.tools.includes(one)) ? entry : { ...entry, within: newer.tools }
}

/** Counts the entries that lost something, and all entries. */
export function countWithdrawn(
  whole: Directory,
  rest: Directory,
  of: 'reviewers' | 'agents',
): { readonly withdrawn: number; readonly all: number } {
  let [withdrawn, all] = [0, 0]
  for (const [name, tenant] of whole.tenants)
    for (const [id, entry] of tenant[of] as ReadonlyMap<string, object>) {
      all += 1
      if (rest.tenants.get(name)?.[of].get(id) !== entry) withdrawn += 1
    }
  return { withdrawn, all }
}
