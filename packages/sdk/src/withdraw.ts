import type { Client, WithdrawOptions } from './client.ts'
import { NotExecuted } from './errors.ts'
import { withRetry } from './retry.ts'
import type { Decision } from './types.ts'

/** Maximum time that a caller that gave up waits for the gateway, ms. */
const WITHDRAWAL_MS = 1_500
const REASON = 'the agent gave up the call'

/**
 * Withdraws a call that its caller gave up, at once or after a grace. Then votes no longer count, and the approval is
 * void. Never fails, and has no effect when the thread has ended or the gateway does not answer.
 *
 * @param answers the gateway's answers to the call, some of which may still arrive
 */
export async function giveUp(
  client: Client,
  answers: readonly Promise<Decision>[],
  thread_id: string | undefined,
  options?: WithdrawOptions,
): Promise<void> {
  const known = thread_id === undefined ? answers.map(threadIn) : [Promise.resolve(thread_id)]
  await withdrawAll(client, known, options)
}

/** Withdraws the thread that an earlier call with this id left open, because no later call continues an ended id. */
export async function withdrawLeft(
  client: Client,
  { thread }: { readonly thread: string | undefined },
  error: unknown,
): Promise<void> {
  // if the error names a thread, the gate has already handled it
  const isOver = !(error instanceof NotExecuted) || error.thread_id !== undefined
  if (thread !== undefined && !isOver) await withdrawAll(client, [Promise.resolve(thread)])
}

/**
 * Tells the gateway that the caller stopped waiting for a held call. The gateway withdraws the call after the grace,
 * unless the same call is made again before. Never fails.
 */
export async function leaveWaiting(
  client: Client,
  thread: string | undefined,
  graceSeconds: number,
): Promise<void> {
  if (thread !== undefined) await withdrawAll(client, [Promise.resolve(thread)], { graceSeconds })
}

export async function withdrawAll(
  client: Client,
  threads: readonly Promise<string | undefined>[],
  options: WithdrawOptions = { reason: REASON },
): Promise<void> {
  const until = performance.now() + WITHDRAWAL_MS
  const withdrawing = threads.map(async (thread) => {
    const thread_id = await thread
    if (thread_id === undefined) return
    await withRetry(() => client.withdraw(thread_id, options), { until }).catch(() => undefined)
  })
  let timer: ReturnType<typeof setTimeout> | undefined
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, WITHDRAWAL_MS)
  })
  await Promise.race([Promise.all(withdrawing), limit]).finally(() => clearTimeout(timer))
}

const threadIn = (answer: Promise<Decision>): Promise<string | undefined> =>
  answer.then(
    ({ thread_id }) => thread_id,
    () => undefined,
  )
