import { otherFormat } from '../../domain/format.ts'
import { encodeMember, lineOf, type PartitionKeys } from './keys.ts'
import type { Commit, CommitResult, Guard, RecordName, Write } from '../store.ts'

/** The arguments and the answer of the commit script in scripts.ts. */
export interface CommitArguments {
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

export type CommitReply =
  | (CommitResult & { readonly ok: false })
  /** `epoch` is empty unless `askEpoch` was set. */
  | { readonly ok: true; readonly numbers: readonly number[]; readonly epoch: string }

/** Lua has no portable spelling of infinity. */
const FOREVER = 1e300

export interface CommitOptions {
  /** Requests the partition's epoch in the answer. */
  readonly askEpoch: boolean
  /** ms since 1970; the server's time when absent. */
  readonly time?: number
}

export function commitArguments(
  names: PartitionKeys,
  commit: Commit,
  options: CommitOptions,
): CommitArguments {
  const keys = new KeyList(names)
  const args = [
    String(Math.max(-FOREVER, Math.min(FOREVER, commit.deadline))),
    commit.commitId,
    encodeMember(commit.commitId),
    options.askEpoch ? '1' : '0',
    names.channel,
    String(commit.guards.length),
    String(commit.events.length),
    options.time === undefined ? '' : String(options.time),
  ]
  for (const guard of commit.guards) pushGuard(args, keys, guard)
  // the stream refuses a malformed event before anything is written
  for (const [i, event] of commit.events.entries()) pushEvent(args, keys, event, commit.disclosures?.[i])
  for (const write of commit.writes) args.push(...writeArguments(keys, commit, write))
  return { keys: keys.all, args }
}

/** @throws Error of one sentence for a partition of another format */
export function readCommitReply(reply: unknown, { events }: Pick<Commit, 'events'>): CommitReply {
  const [status, ...rest] = reply as [string, ...unknown[]]
  if (status === 'late') return { ok: false, reason: 'late' }
  if (status === 'guard') return { ok: false, reason: 'guard', failed: rest.map(Number) }
  if (status === 'format') throw new Error(otherFormat('the store', rest[0] === '' ? null : String(rest[0])))
  const first = Number(rest[0])
  return {
    ok: true,
    numbers: Array.from({ length: events.length }, (_, i) => first + i),
    epoch: String(rest[1]),
  }
}

/** The position of the events in the keys. */
const EVENTS = '2'

/** The keys in the order of the script, each once. */
class KeyList {
  readonly names: PartitionKeys
  readonly all: string[]
  readonly #positions = new Map<string, string>()

  constructor(names: PartitionKeys) {
    this.names = names
    this.all = [names.head, names.events]
  }

  position(key: string): string {
    let position = this.#positions.get(key)
    if (position === undefined) {
      position = String(this.all.push(key))
      this.#positions.set(key, position)
    }
    return position
  }
}

function pushEvent(args: string[], keys: KeyList, event: string, disclosures: string | undefined): void {
  args.push('e', event)
  if (disclosures !== undefined) args.push('o', keys.position(keys.names.disclosures), disclosures)
}

function pushGuard(args: string[], keys: KeyList, guard: Guard): void {
  if ('epoch' in guard) {
    args.push('e', guard.epoch)
  } else if ('limit' in guard) {
    const key = keys.position(keys.names.limit(guard.limit))
    const amounts = [String(guard.windowMs), String(guard.amount), String(guard.atMost)]
    if (guard.share === undefined) args.push('l', key, ...amounts)
    else args.push('s', key, ...amounts, keys.position(keys.names.limit(guard.share)))
  } else {
    const key = keys.position(keys.names.record(guard.type, guard.id))
    if (guard.commitId === undefined) args.push('r', key, String(guard.revision))
    else args.push('w', key, lineOf(guard.revision, guard.commitId))
  }
}

function writeArguments(keys: KeyList, commit: Commit, write: Write): string[] {
  const { names } = keys
  switch (write.op) {
    case 'put':
      return ['p', ...recordArguments(keys, write), write.body]
    case 'delete':
      return ['d', ...recordArguments(keys, write)]
    case 'index': {
      const key = keys.position(names.index(write.index))
      if (write.to === undefined) return ['x', key, encodeMember(write.member)]
      return ['i', key, String(write.to), encodeMember(write.member)]
    }
    case 'drop':
      return ['b', keys.position(names.index(write.index)), String(write.upTo)]
    case 'mark':
      return ['m', keys.position(names.index(write.index))]
    case 'forget':
      return ['f', keys.position(names.disclosures), String(write.number)]
    case 'trim':
      return ['t', EVENTS, String(write.before)]
    case 'charge': {
      const { limit, windowMs, at, amount } = write
      const guarded = commit.guards.some(
        (one) => 'limit' in one && one.limit === limit && one.windowMs === windowMs,
      )
      const key = keys.position(names.limit(limit))
      return ['c', key, String(windowMs), String(at), String(amount), guarded ? '1' : '0']
    }
  }
}

const recordArguments = (keys: KeyList, { type, id }: RecordName): string[] => [
  keys.position(keys.names.record(type, id)),
  keys.names.recordChannel(type, id),
]
