/** The policy of BUNDLES and the reviewers that it asks, by docs/policy-language.md, as `model.ts` knows them. */
import { BUNDLE } from '../../bundle.ts'

export const MINUTE = 60_000
const HOUR = 60 * MINUTE

/**
 * Two of the leads have to approve, and a reviewer of the board can take one of their chairs later.
 * Hal belongs to both the board and the audit, so time alone can complete an approval.
 */
const FIRST: Readonly<Record<string, string>> = {
  'routing.yaml': (BUNDLE['routing.yaml'] ?? '').replace('leads, approvals: 1', 'leads, approvals: 2'),
  'directory.yaml': (BUNDLE['directory.yaml'] ?? '').replace(
    '      nil: ',
    '      hal:  { name: Hal Hay, groups: [audit, board] }\n      nil: ',
  ),
}

const limited = (rules: string | undefined, lines: string): string =>
  `${rules ?? ''}limits:\n  - { review: That is much., within: 20d, ${lines} }\n`

const OPEN = limited(BUNDLE['rules/open.yaml'], 'id: t-few, count: calls, at_most: 6, per: agent')
const PAY = limited(BUNDLE['rules/pay.yaml'], 'id: pay-sum, sum: payload.amount, at_most: 30000, per: task')

/** Policy allows calls of `once`, which need a proof all the same. */
const ONCE = {
  'tools/once.yaml': `tool: once
description: A repeated call must not run again.
risk: low
proof: always
input_schema: { type: object }
`,
  'rules/once.yaml': `tool: once
rules:
  - { id: once, allow: Everybody may. }
`,
}
/** The second bundle asks an auditor as well. */
const GROW = {
  'tools/grow.yaml': `tool: grow
description: A call of which policy asks for more later.
risk: low
input_schema: { type: object }
`,
  'rules/grow.yaml': `tool: grow
rules:
  - { id: grow, review: Somebody looks. }
`,
}
const raised = GROW['rules/grow.yaml'].replace(
  ' }',
  ', reviewers: { group: audit, approvals: 1, expires: 2h } }',
)

const review = ({ ...once }: typeof ONCE): typeof ONCE => ({
  ...once,
  'rules/once.yaml': once['rules/once.yaml'].replace('allow: Everybody may.', 'review: Somebody looks.'),
})

const reject = (rules: string): string => rules.replace('review: A lot of money', 'reject: A lot of money')
const without = (directory: string, who: string): string =>
  directory
    .split('\n')
    .filter((line) => !line.startsWith(`      ${who}: `))
    .join('\n')

/** The second bundle rejects calls of high risk, reviews `once`, raises `grow`, and has lost one of the leads. */
export const BUNDLES = {
  first: { ...ONCE, ...GROW, 'rules/open.yaml': OPEN, 'rules/pay.yaml': PAY, ...FIRST },
  second: {
    ...review(ONCE),
    ...GROW,
    'rules/grow.yaml': raised,
    'rules/open.yaml': OPEN,
    'rules/pay.yaml': reject(PAY),
    'routing.yaml': FIRST['routing.yaml'] ?? '',
    'directory.yaml': without(FIRST['directory.yaml'] ?? '', 'eve'),
  },
} as const
export type Bundle = keyof typeof BUNDLES

const RISKS = ['low', 'medium', 'high', 'critical'] as const
export type Risk = (typeof RISKS)[number]
const higher = (a: Risk, b: Risk): Risk => (RISKS.indexOf(a) >= RISKS.indexOf(b) ? a : b)

/** By group: how many must approve, and which groups may take their chairs after which time. */
export interface Need {
  readonly seats: ReadonlyMap<string, { readonly count: number; readonly later: ReadonlyMap<string, number> }>
  readonly expiresMs: number
}

const need = (group: string, count: number, expiresMs: number, later: [string, number][] = []): Need => ({
  seats: new Map([[group, { count, later: new Map(later) }]]),
  expiresMs,
})
export const LEVELS: Readonly<Record<Risk, Need>> = {
  low: need('desk', 1, 8 * HOUR),
  medium: need('desk', 1, 4 * HOUR),
  high: need('leads', 2, HOUR, [['board', 30 * MINUTE]]),
  critical: need('board', 2, 30 * MINUTE),
}

/** Combines two needs: at least as strict as either. */
export function both(a: Need, b: Need): Need {
  const seats = new Map(a.seats)
  for (const [group, seat] of b.seats) {
    const other = seats.get(group)
    const later = [...seat.later].flatMap(([who, ms]): [string, number][] => {
      const known = other?.later.get(who)
      return known === undefined ? [] : [[who, Math.max(ms, known)]]
    })
    const joined = other && { count: Math.max(seat.count, other.count), later: new Map(later) }
    seats.set(group, joined ?? seat)
  }
  return { seats, expiresMs: Math.min(a.expiresMs, b.expiresMs) }
}

