import type { Risk, Verdict } from '../../domain/decision.ts'
import type { EvidenceRecord } from '../../gateway/core/event-record.ts'
import type { Exemplar } from './cells.ts'
import type { Instruments, LabelsOf } from './instruments.ts'
import { OTHER, REJECTION_REASONS } from '../metrics/labels.ts'
import { traceOf } from '../tracing/trace.ts'

/** What is kept of the records beside their counts. */
export interface EvidenceContext {
  /** Fired shadow rules since start, by rule id. */
  readonly shadowCounts: Map<string, number>
  /** The last record that became durable. */
  last: EvidenceRecord | undefined
}

/** What decisions and revisions say of themselves. */
interface DecisionDetails {
  readonly verdict?: Verdict
  readonly risk?: Risk
  readonly by?: readonly string[]
  readonly rules?: readonly string[]
  readonly shadow?: readonly string[]
  readonly shadow_outcome?: { readonly verdict: Verdict }
  readonly unknown?: readonly string[]
  readonly traceparent?: string
}

const NO_LABELS = {}

/** What became evidence is what is counted: the two cannot disagree. */
export function countEvidence(
  instruments: Instruments,
  record: EvidenceRecord,
  context: EvidenceContext,
): void {
  instruments.count('evidenceRecords', NO_LABELS)
  context.last = record
  const decision = DECISIONS[record.type]
  if (decision !== undefined) {
    countDecision(instruments, record, { decision, context })
    return
  }
  if (record.type === 'review.revised') countRules(instruments, detailsOf(record), context)
  COUNTED[record.type]?.(instruments, record)
  countEnd(instruments, record)
}

const DECISIONS: Readonly<Partial<Record<EvidenceRecord['type'], Verdict>>> = {
  'decision.allowed': 'allow',
  'decision.rejected': 'reject',
  'review.pending': 'review',
}

const detailsOf = ({ details }: EvidenceRecord): DecisionDetails => (details ?? NO_LABELS) as DecisionDetails

function countDecision(
  instruments: Instruments,
  record: EvidenceRecord,
  { decision, context }: { readonly decision: Verdict; readonly context: EvidenceContext },
): void {
  const details = detailsOf(record)
  const { risk = 'low', by = [], traceparent } = details
  instruments.count('evaluations', { decision, risk, tool: record.tool ?? OTHER }, traceOf(traceparent))
  if (decision === 'reject') instruments.count('rejections', { reason: reasonOf(by) })
  countRules(instruments, details, context)
}

/** A code that stands where the ids of rules would, or that there were rules. */
function reasonOf(by: readonly string[]): (typeof REJECTION_REASONS)[number] {
  return REJECTION_REASONS.find((reason) => reason !== 'rule' && by.includes(reason)) ?? 'rule'
}

function countRules(
  instruments: Instruments,
  { verdict, rules = [], shadow = [], shadow_outcome, unknown = [] }: DecisionDetails,
  { shadowCounts }: EvidenceContext,
): void {
  if (verdict !== undefined && shadow_outcome !== undefined && shadow_outcome.verdict !== verdict)
    instruments.count('shadowChanges', { decision: verdict, shadow_decision: shadow_outcome.verdict })
  for (const rule of rules) instruments.count('ruleMatches', { rule, mode: 'enforced' })
  for (const rule of shadow) {
    instruments.count('ruleMatches', { rule, mode: 'shadow' })
    shadowCounts.set(rule, (shadowCounts.get(rule) ?? 0) + 1)
  }
  for (const rule of unknown) instruments.count('ruleUnknown', { rule })
}

type Counting = (instruments: Instruments, record: EvidenceRecord) => void

const COUNTED: Readonly<Record<string, Counting>> = {
  'vote.cast': (instruments, record) =>
    instruments.count('votes', {
      decision: textOf(record, 'decision') as LabelsOf<'votes'>['decision'],
      via: textOf(record, 'via') as LabelsOf<'votes'>['via'],
    }),
  'token.minted': (instruments) => instruments.count('tokensMinted', {}),
  'approval.revoked': (instruments, record) =>
    instruments.count('revocations', {
      reason: textOf(record, 'code') as LabelsOf<'revocations'>['reason'],
    }),
  'review.withdrawn': (instruments, record) =>
    instruments.count('withdrawals', { was: textOf(record, 'was') as LabelsOf<'withdrawals'>['was'] }),
  'review.reminded': (instruments) => instruments.count('announcements', { kind: 'reminder' }),
  'review.escalated': (instruments) => instruments.count('announcements', { kind: 'escalation' }),
  'session.opened': (instruments, record) =>
    instruments.count('signIns', {
      via: textOf(record, 'via') as LabelsOf<'signIns'>['via'],
      result: 'ok',
    }),
}

const ENDS: Readonly<Record<string, LabelsOf<'reviewSeconds'>['verdict']>> = {
  'review.approved': 'approved',
  'review.rejected': 'rejected',
  'review.changes_requested': 'changes_requested',
  'review.expired': 'expired',
  'review.frozen': 'frozen',
}

function countEnd(instruments: Instruments, record: EvidenceRecord): void {
  const verdict = ENDS[record.type]
  const waited = record.details?.['waited_ms']
  if (verdict === undefined || typeof waited !== 'number') return
  const end = verdict === 'expired' && record.details?.['was'] === 'approved' ? 'uncollected' : verdict
  instruments.observe(
    'reviewSeconds',
    { verdict: end, risk: textOf(record, 'risk') as Risk },
    waited / 1000,
    threadOf(record),
  )
}

const threadOf = ({ thread_id }: EvidenceRecord): Exemplar | undefined =>
  thread_id === undefined ? undefined : { thread_id }

function textOf(record: EvidenceRecord, member: string): string {
  const value = record.details?.[member]
  return typeof value === 'string' ? value : OTHER
}
