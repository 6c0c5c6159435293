import type { Risk, Verdict } from '../domain/decision.ts'
import type { EvidenceRecord } from '../gateway/evidence.ts'
import type { Exemplar } from './cells.ts'
import type { Instruments, LabelsOf } from './instruments.ts'
import { OTHER, REJECTION_REASONS } from './labels.ts'
import { traceOf } from './trace.ts'

export interface EvidenceContext {
  readonly sources: {
    /** Is this a registered tool? All others fold into `_other`. */
    knowsTool(name: string): boolean
    /** ms since 1970. */
    now(): number
  }
  readonly shadowCounts: Map<string, number>
  /** When the last record became durable, ms since 1970; 0 before the first. */
  lastRecordMs: number
}

/** What became evidence is what is counted: the two cannot disagree. */
export function countEvidence(
  instruments: Instruments,
  record: EvidenceRecord,
  context: EvidenceContext,
): void {
  const { sources, shadowCounts } = context
  instruments.count('evidenceRecords', {})
  context.lastRecordMs = sources.now()
  const decision = DECISIONS[record.type]
  if (decision !== undefined) countDecision(instruments, record, { decision, sources })
  countRules(instruments, record, shadowCounts)
  COUNTED[record.type]?.(instruments, record)
  countEnd(instruments, record)
}

const DECISIONS: Readonly<Record<string, Verdict>> = {
  'decision.allowed': 'allow',
  'decision.rejected': 'reject',
  'review.pending': 'review',
}

function countDecision(
  instruments: Instruments,
  record: EvidenceRecord,
  { decision, sources }: { readonly decision: Verdict; readonly sources: EvidenceContext['sources'] },
): void {
  const tool = record.tool !== undefined && sources.knowsTool(record.tool) ? record.tool : OTHER
  const traceparent = record.details?.['traceparent'] as string | undefined
  instruments.count('evaluations', { decision, risk: riskOf(record), tool }, traceOf(traceparent))
  if (decision === 'reject') instruments.count('rejections', { reason: reasonOf(record) })
}

/** A code that stands where the ids of rules would, or that there were rules. */
function reasonOf(record: EvidenceRecord): (typeof REJECTION_REASONS)[number] {
  const by = idsOf(record, 'by')
  return REJECTION_REASONS.find((reason) => reason !== 'rule' && by.includes(reason)) ?? 'rule'
}

function countRules(
  instruments: Instruments,
  record: EvidenceRecord,
  shadowCounts: Map<string, number>,
): void {
  const { verdict, shadow_outcome: shadow } = (record.details ?? {}) as {
    readonly verdict?: Verdict
    readonly shadow_outcome?: { readonly verdict: Verdict }
  }
  if (verdict !== undefined && shadow !== undefined && shadow.verdict !== verdict)
    instruments.count('shadowChanges', { decision: verdict, shadow_decision: shadow.verdict })
  for (const rule of idsOf(record, 'rules')) instruments.count('ruleMatches', { rule, mode: 'enforced' })
  for (const rule of idsOf(record, 'shadow')) {
    instruments.count('ruleMatches', { rule, mode: 'shadow' })
    shadowCounts.set(rule, (shadowCounts.get(rule) ?? 0) + 1)
  }
  for (const rule of idsOf(record, 'unknown')) instruments.count('ruleUnknown', { rule })
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
    { verdict: end, risk: riskOf(record) },
    waited / 1000,
    threadOf(record),
  )
}

const threadOf = ({ thread_id }: EvidenceRecord): Exemplar | undefined =>
  thread_id === undefined ? undefined : { thread_id }

const riskOf = (record: EvidenceRecord): Risk => textOf(record, 'risk') as Risk

function textOf(record: EvidenceRecord, member: string): string {
  const value = record.details?.[member]
  return typeof value === 'string' ? value : OTHER
}

function idsOf(record: EvidenceRecord, member: string): readonly string[] {
  const value = record.details?.[member]
  return Array.isArray(value) ? (value as string[]) : []
}
