import { type ErrorCode, ERRORS } from '../contract/errors.ts'
import { SIGN_IN_PROBLEMS, type SignInProblem } from '../contract/sign-in-problems.ts'
import { RISKS, VERDICTS } from '../domain/decision.ts'
import { BUDGET_NAMES } from '../domain/budget.ts'

/** What the labels of the metrics may hold. Every set is closed, or bounded by its metric's `atMost`. */

/** Names that come with the bundle or with the routes, and are not known before. */
export interface OpenSet {
  readonly from: 'tools' | 'rules' | 'groups' | 'routes' | 'release' | 'bundle'
  /** For docs/metrics.md. */
  readonly says: string
}

export type LabelSet = readonly string[] | OpenSet

export const isOpen = (set: LabelSet): set is OpenSet => !Array.isArray(set)

/** What stands for everything that has no series of its own. */
export const OTHER = '_other'

export const TOOLS: OpenSet = { from: 'tools', says: 'a tool with a contract in the bundle in force' }
export const RULES: OpenSet = { from: 'rules', says: 'the id of a rule or limit of the bundle in force' }
export const GROUPS: OpenSet = { from: 'groups', says: 'a group of reviewers' }
export const ROUTES: OpenSet = { from: 'routes', says: 'the pattern of a route, never a path' }
export const RELEASE: OpenSet = { from: 'release', says: 'the version in package.json' }
export const BUNDLE: OpenSet = { from: 'bundle', says: 'SHA-256 of the bundle in force' }

export { RISKS, VERDICTS }

const CODES = Object.keys(ERRORS) as ErrorCode[]
export const PROBLEMS: readonly ErrorCode[] = CODES

const SUCCESSES = ['200', '201', '204', '302', '303', '304']
const REFUSALS = new Set(CODES.map((code) => String(ERRORS[code].status)))
/** Every status that the gateway gives. */
export const STATUSES: readonly string[] = [...SUCCESSES, ...REFUSALS, OTHER]

/** What is spent: a budget, or the disk. */
export const BUDGETS_AND_DISK = [...BUDGET_NAMES, 'disk'] as const

export const METHODS = ['GET', 'POST', 'DELETE', OTHER] as const

/** Why a call was rejected: by a rule, because none fits, or by one of the codes that stand where a rule's id would. */
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

/** How a review ended. `uncollected`: it was approved, and no agent asked in time. */
export const REVIEW_ENDS = [
  'approved',
  'rejected',
  'changes_requested',
  'expired',
  'uncollected',
  'frozen',
] as const

/** What a call was when its agent withdrew it. */
export const WITHDRAWN_FROM = ['pending_review', 'changes_requested', 'approved'] as const

/** Why an approval no longer held when the agent came for it. */
export const REVOCATIONS = ['policy_changed', 'reviewer_removed', 'store_changed', 'frozen', OTHER] as const

export const SIGN_IN_RESULTS: readonly ('ok' | 'refused' | SignInProblem)[] = [
  'ok',
  'refused',
  ...(Object.keys(SIGN_IN_PROBLEMS) as SignInProblem[]),
]

/** The class of an answer, or why there was none. */
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
  OTHER,
] as const

export const STORE_OPERATIONS = [
  'commit',
  'get',
  'range',
  'count',
  'charged',
  'events',
  'epoch',
  'claim_due',
] as const
