import { attempt } from './attempt.ts'
import type { CallId } from './call-ids.ts'
import type { Client } from './client.ts'
import { NotExecuted } from './outcome.ts'
import type { Decision } from './types.ts'

/** A caller that gives up waits no longer than that for the gateway. */
const PATIENCE_MS = 1_500
const REASON = 'the agent gave up the call'

/**
 * Withdraws a call that its caller gave up: no vote counts any more, and its approval is void. It never fails, and changes nothing where the thread is over or the
 * gateway does not answer.
 */
export async function withdrawIfAborted(
  client: Client,
  answers: readonly Promise<Decision>[],
  error: unknown,
): Promise<void> {
  if (!(error instanceof NotExecuted) || error.outcome !== 'aborted') return
  const known = error.thread_id === undefined ? answers.map(threadIn) : [Promise.resolve(error.thread_id)]
  await withdrawAll(client, known)
}

/** The same for the thread that an earlier call of this id left open: no later call continues an id that ended. */
export async function withdrawLeft(client: Client, { thread }: CallId, error: unknown): Promise<void> {
  // where the error names a thread, the gate has dealt with it
  const isOver = !(error instanceof NotExecuted) || error.thread_id !== undefined
  if (thread !== undefined && !isOver) await withdrawAll(client, [Promise.resolve(thread)])
}

async function withdrawAll(client: Client, threads: readonly Promise<string | undefined>[]): Promise<void> {
  const until = performance.now() + PATIENCE_MS
  const withdrawing = threads.map(async (thread) => {
    const thread_id = await thread
    if (thread_id === undefined) return
    await attempt(() => client.withdraw(thread_id, { reason: REASON }), { until }).catch(() => undefined)
  })
  let timer: ReturnType<typeof setTimeout> | undefined
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, PATIENCE_MS)
  })
  await Promise.race([Promise.all(withdrawing), patience]).finally(() => clearTimeout(timer))
}

const threadIn = (answer: Promise<Decision>): Promise<string | undefined> =>
  answer.then(
    ({ thread_id }) => thread_id,
    () => undefined,
  )
