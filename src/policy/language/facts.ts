import type { Call, ToolContract } from '../evaluate/snapshot.ts'
import type { LocalTime } from './time.ts'

/** What a condition may read: the trusted facts of one call. */
export interface Facts {
  readonly call: Call
  readonly tool: ToolContract
  readonly clock: (at: number) => LocalTime
}
