import type { JsonValue } from '../../contract/json.ts'
import type { Thread } from '../../domain/thread.ts'
import { type LegalHold, legalHoldKind } from '../../domain/legal-hold.ts'
import { Replay, type ThreadStory } from '../../evidence/replay.ts'
import type { Fault } from '../../store/archive.ts'
import type { Records } from '../core/records.ts'
import { fault, type PartCheck } from './part.ts'

/**
 * Checks that the sequence of evidence is possible (G14), and that threads (G15) and legal holds (G17) in the store
 * match it. Stops at a missing or unreadable record, because all later records would seem wrong.
 */
export function checkStory(): PartCheck {
  const replay = new Replay()
  const seen = new Set<string>()
  let last = 0
  let isWhole = true
  /** Threads that were over, and were opened until this time, may have been deleted. */
  let forgotten = -Infinity
  let held: readonly LegalHold[] = []
  return {
    event({ number, body }) {
      const record = number === last + 1 ? parse(body) : undefined
      if (record === undefined) isWhole = false
      if (record === undefined || !isWhole) return []
      last = number
      const broken = replay.take(record)
      return broken === undefined ? [] : [fault('G14', `evidence ${number} cannot have happened: ${broken}`)]
    },
    record(type, id, value) {
      if (type === 'forgotten') forgotten = (value as Records['forgotten']).opened_until
      if (type === 'legal_holds') held = (value as Records['legal_holds']).holds
      if (type !== 'thread' || !isWhole) return []
      seen.add(id)
      return compare(id, value as Thread, replay.thread(id))
    },
    end() {
      if (!isWhole) return []
      const missing = replay.end()
      const lost = replay
        .threads()
        .filter(
          (id) => !seen.has(id) && (replay.mustStay(id) || !mayBeForgotten(replay.thread(id), forgotten)),
        )
      return [
        ...(missing === undefined ? [] : [fault('G14', missing)]),
        ...lost.map((id) =>
          replay.mustStay(id)
            ? fault('G17', `thread \`${id}\` is under a legal hold, but does not exist`)
            : fault('G15', `evidence describes thread \`${id}\`, which does not exist`),
        ),
        ...compareLegalHolds(held, replay.legalHolds()),
      ]
    },
  }
}

function compareLegalHolds(held: readonly LegalHold[], should: readonly LegalHold[]): Fault[] {
  const [is, expected] = [held, should].map((some) => new Set(some.map(nameOfHold)))
  const missing = [...(expected ?? [])].filter((one) => is?.has(one) === false)
  const extra = [...(is ?? [])].filter((one) => expected?.has(one) === false)
  return [
    ...missing.map((one) =>
      fault('G17', `evidence says that ${one} is under a legal hold, but the store does not`),
    ),
    ...extra.map((one) => fault('G17', `the store has a legal hold of ${one}, but evidence does not`)),
  ]
}

function nameOfHold(hold: LegalHold): string {
  const { thread_id, task_id, agent } = hold
  const kind = legalHoldKind(hold)
  return kind === 'tenant' ? 'the tenant' : `${kind} \`${thread_id ?? task_id ?? agent}\``
}

const mayBeForgotten = (story: ThreadStory | undefined, until: number): boolean =>
  story?.over === true && story.opened_at <= until

/** Undefined for invalid JSON. */
function parse(body: string): JsonValue | undefined {
  try {
    return JSON.parse(body) as JsonValue
  } catch {
    return undefined
  }
}

/** Compares a thread with its records. Another check reports records that violate a law. */
function compare(
  id: string,
  { status, revision, approval }: Thread,
  story: ThreadStory | undefined,
): Fault[] {
  if (story === undefined) return [fault('G15', `no evidence describes thread \`${id}\``)]
  if (story.broken) return []
  const is = wordsFor({ status, revision, redeemed: approval?.redeemed_at !== undefined })
  const should = wordsFor(story)
  return is === should
    ? []
    : [fault('G15', `thread \`${id}\` is ${is}, but evidence says that it is ${should}`)]
}

function wordsFor({
  status,
  revision,
  redeemed,
}: Pick<ThreadStory, 'status' | 'revision' | 'redeemed'>): string {
  return `${status}${redeemed ? ' and redeemed' : ''} at revision ${revision}`
}
