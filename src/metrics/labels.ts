import { type ErrorCode, ERRORS } from '../contract/errors.ts'
import { SIGN_IN_PROBLEMS, type SignInProblem } from '../contract/sign-in-problems.ts'
import { RISKS, VERDICTS } from '../domain/decision.ts'
import { BUDGET_NAMES } from '../domain/budget.ts'
import { STOPS, UNREADABLE } from '../tiles/stops.ts'

/** Label values of the metrics. Every set is closed, or the metric's `atMost` limits it. */

/** Names from the bundle or the routes, which are unknown in advance. */
export interface OpenSet {
  readonly from: 'tools' | 'rules' | 'groups' | 'routes' | 'release' | 'bundle' | 'kinds'
  /** Text for docs/metrics.md. */
  readonly says: string
}

export type LabelSet = readonly string[] | OpenSet

export const isOpen = (set: LabelSet): set is OpenSet => !Array.isArray(set)

/** The value that replaces every value without its own series. */
export const OTHER = '_other'

export const TOOLS: OpenSet = { from: 'tools', says: 'a tool with a contract in the bundle in force' }
export const RULES: OpenSet = { from: 'rules', says: 'the id of a rule or limit of the bundle in force' }
export const GROUPS: OpenSet = { from: 'groups', says: 'a group of reviewers' }
export const ROUTES: OpenSet = { from: 'routes', says: 'the pattern of a route, never a path' }
export const RELEASE: OpenSet = { from: 'release', says: 'the version in package.json' }
export const BUNDLE: OpenSet = { from: 'bundle', says: 'SHA-256 of the bundle in force' }

export const KINDS: OpenSet = {
  from: 'kinds',
  says: 'a kind of data of docs/data.md; all indexes are one kind',
}

export { RISKS, VERDICTS }

const CODES = Object.keys(ERRORS) as ErrorCode[]
export const PROBLEMS: readonly ErrorCode[] = CODES

const SUCCESSES = ['200', '201', '204', '302', '303', '304']
const REFUSALS = new Set(CODES.map((code) => String(ERRORS[code].status)))
/** All statuses of answers. */
export const STATUSES: readonly string[] = [...SUCCESSES, ...REFUSALS, OTHER]

/** Limits that cause refusals: the budgets, and the disk. */
export const BUDGETS_AND_DISK = [...BUDGET_NAMES, 'disk'] as const

/** Reasons for which the tiles of a tenant stop. */
export const TILES_STOPS = STOPS
/** Why records that left the store cannot be read: their place is away, or has others. */
export const TILES_UNREADABLE = UNREADABLE

/** Ends of connections beyond a bound (docs/capacity.md#budgets). */
export const SHED_CONNECTIONS = ['ended', 'refused'] as const
export type ShedConnection = (typeof SHED_CONNECTIONS)[number]

export const METHODS = ['GET', 'POST', 'DELETE', OTHER] as const

/** Reasons for rejections: a rule, no matching rule, or a code that replaces a rule's id. */
export const REJECTION_REASONS = [
  'rule',
  'unmatched',
  'unknown_tool',
  'tool_not_permitted',
  'no_policy',
  'engine_error',
  'engine_mismatch',
  'frozen',
  OTHER,
] as const

/** Ends of a review. `uncollected`: approved, but no agent collected it in time. */
export const REVIEW_ENDS = [
  'approved',
  'rejected',
  'changes_requested',
  'expired',
  'uncollected',
  'frozen',
] as const

/** States in which an agent withdraws a call. */
export const WITHDRAWN_FROM = ['pending_review', 'changes_requested', 'approved'] as const

/** Reasons why an approval was void when the agent collected it. */
export const REVOCATIONS = ['policy_changed', 'reviewer_removed', 'store_changed', 'frozen', OTHER] as const

export const SIGN_IN_RESULTS: readonly ('ok' | 'refused' | SignInProblem)[] = [
  'ok',
  'refused',
  ...(Object.keys(SIGN_IN_PROBLEMS) as SignInProblem[]),
]

/** The class of an answer, or the reason why no answer arrived. */
export const DELIVERY_CODES = [
  '1xx',
  '2xx',
  '3xx',
  '4xx',
  '5xx',
  'refused_url',
  'refused_address',
  'no_address',
  'tls',
  'timeout',
  'connection',
  'protocol',
  'chat',
  OTHER,
] as const

export const CHAT_RESULTS = ['counted', 'refused', 'unknown', 'ask', 'foreign', 'unanswered'] as const
export type ChatResult = (typeof CHAT_RESULTS)[number]
export const CHAT_MESSAGES = ['post', 'rewrite'] as const

export const STORE_OPERATIONS = [
  'commit',
  'get',
  'range',
  'count',
  'charged',
  'disclosures',
  'events',
  'first_event',
  'epoch',
  'claim_due',
] as const
