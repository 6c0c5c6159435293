import { joinRequirements, maxRisk, type Risk, RISKS, type ReviewRequirement } from '../../domain/decision.ts'
import { groupsEver, quorum } from '../../domain/quorum.ts'
import type { GroupUse } from './level.ts'
import type { CheckedRouting } from './routing.ts'
import type { CheckedRuleFile } from './rules.ts'
import type { RoutingIr, RuleIr } from '../language/rule.ts'
import { didYouMean } from '../text/nearest.ts'
import type { Doc } from '../yaml/parse.ts'
import type { Reader } from '../yaml/shape.ts'
import type { AgentEntry, Directory, ReviewerEntry, Tenant, ToolContract } from '../language/snapshot.ts'
import { compileGlob } from '../text/text.ts'
import { remember } from '../language/remember.ts'

/** Reports groups that no reviewer belongs to. Without reviewers in the directory, groups are not checked. */
export function checkGroupNames(reader: Reader, uses: readonly GroupUse[], directory: Directory): void {
  const known = new Set(
    staffed(directory).flatMap(([, tenant]) =>
      [...tenant.reviewers.values()].flatMap((person) => person.groups),
    ),
  )
  if (staffed(directory).length === 0) return
  for (const { group, at } of uses) {
    if (known.has(group)) continue
    const message = `no reviewer is in a group named \`${group}\``
    reader.report('unknown-group', at, message, didYouMean(group, known))
  }
}

function staffed(directory: Directory): readonly (readonly [string, Tenant])[] {
  return [...directory.tenants].filter(([, tenant]) => tenant.reviewers.size > 0)
}

/** Reports levels that the reviewers of a tenant cannot fill, at all or for one of its agents. */
export function checkLevelQuorums(reader: Reader, routing: CheckedRouting, directory: Directory): void {
  for (const { group, approvals, at, level } of routing.groups) {
    if (level === undefined) continue
    for (const [name, tenant] of staffed(directory)) {
      const members = [...tenant.reviewers.values()].filter((person) => person.groups.includes(group)).length
      if (members === 0 && !isKnown(directory, group)) continue
      const needs = `level ${level} needs ${approvals} of group \`${group}\``
      if (members < approvals) {
        reader.report('level-understaffed', at, `${needs}, but tenant \`${name}\` has ${members}`)
        continue
      }
      const canBeFilled = fillable(routing.routing.levels[level], tenant)
      const agent = [...tenant.agents.values()].find((one) => !canBeFilled(one))
      if (agent) reportOwners(reader, at, { needs, name, agent })
    }
  }
}

/**
 * Reports pairs of levels that reviewers cannot fill together. A call whose agent claims a higher risk than policy
 * assesses needs reviewers for both levels, with a different reviewer in each seat. The check covers the risks that
 * policy can assign to a call, for the agents that may make the call. One warning names all such pairs.
 */
export function checkLevelPairs(
  reader: Reader,
  groups: readonly GroupUse[],
  { files, ...context }: RuleQuorumContext & { readonly files: readonly CheckedRuleFile[] },
): void {
  const pairs = RISKS.flatMap((high, index) => RISKS.slice(0, index).map((low) => ({ low, high })))
  const found = pairs.flatMap(({ low, high }) => {
    const where = findUnreachablePair({ low, high }, contractsAt(low, files, context.tools), context)
    return where === undefined ? [] : [{ low, high, where }]
  })
  const [first] = found
  const at = groups.find(({ level }) => level === first?.high)?.at
  if (first === undefined || at === undefined) return
  const { low, high, where } = first
  const others = found.slice(1).map((pair) => `${pair.low} and ${pair.high}`)
  const also = others.length === 0 ? '' : ` (nor those of ${others.join(', ')})`
  const message = `the reviewers of levels ${low} and ${high} cannot fill every seat together ${where}${also}; a held call of risk ${low} that its agent rates ${high} needs both levels`
  reader.report('levels-understaffed', at, message, 'add reviewers to the groups')
}

/** False for a rule or a limit that only rejects. */
const asksReviewers = ({ verdict, unknown }: Pick<RuleIr, 'verdict' | 'unknown'>): boolean =>
  verdict !== 'reject' || unknown !== undefined

/**
 * Returns the contracts whose calls can get this risk, from the contract or from an enforced rule or limit that does
 * not reject.
 */
function contractsAt(
  risk: Risk,
  files: readonly CheckedRuleFile[],
  tools: ReadonlyMap<string, ToolContract>,
): readonly ToolContract[] {
  const raised = files.flatMap(({ file, tools: names }) => {
    const deciding = [...file.rules, ...file.limits].filter(
      (one) => asksReviewers(one) && one.mode === 'enforced',
    )
    return names
      .flatMap((name) => tools.get(name) ?? [])
      .filter((tool) => deciding.some((one) => maxRisk(tool.risk, one.risk ?? RISKS[0]) === risk))
  })
  return [...[...tools.values()].filter((tool) => tool.risk === risk), ...raised]
}

/**
 * Returns a case where reviewers can fill each level alone but not both, for calls of one of the tools; otherwise
 * undefined.
 */
