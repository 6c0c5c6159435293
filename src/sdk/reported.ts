import type { Client } from './client.ts'
import { NotExecuted } from './outcome.ts'

export interface Reporter {
  readonly client: Client
  readonly tool: string
  readonly taskId: string
}

/** Reports what happened. The report is evidence, not permission: when it fails the result still stands. */
export async function reported<T>(
  run: Reporter,
  action: { thread_id?: string },
  execute: () => Promise<T> | T,
): Promise<T> {
  const report = async (event_type: string, event_summary: string): Promise<void> => {
    const payload = {
      tool_name: run.tool,
      ...(action.thread_id === undefined ? {} : { thread_id: action.thread_id }),
    }
    await run.client.record(run.taskId, { event_type, event_summary, payload }).catch(() => undefined)
  }
  try {
    const value = await execute()
    await report('tool.execution.completed', `${run.tool} completed`)
    return value
  } catch (error) {
    await report('tool.execution.failed', `${run.tool} failed`)
    // of a guarded call within this one, which ran
    if (error instanceof NotExecuted)
      throw new Error(`${run.tool} ran, and failed: ${error.message}`, { cause: error })
    throw error
  }
}
