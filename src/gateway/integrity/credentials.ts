import { LIMITS } from '../../contract/limits.ts'
import type { Approval, Thread } from '../../domain/thread.ts'
import type { ApprovalToken } from '../../domain/token.ts'
import type { Fault } from '../../store/archive.ts'
import { CLOCK_TOLERANCE_MS } from './evidence.ts'
import { fault, type PartCheck } from './part.ts'
import {
  type HolderRecord,
  holderId,
  type KeyRecord,
  type Records,
  type RecordType,
} from '../core/records.ts'

/**
 * Checks keys and their holders (G06), proofs and their approvals (G04, G05). Entries of holders arrive before keys,
 * and threads before proofs.
 */
export function checkCredentials(now: () => number): PartCheck {
  const keys = new Map<string, string>()
  const approvals = new Map<string, Approved>()
  return {
    record(type, id, value) {
      if (type === 'holder') for (const hash of hashesOf(value as HolderRecord)) keys.set(hash, id)
      if (type === 'key') return keyFaults(keys, id, value as KeyRecord)
      if (type === 'thread') noteApproval(approvals, value as Thread)
      return type === 'token' ? tokenFaults(approvals, id, value as ApprovalToken) : []
    },
    end: () => [
      ...[...keys.values()].map((holder) =>
        fault('G06', `holder \`${holder}\` names a key that does not exist`),
      ),
      ...[...approvals.values()]
        .filter(({ approval }) => !isForgotten(approval, now()))
        .map(({ thread_id }) => fault('G04', `the token of thread \`${thread_id}\` does not exist`)),
    ],
  }
}

function hashesOf({ key_hash, previous }: HolderRecord): string[] {
  return previous === undefined ? [key_hash] : [key_hash, previous.key_hash]
}

interface Approved {
  readonly thread_id: string
  readonly status: Thread['status']
  readonly approval: Approval
}

function keyFaults(keys: Map<string, string>, hash: string, { kind, id }: KeyRecord): Fault[] {
  const holder = keys.get(hash)
  keys.delete(hash)
  if (holder === holderId(kind, id)) return []
  return [fault('G06', `key \`${hash}\` is not the current key of ${kind} \`${id}\``)]
}

function noteApproval(approvals: Map<string, Approved>, { thread_id, status, approval }: Thread): void {
  if (approval?.token_hash !== undefined) approvals.set(approval.token_hash, { thread_id, status, approval })
}

/** The faults of a proof. An approval that became invalid after minting ends its thread but keeps the proof's hash. */
function tokenFaults(approvals: Map<string, Approved>, hash: string, token: ApprovalToken): Fault[] {
  const named = approvals.get(hash)
  approvals.delete(hash)
  if (named === undefined || named.thread_id !== token.thread_id)
    return [fault('G04', `token \`${hash}\` is not the token of thread \`${token.thread_id}\``)]
  const { status, approval } = named
  if (status !== 'approved' && (status !== 'rejected' || token.used_at !== undefined))
    return [fault('G04', `token \`${hash}\` belongs to thread \`${token.thread_id}\`, which is ${status}`)]
  if (token.used_at === approval.redeemed_at) return []
  const [used, redeemed] = [token.used_at ?? 'never', approval.redeemed_at ?? 'never']
  return [fault('G05', `token \`${hash}\` was used ${used}, but its approval was redeemed ${redeemed}`)]
}

/** True when enough time has passed since its expiry for the timer to delete the proof. The approval remains. */
function isForgotten({ token_expires_at = 0 }: Approval, now: number): boolean {
  return token_expires_at + LIMITS.TOKEN_RETENTION_MS <= now
}

/** Checks that no time in a record is in the future (S12). */
export function checkTimes(now: () => number): PartCheck {
  return {
    record(type, id, value) {
      const latest = Math.max(0, ...timesIn(type, value))
      if (latest <= now() + CLOCK_TOLERANCE_MS) return []
      return [fault('S12', `${type} \`${id}\` names the time ${latest}, which is in the future`)]
    },
  }
}

const TIMES: { readonly [K in RecordType]?: (record: Records[K]) => readonly (number | undefined)[] } = {
  thread: ({ created_at, submitted_at, votes, approval }) => [
    created_at,
    submitted_at,
    ...votes.map((vote) => vote.at),
    approval?.at,
    approval?.collected_at,
    approval?.redeemed_at,
  ],
  key: ({ issued_at }) => [issued_at],
  session: ({ opened_at }) => [opened_at],
  seen: ({ at }) => [at],
  link: ({ issued_at }) => [issued_at],
  checkpoint: ({ at }) => [at],
  freezes: ({ freezes }) => freezes.flatMap(({ at, lifted_at }) => [at, lifted_at]),
  token: ({ used_at }) => [used_at],
  answer: ({ stored_at }) => [stored_at],
}

function timesIn(type: string, value: unknown): number[] {
  if (!Object.hasOwn(TIMES, type)) return []
  const times = TIMES[type as keyof typeof TIMES] as (record: unknown) => readonly (number | undefined)[]
  return times(value).filter((time) => time !== undefined)
}
