import { BUDGET_NAMES } from '../../domain/budget.ts'
import { RISKS, VERDICTS } from '../../domain/decision.ts'
import { AGENT_KEYS, REVIEWER_KEYS } from '../check/directory-keys.ts'
import { factsUnder } from '../language/facts.ts'
import { RETENTION_KINDS } from '../language/retention.ts'

/** The order of a mapping's keys (docs/policy-language.md). Other keys follow, in their original order. */
export interface KeyOrder {
  readonly keys: readonly string[]
  /** The order inside the value of a key; `*` applies to every other key. */
  readonly inside?: Readonly<Record<string, KeyOrder>>
}

const keys = (text: string): readonly string[] => text.split(' ')
const REVIEWERS: KeyOrder = { keys: keys('group approvals interactive expires') }

// Matches, tests and payloads keep the author's order, in which `explain` shows tests.
const RULE: KeyOrder = {
  keys: ['id', ...VERDICTS, ...keys('when unless unknown risk reviewers mode from until')],
  inside: { reviewers: REVIEWERS },
}
const LIMIT: KeyOrder = { keys: ['id', ...VERDICTS, ...keys('risk mode count sum at_most within per')] }
const CASE: KeyOrder = {
  keys: [...VERDICTS, ...keys('payload agent task used risk_level time tool risk by')],
  inside: {
    agent: { keys: [...factsUnder('agent').keys()] },
    task: { keys: [...factsUnder('task').keys()] },
    time: { keys: keys('weekday hour') },
  },
}
const RULE_FILE: KeyOrder = {
  keys: keys('tool tools owner missing_means mode conditions rules limits tests'),
  inside: { rules: RULE, limits: LIMIT, tests: CASE },
}

const TOOL: KeyOrder = {
  keys: keys(
    'tool description summary risk reversibility proof outcome labels sensitive disclose source input_schema',
  ),
  inside: { source: { keys: keys('server name digest') } },
}

const LEVEL: KeyOrder = {
  keys: keys(
    'group approvals interactive expires remind_after escalate working comments require_comment reveal require_displayed chat',
  ),
  inside: {
    escalate: { keys: keys('after group') },
    working: { keys: keys('days hours holidays') },
    chat: { keys: keys('signed_in_within') },
  },
}
const ROUTING: KeyOrder = {
  keys: keys('unmatched allow_up_to timezone levels retention disclose lists budgets'),
  inside: {
    levels: { keys: RISKS, inside: Object.fromEntries(RISKS.map((risk) => [risk, LEVEL])) },
    retention: { keys: RETENTION_KINDS },
    disclose: { keys: keys('comments agent_words') },
    budgets: { keys: BUDGET_NAMES },
  },
}

const AGENT: KeyOrder = { keys: Object.keys(AGENT_KEYS) }
const REVIEWER: KeyOrder = { keys: Object.keys(REVIEWER_KEYS) }
const TENANT: KeyOrder = {
  keys: keys('agents reviewers'),
  inside: {
    agents: { keys: [], inside: { '*': AGENT } },
    reviewers: { keys: [], inside: { '*': REVIEWER } },
  },
}
const DIRECTORY: KeyOrder = {
  keys: ['tenants', 'identities'],
  inside: { tenants: { keys: [], inside: { '*': TENANT } } },
}

/** Returns the order for a file of a bundle, by its path. */
export function orderOf(path: string): KeyOrder {
  if (path === 'routing.yaml') return ROUTING
  if (path === 'directory.yaml') return DIRECTORY
  return path.startsWith('tools/') ? TOOL : RULE_FILE
}

/** Returns the order inside the value of a key; undefined when its keys keep their order. */
export function orderInside(order: KeyOrder, key: string): KeyOrder | undefined {
  return order.inside && (Object.hasOwn(order.inside, key) ? order.inside[key] : order.inside['*'])
}
