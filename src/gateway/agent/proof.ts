import type { Decision } from '../../contract/agent.ts'
import { composeCredential, hashCredential, SECRET_BYTES } from '../../domain/credential.ts'
import type { Approval, Thread } from '../../domain/thread.ts'
import type { ApprovalToken } from '../../domain/token.ts'
import type { Guard, Write } from '../../store/store.ts'
import type { KnownFreezes } from '../core/caches.ts'
import { type Caller, keyGuard } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { aboutThread, isoTime } from '../core/event-record.ts'
import { purgeAt } from '../core/expiry-index.ts'
import { put, read, revisionId, unchanged, type Versioned } from '../core/records.ts'
import type { Plan } from '../core/transact.ts'
import { lapseOf, STORE_CHANGED } from '../thread/approval.ts'
import { raise } from '../thread/wait-again.ts'
import { revoked } from '../thread/close-thread.ts'
import { decisionOn } from './own-thread.ts'

/* The proof of an approval: the first one (poll.ts), and each one that replaces a lost one (reissue.ts). */

/** An approval that was judged again. */
interface Judged {
  readonly guards: readonly Guard[]
  /** The epoch of the store. */
  readonly epoch: string
  /** The end of the thread, or of its approval, when policy or its voters no longer support it. */
  readonly ended?: Plan<Decision>
}

/** Judges an approval again before its proof is handed out. @throws GatewayError `not_ready` */
export async function judgeAgain(
  deps: Deps,
  caller: Caller,
  { thread, freezes }: { readonly thread: Versioned<Thread>; readonly freezes: KnownFreezes },
): Promise<Judged> {
  const { value } = thread
  const { thread_id, revision, tenant, approval } = value
  const approved = await read(deps.store, tenant, 'revision', revisionId(thread_id, revision))
  if (approved === undefined) throw new TypeError('a thread without its revision')
  const epoch = await deps.store.epoch(tenant)
  const lapse =
    approval?.epoch === epoch
      ? await lapseOf(deps, value, { revision: approved.value, freezes })
      : STORE_CHANGED
  const guards = [unchanged('thread', thread_id, thread), keyGuard(caller), { epoch }]
  const plan = lapse ? revoked(value, lapse, deps.store.now()) : await raise(deps, thread, freezes)
  if (plan === undefined) return { guards, epoch }
  return { guards, epoch, ended: { ...plan, answer: decisionOn(plan.answer, deps.store.now()), guards } }
}

/** A new proof, and the writes that keep its hash. */
interface Drawn {
  readonly answer: Pick<Decision, 'approval_token' | 'token_expires_at'>
  readonly known: Required<Pick<Approval, 'token_hash' | 'token_expires_at'>>
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
}

/** Draws a proof of the thread's approval, bound to the caller's key. */
export function drawProof(
  deps: Deps,
  caller: Caller,
  thread: Thread,
  life: Pick<ApprovalToken, 'expires_at' | 'epoch'>,
): Drawn {
  const raw = composeCredential('approval', deps.random(SECRET_BYTES))
  const token_hash = hashCredential(raw)
  const token: ApprovalToken = {
    agent: thread.agent,
    payload_digest: thread.payload_digest,
    key_hash: caller.keyHash,
    ...(thread.action_hash === undefined ? {} : { action_hash: thread.action_hash }),
    ...aboutThread(thread),
    ...life,
  }
  return {
    answer: { approval_token: raw, token_expires_at: isoTime(life.expires_at) },
    known: { token_hash, token_expires_at: life.expires_at },
    guards: [unchanged('token', token_hash, undefined)],
    writes: [put('token', token_hash, token), purgeAt('token', token_hash, life.expires_at)],
  }
}