interface AgentFacts {
  readonly owners: readonly string[]
  readonly tools?: readonly string[]
  readonly signed?: boolean
  readonly ttlMs?: number
}

export const AGENTS: Readonly<Record<string, AgentFacts>> = {
  bot: { owners: ['olga'], tools: ['t', 'pay', 'hold', 'brief', 'bare', 'once'] },
  other: { owners: ['olga'] },
  unsigned: { owners: ['olga'], signed: false },
  short: { owners: ['olga'], ttlMs: MINUTE },
  // owned by ann, who may vote all the same
  selfie: { owners: [] },
}
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  ann: ['desk', 'leads', 'board'],
  ben: ['desk', 'board'],
  cat: ['desk', 'audit'],
  dan: ['audit'],
  eve: ['board', 'leads'],
  hal: ['audit', 'board'],
  nil: [],
  olga: ['desk', 'leads', 'board', 'audit'],
}
export const PEOPLE = Object.keys(GROUPS)

/** Undefined for a person whom the directory does not list. */
export function groupsOf(bundle: Bundle, who: string): readonly string[] | undefined {
  return bundle === 'second' && who === 'eve' ? undefined : GROUPS[who]
}

export const TOOLS = ['t', 'hold', 'brief', 'bare', 'private', 'pay', 'once', 'grow', 'nothing'] as const
export type Tool = (typeof TOOLS)[number]

export interface Pay {
  readonly amount?: number
  readonly to?: string
}
type Verdict = 'allow' | 'review' | 'reject'
export interface Judged {
  readonly verdict: Verdict
  readonly need: Need
}

/**
 * Returns the verdict of the rules, its risk and its reviewers.
 * Undefined for a payload that does not fit the contract.
 */
function rulesFor(
  bundle: Bundle,
  tool: Tool,
  { amount, to }: Pay,
): [Verdict, Risk, Need | undefined] | undefined {
  if (tool === 't' || tool === 'private') return ['allow', 'low', undefined]
  if (tool === 'once') return [bundle === 'first' ? 'allow' : 'review', 'low', undefined]
  if (tool === 'hold') return ['review', 'low', undefined]
  if (tool === 'grow') return ['review', 'low', bundle === 'first' ? undefined : need('audit', 1, 2 * HOUR)]
  if (tool === 'brief') return ['review', 'low', need('desk', 1, MINUTE)]
  if (tool !== 'pay') return ['reject', 'low', undefined]
  if (amount === undefined || amount < 1) return undefined
  const audit = to?.startsWith('audit-') ? need('audit', 1, 2 * HOUR) : undefined
  const risk = amount <= 10_000 ? 'low' : amount <= 50_000 ? 'high' : amount <= 100_000 ? 'critical' : 'low'
  if (amount > 100_000 || (bundle === 'second' && risk === 'high')) return ['reject', risk, undefined]
  return [amount > 100 || audit !== undefined ? 'review' : 'allow', risk, audit]
}

/** The facts of a call that policy judges. */
export interface Asked {
  readonly agent: string
  readonly tool: Tool
  readonly payload: Pay
  /** The risk that the agent claims. */
  readonly risk?: Risk
}

/** Undefined for a payload that does not fit the contract. */
export function judge(
  bundle: Bundle,
  { agent, tool, payload, risk: claimed = 'low' }: Asked,
): Judged | undefined {
  const may = tool !== 'nothing' && (AGENTS[agent]?.tools?.includes(tool) ?? true)
  if (!may) return { verdict: 'reject', need: LEVELS.low }
  const said = rulesFor(bundle, tool, payload)
  if (said === undefined) return undefined
  const [verdict, policyRisk, reviewers] = said
  const risk = higher(policyRisk, claimed)
  const levels = both(LEVELS[policyRisk], LEVELS[risk])
  const above = verdict === 'allow' && RISKS.indexOf(risk) > RISKS.indexOf('medium')
  return { verdict: above ? 'review' : verdict, need: reviewers ? both(levels, reviewers) : levels }
}

/** True for a call that policy allows, and that needs a proof all the same. */
export function needsProof(bundle: Bundle, call: Asked): boolean {
  const { signed = true } = AGENTS[call.agent] ?? {}
  return call.tool === 'once' && signed && judge(bundle, call)?.verdict === 'allow'
}

/** No reviewer has to approve; the approval lasts a day. */
export const BY_RULE: Need = { seats: new Map(), expiresMs: 24 * HOUR }

export interface Use {
  /** Names the counter. */
  readonly name: string
  readonly amount: number
  readonly most: number
}

/** Returns the uses that a call makes of limits. A task belongs to one agent. */
export function usesOf({ agent, task, tool, payload }: Asked & { readonly task: string }): Use[] {
  if (tool === 't') return [{ name: `t-few ${agent}`, amount: 1, most: 6 }]
  if (tool !== 'pay') return []
  return [{ name: `pay-sum ${agent} ${task}`, amount: payload.amount ?? 0, most: 30_000 }]
}
