import { canonicalJson, sha256 } from '../sdk/index.ts'
import type { ToolCall } from './message.ts'

/**
 * Which call goes on where an earlier one stopped: a model whose call nobody decided in time calls again with the same arguments, as it is told to, and must not
 * ask people twice. Each id is in use by one call at a time; calls that come together are different ones.
 */
export interface CallIds {
  /** An id that an unfinished call of the same left, or a new one. */
  take(call: ToolCall, client: string | undefined): Promise<CallId>
}

export interface CallId {
  readonly id: string
  /** The call is not decided: the next one of the same goes on with it. */
  leave(): void
}

/** Bounded: the oldest are forgotten, and then people are asked again. */
const MOST_UNFINISHED = 1_000

export function createCallIds(): CallIds {
  const unfinished = new Map<string, string[]>()
  let count = 0
  const forgetOldest = (): void => {
    for (const [key, ids] of unfinished) {
      if (count <= MOST_UNFINISHED) return
      count -= ids.length
      unfinished.delete(key)
    }
  }
  return {
    take: async ({ name, args }, client = '') => {
      // the gateway takes an id for the same call only while what is said of the call is the same, and the client's name is
      const key = await sha256(canonicalJson({ name, args, client }))
      const left = unfinished.get(key)
      const known = left?.shift()
      if (known !== undefined) count--
      if (left?.length === 0) unfinished.delete(key)
      const id = known ?? crypto.randomUUID()
      const leave = (): void => {
        unfinished.set(key, [...(unfinished.get(key) ?? []), id])
        count++
        forgetOldest()
      }
      return { id, leave }
    },
  }
}
