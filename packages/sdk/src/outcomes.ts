import type { Client } from './client.ts'
import { withRetry } from './retry.ts'
import type { OutcomeReport } from './types.ts'

/** Reports how calls ended, in the background. */
export interface Outcomes {
  report(taskId: string, report: OutcomeReport): void
  /** Waits for the reports so far, of one task or of all. Never fails, because a report changes no result. */
  settled(taskId?: string): Promise<void>
}

/** The reports of a task arrive in order. A report without an answer is sent once more. */
export function createOutcomes(client: Client): Outcomes {
  const last = new Map<string, Promise<void>>()
  return {
    report: (taskId, report) => {
      const send = (): Promise<unknown> => withRetry(() => client.report(taskId, report), { tries: 2 })
      const sent = (last.get(taskId) ?? Promise.resolve()).then(send).then(
        () => undefined,
        () => undefined,
      )
      last.set(taskId, sent)
      void sent.then(() => last.get(taskId) === sent && last.delete(taskId))
    },
    settled: async (taskId) => {
      await (taskId === undefined ? Promise.all(last.values()) : last.get(taskId))
    },
  }
}
