import type {
  Claim,
  LimitGuard,
  Commit,
  CommitResult,
  IndexEntry,
  RangeBounds,
  RecordGuard,
  StoredDisclosures,
  StoredEvent,
  StoredRecord,
} from '../../src/store/store.ts'

/*
 * The store port in its simplest form: the oracle of the differential tests. One partition, in memory, synchronous, no
 * care for speed.
 */
/** A model forgets nothing. */
export const MODEL_EPOCH = 'model'

export class ModelPartition {
  readonly records = new Map<string, StoredRecord>()
  readonly indexes = new Map<string, Map<string, number>>()
  readonly log: StoredEvent[] = []
  first = 1
  readonly beside = new Map<number, string>()
  readonly charges: { readonly limit: string; readonly at: number; readonly amount: number }[] = []

  #hasRoom({ limit, windowMs, amount, atMost, share }: LimitGuard, now: number): boolean {
    const left = atMost - amount - this.charged(limit, windowMs, now)
    return left >= 0 && (share === undefined || this.charged(share, windowMs, now) + amount <= 3 * left)
  }

  commit(commit: Commit, now: number): CommitResult {
    if (now > commit.deadline) return { ok: false, reason: 'late' }
    const failed = commit.guards.flatMap((guard, position) => {
      if ('epoch' in guard) return guard.epoch === MODEL_EPOCH ? [] : [position]
      const holds = 'limit' in guard ? this.#hasRoom(guard, now) : isOf(this.get(guard.type, guard.id), guard)
      return holds ? [] : [position]
    })
    if (failed.length > 0) return { ok: false, reason: 'guard', failed }
    const first = this.log.length + 1
    for (const write of commit.writes) {
      if (write.op === 'mark' && commit.events.length > 0) this.#move(write.index, commit.commitId, first)
      if (write.op === 'put') {
        const revision = (this.get(write.type, write.id)?.revision ?? 0) + 1
        this.records.set(key(write.type, write.id), { body: write.body, revision, commitId: commit.commitId })
      }
      if (write.op === 'delete') this.records.delete(key(write.type, write.id))
      if (write.op === 'index') this.#move(write.index, write.member, write.to)
      if (write.op === 'drop')
        for (const [member, score] of this.indexes.get(write.index) ?? [])
          if (score <= write.upTo) this.#move(write.index, member, undefined)
      if (write.op === 'charge') this.charges.push({ limit: write.limit, at: write.at, amount: write.amount })
    }
    const numbers = commit.events.map((body, i) => {
      const number = this.log.push({ number: this.log.length + 1, body, commitId: commit.commitId })
      const disclosures = commit.disclosures?.[i]
      if (disclosures !== undefined) this.beside.set(number, disclosures)
      return number
    })
    for (const write of commit.writes) {
      if (write.op === 'forget') this.beside.delete(write.number)
      if (write.op === 'trim') this.first = Math.max(this.first, Math.min(write.before, this.log.length))
    }
    return { ok: true, numbers }
  }

  /** In whole 24ths of the window, the oldest in full. */
  charged(limit: string, windowMs: number, now: number): number {
    const width = Math.ceil(windowMs / 24)
    const oldest = Math.floor((now - windowMs) / width)
    return this.charges
      .filter((charge) => charge.limit === limit && Math.floor(charge.at / width) >= oldest)
      .reduce((sum, charge) => sum + charge.amount, 0)
  }

  disclosures(after: number, last: number): StoredDisclosures[] {
    return [...this.beside]
      .filter(([number]) => number > after && number <= last)
      .map(([number, text]) => ({ number, text }))
  }

  get(type: string, id: string): StoredRecord | undefined {
    return this.records.get(key(type, id))
  }

  range(
    index: string,
    { min = -Infinity, max = Infinity, after, reverse, limit }: RangeBounds,
  ): IndexEntry[] {
    const entries = [...(this.indexes.get(index) ?? [])]
      .map(([member, score]) => ({ score, member }))
      .filter(({ score }) => score >= min && score <= max)
      .toSorted(compare)
    if (reverse) entries.reverse()
    return entries
      .filter(
        (entry) => after === undefined || (reverse ? compare(entry, after) < 0 : compare(entry, after) > 0),
      )
      .slice(0, limit)
  }

  events(after: number, limit: number): StoredEvent[] {
    const from = Math.max(after, this.first - 1)
    return this.log.slice(from, from + limit)
  }

  claimDue(index: string, { now, lease, limit }: Claim): IndexEntry[] {
    const due = this.range(index, { max: now, limit })
    for (const { member } of due) this.#move(index, member, now + lease)
    return due
  }

  #move(index: string, member: string, to: number | undefined): void {
    const scores = this.indexes.get(index) ?? new Map<string, number>()
    this.indexes.set(index, scores)
    if (to === undefined) scores.delete(member)
    else scores.set(member, to === 0 ? 0 : to)
  }
}

/** The operator < on strings is code unit order. */
function compare(a: IndexEntry, b: IndexEntry): number {
  return a.score - b.score || (a.member < b.member ? -1 : Number(a.member > b.member))
}

function isOf(record: StoredRecord | undefined, { revision, commitId }: RecordGuard): boolean {
  if ((record?.revision ?? 0) !== revision) return false
  return commitId === undefined || record?.commitId === commitId
}

function key(type: string, id: string): string {
  return JSON.stringify([type, id])
}
