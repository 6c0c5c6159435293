import type { Decision, DecisionRequest } from '../../contract/agent.ts'
import { GatewayError } from '../../contract/errors.ts'
import type { JsonValue } from '../../contract/json.ts'
import { LIMITS } from '../../contract/limits.ts'
import { digestOf } from '../../domain/digest.ts'
import type { Write } from '../../store/store.ts'
import { budgetGuard, spend } from './budgets.ts'
import type { Deps } from './deps.ts'
import type { Caller } from './caller.ts'
import { purgeAt } from './expiry-index.ts'
import { answerId, put, read, type StoredAnswer, unchanged, type Versioned } from './records.ts'
import type { Plan } from './transact.ts'

/** One request under an Idempotency-Key (docs/agent-api.md): scoped to agent and task. */
export interface Attempted {
  readonly id: string
  readonly agent: string
  readonly digest: string
  readonly known: Versioned<StoredAnswer> | undefined
}

/** Conditions under which an answer was given. */
export interface Under {
  /** Revision of the bundle. */
  readonly bundle: string
  /** Epoch of the tenant's freezes. */
  readonly freezeEpoch: number
}

/** The digest of a request body, which shows whether a key is used again with another body. */
export const digestOfRequest = (body: DecisionRequest): string => digestOf(body as unknown as JsonValue)

/**
 * Looks up the request.
 *
 * @throws GatewayError `idempotency_mismatch` when the key was used with another body
 */
export async function attempted(
  deps: Deps,
  caller: Caller,
  { taskId, key, digest }: { taskId: string; key: string; digest: string },
): Promise<Attempted> {
  const id = answerId(caller.id, taskId, key)
  const known = await read(deps.store, caller.tenant, 'answer', id)
  if (known && isFresh(known.value, deps.store.now()) && known.value.request_digest !== digest) {
    throw new GatewayError('idempotency_mismatch', 'this Idempotency-Key was first used with another body')
  }
  return { id, agent: caller.id, digest, known }
}

/**
 * The first answer, when the gateway may repeat it. Agents act on an allow immediately, so it is repeated only for a
 * short time and under the same bundle and freeze epoch. All other answers are repeated for a day.
 */
export function replayable(attempt: Attempted, now: number, under: Under): Decision | undefined {
  const stored = attempt.known?.value
  if (!stored || !isFresh(stored, now) || stored.request_digest !== attempt.digest) return undefined
  if (stored.answer.status !== 'allow') return stored.answer
  const young = now - stored.stored_at <= LIMITS.IDEMPOTENT_ALLOW_MS
  const same = stored.policy_revision === under.bundle && (stored.freeze_epoch ?? 0) === under.freezeEpoch
  return young && same ? stored.answer : undefined
}

/** Extends the plan to store its answer, in the same commit. */
export function remembering(
  deps: Deps,
  plan: Plan<Decision>,
  attempt: Attempted,
  { bundle, freezeEpoch }: Under,
): Plan<Decision> {
  const now = deps.store.now()
  const value: StoredAnswer = {
    request_digest: attempt.digest,
    answer: plan.answer,
    stored_at: now,
    policy_revision: bundle,
    ...(freezeEpoch === 0 ? {} : { freeze_epoch: freezeEpoch }),
  }
  const spending = { budget: 'idempotency_records', by: attempt.agent } as const
  const writes: Write[] = [
    put('answer', attempt.id, value),
    purgeAt('answer', attempt.id, now + LIMITS.IDEMPOTENCY_MS),
  ]
  return {
    ...plan,
    guards: [
      ...(plan.guards ?? []),
      unchanged('answer', attempt.id, attempt.known),
      budgetGuard(deps, spending),
    ],
    writes: [...(plan.writes ?? []), ...writes, ...spend(spending, now)],
  }
}

function isFresh(stored: StoredAnswer, now: number): boolean {
  return now - stored.stored_at < LIMITS.IDEMPOTENCY_MS
}
