import { type JsonObject, type JsonValue, isObject } from '../../contract/json.ts'
import { RISKS, VERDICTS, type Risk, type Verdict } from '../../domain/decision.ts'
import { commitmentOf, isDisclosures } from '../../domain/disclosure.ts'
import { canonicalJson, leafHash } from '../../domain/digest.ts'
import { NO_BUNDLE } from '../../domain/evidence.ts'

/** An exported evidence record that a replay uses (docs/evidence.md). */
export type RecordedEvent = Decided | Ended

/** The policy decision on a call's first action or on a revision. */
export interface Decided {
  readonly kind: 'decided'
  readonly number: number
  readonly at: number
  readonly tenant: string
  readonly agent: string
  readonly task: string
  readonly tool: string
  /** Present when the call was held. */
  readonly thread?: string
  /** True for a revision of a held call. Reviewers decide a revision even when policy would now allow it. */
  readonly isRevision: boolean
  readonly verdict: Verdict
  readonly risk: Risk
  readonly claimedRisk?: Risk
  /** The revision of the bundle that made the decision. */
  readonly policy: string
  readonly reads: readonly RecordedRead[]
  /** SHA-256 of the template of the heading; absent without one. */
  readonly template?: string
}

/** A recorded field: its value, or a note that it was missing. */
export interface RecordedRead {
  readonly field: string
  readonly state: 'value' | 'missing'
  readonly value?: JsonValue
}

/** The approval of a thread, or the end of that approval. */
export interface Ended {
  /** `used`: the agent read the approval without a proof, so no later record releases the approval. */
  readonly kind: 'approved' | 'used' | 'released' | 'resumed'
  readonly number: number
  readonly at: number
  readonly tenant: string
  readonly thread: string
}

export interface Export {
  /** The events, in the order of the records. */
  readonly events: Iterable<RecordedEvent> | AsyncIterable<RecordedEvent>
  /**
   * Tenants whose records begin with number 1, so no earlier record is absent. The set grows while records are read.
   */
  readonly fromTheStart: ReadonlySet<string>
}

/** The error for a file that is not an intact export. */
export class ExportError extends Error {
  override readonly name = 'ExportError'
}

/**
 * Reads an export (NDJSON) record by record, because an export may exceed memory. Recomputes every leaf hash, and
 * checks that the numbers of a tenant have no gap.
 *
 * @throws ExportError, during iteration, with the number of the bad line
 */
export function readExport(lines: AsyncIterable<{ readonly bytes: Buffer }>): Export {
  const fromTheStart = new Set<string>()
  return { events: eventsIn(lines, fromTheStart), fromTheStart }
}

async function* eventsIn(
  lines: AsyncIterable<{ readonly bytes: Buffer }>,
  fromTheStart: Set<string>,
): AsyncGenerator<RecordedEvent> {
  const last = new Map<string, number>()
  let at = 0
  for await (const { bytes } of lines) {
    at++
    const line = bytes.toString('utf8')
    if (line.trim() === '') continue
    if (LOST.test(line)) {
      last.clear()
      continue
    }
    const { number, record, members } = readLine(line, at)
    const tenant = textOf(record, 'tenant')
    const before = last.get(tenant)
    if (before === undefined && number === 1) fromTheStart.add(tenant)
    if (before !== undefined && number !== before + 1)
      throw new ExportError(`line ${at}: record ${number} of tenant \`${tenant}\` follows ${before}`)
    last.set(tenant, number)
    const event = eventOf(number, record, members)
    if (event) yield event
  }
}

