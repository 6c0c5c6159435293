import type { Call, ToolContract } from './snapshot.ts'
import type { LocalTime } from './time.ts'

/** The facts of one call that a condition may read. */
export interface Facts {
  readonly call: Call
  readonly tool: ToolContract
  readonly clock: (at: number) => LocalTime
}
