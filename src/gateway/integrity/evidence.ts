import type { EventEntry, MemberEntry } from '../../store/archive.ts'
import { fault, type PartCheck } from './part.ts'
import type { EvidenceRecord } from '../core/event-record.ts'
import { INDEX } from '../core/indexes.ts'

/** Maximum time by which a record may lie in the future, because gateways only estimate the store's clock. */
export const CLOCK_TOLERANCE_MS = 1_000

/** The indexes that refer to evidence. */
const MARKS = [INDEX.evidence(''), 'rejected/']

/**
 * Checks that evidence is JSON of its tenant (G08) and not in the future (S12), and that marks of threads refer to it
 * (S17).
 */
export function checkEvidence(partition: string, now: () => number): PartCheck {
  const firsts = new FirstEvents()
  return {
    lost: ({ last }) => firsts.skip(last),
    event(entry) {
      firsts.note(entry)
      const record = parse(entry.body)
      if (record?.tenant !== partition)
        return [fault('G08', `evidence ${entry.number} is not a record of this tenant`)]
      const passed = Date.parse(record.at ?? '') <= now() + CLOCK_TOLERANCE_MS
      if (passed) return []
      return [fault('S12', `evidence ${entry.number} has the time \`${record.at}\`, which is in the future`)]
    },
    member: (entry) =>
      MARKS.some((family) => entry.index.startsWith(family)) && !firsts.isFirst(entry)
        ? [
            fault(
              'S17',
              `a mark in \`${entry.index}\` points at ${entry.score}, which is not the start of its commit`,
            ),
          ]
        : [],
  }
}

function parse(body: string): Partial<EvidenceRecord> | undefined {
  try {
    return JSON.parse(body) as Partial<EvidenceRecord>
  } catch {
    return undefined
  }
}

/**
 * The commit that begins at each event, where it is known: tiles have no commit ids. Four bytes for each event: a hash
 * of the commit's id if the event begins a commit, otherwise 0.
 */
class FirstEvents {
  #hashes = new Uint32Array(1_024)
  #length = 0
  #commitId: string | undefined
  /** The last record without a commit id. */
  #unknown = 0

  /** Continues after records that are lost, of which nothing is known. */
  skip(last: number): void {
    while (this.#length < last) this.note({ kind: 'event', number: this.#length + 1, commitId: '', body: '' })
  }

  note({ number, commitId }: EventEntry): void {
    const begins = commitId !== this.#commitId
    this.#commitId = commitId
    if (commitId === '') this.#unknown = number
    if (number !== this.#length + 1) return
    if (this.#length === this.#hashes.length) {
      const longer = new Uint32Array(2 * this.#hashes.length)
      longer.set(this.#hashes)
      this.#hashes = longer
    }
    this.#hashes[this.#length++] = begins ? hashOf(commitId) : 0
  }

  isFirst({ score, member }: MemberEntry): boolean {
    if (score < 1 || score > this.#length) return false
    return score <= this.#unknown || this.#hashes[score - 1] === hashOf(member)
  }
}

/** FNV-1a; never 0. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0 || 1
}