function findUnreachablePair(
  { low, high }: { readonly low: Risk; readonly high: Risk },
  tools: readonly ToolContract[],
  { routing, directory }: Omit<RuleQuorumContext, 'tools'>,
): string | undefined {
  if (tools.length === 0) return undefined
  const levels = [routing.levels[low], routing.levels[high]] as const
  const both = joinRequirements(...levels)
  for (const [name, tenant] of staffed(directory)) {
    const [single, together] = [levels.map((level) => fillable(level, tenant)), fillable(both, tenant)]
    for (const agent of agentsOf(tenant, tools)) {
      if (!single.every((canBeFilled) => canBeFilled(agent)) || together(agent)) continue
      return agent === undefined ? `in tenant \`${name}\`` : `for agent \`${agent.id}\` of tenant \`${name}\``
    }
  }
  return undefined
}

function isKnown(directory: Directory, group: string): boolean {
  return staffed(directory).some(([, tenant]) =>
    [...tenant.reviewers.values()].some((person) => person.groups.includes(group)),
  )
}

function reportOwners(
  reader: Reader,
  at: Doc,
  { needs, name, agent }: { readonly needs: string; readonly name: string; readonly agent: AgentEntry },
): void {
  const message = `${needs}, but too few are left for agent \`${agent.id}\` of tenant \`${name}\`: its owners may not vote`
  const hint = 'add a reviewer who does not own the agent to the group'
  reader.report('level-understaffed', at, message, hint)
}

/** Returns true when the eligible reviewers of an agent's calls can together fill every seat. */
export type Fillable = (agent: AgentEntry | undefined) => boolean

/**
 * Prepares the check for all agents of a tenant. Reviewers in the same groups are interchangeable, so the check keeps
 * only as many of them as there are seats and owners.
 */
export function fillable(requirement: ReviewRequirement, tenant: Tenant): Fillable {
  const alike = alikeFor(groupsEver(requirement), tenant)
  const seats = requirement.seats.reduce((sum, { approvals }) => sum + approvals, 0)
  const known = new Map<string, boolean>()
  return (agent) => {
    const owners = agent?.preventSelfReview === true ? agent.owners : []
    return remember(
      known,
      owners.join('\n'),
      () => quorum(requirement, enough(alike, seats, owners), Infinity).met,
    )
  }
}

/** Returns the reviewers in any of the groups. Reviewers with the same groups are in one list. */
function alikeFor(groups: readonly string[], { reviewers }: Tenant): readonly (readonly ReviewerEntry[])[] {
  const alike = new Map<string, ReviewerEntry[]>()
  for (const person of reviewers.values()) {
    const seats = groups.filter((group) => person.groups.includes(group)).join('\n')
    if (seats !== '') remember(alike, seats, () => []).push(person)
  }
  return [...alike.values()]
}

const enough = (
  alike: readonly (readonly ReviewerEntry[])[],
  seats: number,
  owners: readonly string[],
): readonly ReviewerEntry[] =>
  alike.flatMap((people) => people.slice(0, seats + owners.length).filter(({ id }) => !owners.includes(id)))

/**
 * Reports rules whose seats cannot be filled in addition to the level's seats, because each reviewer fills only one
 * seat.
 */
export function checkRuleQuorums(
  files: readonly CheckedRuleFile[],
  { tools, routing, directory }: RuleQuorumContext,
): void {
  for (const { file, tools: names, reader, places } of files) {
    const contracts = names.flatMap((name) => tools.get(name) ?? [])
    for (const rule of file.rules) {
      const at = places.get(rule.id)
      const problem = at && findUnreachable(rule, contracts, { routing, directory })
      if (at && problem !== undefined) reader.report('reviewers-understaffed', at, problem)
    }
  }
}

interface RuleQuorumContext {
  readonly tools: ReadonlyMap<string, ToolContract>
  readonly routing: RoutingIr
  readonly directory: Directory
}

function findUnreachable(
  rule: RuleIr,
  contracts: readonly ToolContract[],
  { routing, directory }: Omit<RuleQuorumContext, 'tools'>,
): string | undefined {
  const { reviewers } = rule
  if (reviewers === undefined || !asksReviewers(rule)) return undefined
  const asked = reviewers.seats.map((seat) => `${seat.approvals} of group \`${seat.group}\``).join(' and ')
  for (const risk of new Set(contracts.map((tool) => maxRisk(tool.risk, rule.risk ?? RISKS[0])))) {
    const level = routing.levels[risk]
    const together = joinRequirements(level, reviewers)
    const reached = contracts.filter((tool) => maxRisk(tool.risk, rule.risk ?? RISKS[0]) === risk)
    for (const [name, tenant] of staffed(directory)) {
      const [alone, beside] = [fillable(level, tenant), fillable(together, tenant)]
      for (const agent of agentsOf(tenant, reached)) {
        if (!alone(agent) || beside(agent)) continue
        const who = agent === undefined ? '' : `for agent \`${agent.id}\` `
        return `rule \`${rule.id}\` needs ${asked} beside the reviewers of level ${risk}, but no combination of reviewers ${who}in tenant \`${name}\` can fill every seat`
      }
    }
  }
  return undefined
}

/**
 * Returns the agents that may use one of the tools. For a tenant without agents, returns one undefined agent, which has
 * no owners.
 */
function agentsOf(tenant: Tenant, tools: readonly ToolContract[]): readonly (AgentEntry | undefined)[] {
  if (tenant.agents.size === 0) return [undefined]
  return [...tenant.agents.values()].filter((agent) =>
    agent.tools.map(compileGlob).some((matches) => tools.some((tool) => matches(tool.name))),
  )
}
