import { type Risk, VERDICTS } from '../../domain/decision.ts'
import type { Instruments } from './instruments.ts'
import { OTHER } from '../../metrics/labels.ts'
import { METRICS, mostSeries } from '../../metrics/table.ts'

/** The result of a load, and the bundle that is in force after it. */
export interface Load {
  readonly ok: boolean
  readonly atSeconds: number
  readonly bundle?: LoadedBundle | undefined
}

/** The parts of a bundle that metrics read. */
export interface LoadedBundle {
  readonly revision: string
  readonly tools: ReadonlyMap<string, { readonly risk: Risk }>
  readonly rules: readonly { readonly id: string; readonly mode: 'enforced' | 'shadow' }[]
  readonly ruleCount: number
  readonly directory: {
    readonly tenants: ReadonlyMap<
      string,
      { readonly reviewers: ReadonlyMap<string, { readonly groups: readonly string[] }> }
    >
  }
}

export function countLoad(instruments: Instruments, { ok, atSeconds, bundle }: Load): void {
  instruments.count('reloads', { result: ok ? 'ok' : 'failed' })
  instruments.set('stale', {}, ok ? 0 : 1)
  if (!ok || bundle === undefined) return
  countWithdrawal(instruments, { reviewers: 0, agents: 0 })
  instruments.set('lastLoad', {}, atSeconds)
  instruments.setAll('policyInfo', [[{ digest: bundle.revision }, 1]])
  instruments.set('policyRules', {}, bundle.ruleCount)
  instruments.set('policyTools', {}, bundle.tools.size)
  instruments.setAll('groupReviewers', reviewersByGroup(bundle))
  expectTools(instruments, bundle)
  expectRules(instruments, bundle)
}

/** The entries of the directory that a withdrawal restricts. */
export interface Withdrawn {
  readonly reviewers: number
  readonly agents: number
}

export function countWithdrawal(instruments: Instruments, { reviewers, agents }: Withdrawn): void {
  instruments.set('withdrawn', { of: 'reviewers' }, reviewers)
  instruments.set('withdrawn', { of: 'agents' }, agents)
}

/**
 * Drops the tools of the previous bundle, so that renamed tools never use up the series. Tools of this bundle exist at
 * 0 when there is room for all of them. Without room, the function does not iterate over the tools, because a large
 * load must not delay decisions.
 */
function expectTools(instruments: Instruments, { tools }: LoadedBundle): void {
  instruments.forget('tools', (name) => tools.has(name))
  const unknown = VERDICTS.map((decision) => ({ decision, risk: 'low', tool: OTHER }) as const)
  instruments.expect('evaluations', unknown)
  if (tools.size * VERDICTS.length > mostSeries(METRICS.evaluations)) return
  instruments.expect(
    'evaluations',
    [...tools].flatMap(([tool, { risk }]) => VERDICTS.map((decision) => ({ decision, risk, tool }))),
  )
}

/**
 * Treats rules in the same way. Without room for all rules, the function drops all series of rules and creates no list.
 */
function expectRules(instruments: Instruments, bundle: LoadedBundle): void {
  const room = mostSeries(METRICS.ruleMatches)
  if (bundle.ruleCount > room) return instruments.forget('rules', () => false)
  const modes = new Map(bundle.rules.map(({ id, mode }) => [id, mode]))
  instruments.forget('rules', (id) => modes.has(id))
  const named = [...modes]
  instruments.expect(
    'ruleMatches',
    named.map(([rule, mode]) => ({ rule, mode })),
  )
  instruments.expect(
    'ruleUnknown',
    named.map(([rule]) => ({ rule })),
  )
}

function reviewersByGroup({ directory }: LoadedBundle): [{ group: string }, number][] {
  const people = new Map<string, number>()
  for (const { reviewers } of directory.tenants.values())
    for (const { groups } of reviewers.values())
      for (const group of groups) people.set(group, (people.get(group) ?? 0) + 1)
  return [...people].map(([group, count]) => [{ group }, count])
}