/** A record whose record file is lost. */
const LOST = /^\{"number":\d+,"lost":"/

interface Line {
  readonly number: number
  readonly record: JsonObject
  /** The disclosed members; empty when the export has none of this record. */
  readonly members: JsonObject
}

function readLine(line: string, at: number): Line {
  let parsed: unknown
  try {
    parsed = JSON.parse(line)
  } catch {
    throw new ExportError(`line ${at} is not JSON`)
  }
  const { number, leaf_hash, record, disclosures } = (parsed ?? {}) as Record<string, JsonValue | undefined>
  const foreign = new ExportError(`line ${at} is not a line of \`countersign evidence export\``)
  if (!Number.isSafeInteger(number) || typeof leaf_hash !== 'string' || !isObject(record)) throw foreign
  if (hashOf(record) !== leaf_hash)
    throw new ExportError(`line ${at}: record ${Number(number)} does not match its recorded hash`)
  if (!isWhole(record)) throw foreign
  if (disclosures === undefined) return { number: Number(number), record, members: {} }
  if (!isDisclosures(disclosures) || commitmentOf(disclosures) !== detailsOf(record)['commitment'])
    throw new ExportError(
      `line ${at}: the disclosures of record ${Number(number)} do not match its commitment`,
    )
  return { number: Number(number), record, members: disclosures.members }
}

/** True for a record with all members that the functions below read. */
function isWhole(record: JsonObject): boolean {
  const { actor, details = {} } = record
  if (!isObject(actor) || !isObject(details) || textOf(record, 'tenant') === '') return false
  const { missing = [] } = details
  const areNames = Array.isArray(missing) && missing.every((one) => typeof one === 'string')
  return areNames && !Number.isNaN(Date.parse(textOf(record, 'at')))
}

/**
 * Returns undefined for a record without canonical text, such as a record with a lone surrogate, which was never
 * hashed.
 */
function hashOf(record: JsonObject): string | undefined {
  try {
    return leafHash(canonicalJson(record))
  } catch {
    return undefined
  }
}

const DECISIONS = [
  'decision.allowed',
  'decision.approved',
  'decision.rejected',
  'review.pending',
  'review.revised',
]

function eventOf(number: number, record: JsonObject, members: JsonObject): RecordedEvent | undefined {
  const type = textOf(record, 'type')
  const common = { number, at: Date.parse(textOf(record, 'at')), tenant: textOf(record, 'tenant') }
  const thread = textOf(record, 'thread_id')
  if (DECISIONS.includes(type)) return decidedOf(record, members, { ...common, thread })
  if (type === 'review.approved') return { kind: 'approved', ...common, thread }
  if (type === 'approval.collected') return { kind: 'used', ...common, thread }
  if (type === 'review.resumed') return { kind: 'resumed', ...common, thread }
  const unused = GIVEN_BACK.includes(type) || endedUnused(record, type)
  return unused ? { kind: 'released', ...common, thread } : undefined
}

/** Records that reverse the charges of an approval. */
const GIVEN_BACK = ['approval.revoked', 'approval.released', 'review.rejected']

const ENDS = ['review.expired', 'review.frozen', 'review.withdrawn']

/** True for an approval that expired, was withdrawn by its agent, or was ended by a freeze. */
function endedUnused(record: JsonObject, type: string): boolean {
  return ENDS.includes(type) && detailsOf(record)['was'] === 'approved'
}

function decidedOf(
  record: JsonObject,
  members: JsonObject,
  common: { readonly number: number; readonly at: number; readonly tenant: string; readonly thread: string },
): Decided | undefined {
  const details = detailsOf(record)
  const verdict = VERDICTS.find((one) => one === details['verdict'])
  const risk = RISKS.find((one) => one === details['risk'])
  const claimedRisk = RISKS.find((one) => one === details['claimed_risk'])
  // Without a bundle, or when the engine failed, policy did not decide.
  if (!verdict || !risk || details['policy'] === NO_BUNDLE || details['fault'] !== undefined) return undefined
  const { thread, ...rest } = common
  const actor = record['actor'] as JsonObject
  return {
    kind: 'decided',
    ...rest,
    agent: textOf(actor, 'id'),
    task: textOf(record, 'task_id'),
    tool: textOf(record, 'tool'),
    verdict,
    risk,
    policy: textOf(details, 'policy'),
    isRevision: textOf(record, 'type') === 'review.revised',
    reads: readsOf(details, members),
    ...(thread === '' ? {} : { thread }),
    ...(typeof details['template'] === 'string' && { template: details['template'] }),
    ...(claimedRisk && { claimedRisk }),
  }
}

const READS = 'reads.'

/** The recorded fields. A field that is neither disclosed nor missing is unknown. */
function readsOf(details: JsonObject, members: JsonObject): RecordedRead[] {
  const { missing = [] } = details
  const values = Object.entries(members).flatMap(([name, value]): RecordedRead[] =>
    name.startsWith(READS) ? [{ field: name.slice(READS.length), state: 'value', value }] : [],
  )
  return [...values, ...(missing as readonly string[]).map((field) => ({ field, state: 'missing' }) as const)]
}

function detailsOf(record: JsonObject): JsonObject {
  return (record['details'] ?? {}) as JsonObject
}

function textOf(object: JsonObject, member: string): string {
  const value = object[member]
  return typeof value === 'string' ? value : ''
}
