import { canonicalJson, sha256 } from './canonical.ts'
import type { Json } from './types.ts'

/**
 * Which call goes on where an earlier one stopped: a model whose call nobody decided in time calls again with the same arguments, as it is told to, and must not
 * ask people twice. Each id is in use by one call at a time; calls that come together are different ones.
 */
export interface CallIds {
  /**
   * An id that an unfinished call of the same left, or a new one.
   *
   * @param call all that makes it the same: the gateway takes an id for the same call only while what is said of the call is the same, too
   * @param own what the runtime calls this call: preferred among what was left, and the new one when nothing was
   */
  take(call: Json, own?: string): Promise<CallId>
}

export interface CallId {
  readonly id: string
  /** The call waits for people. */
  hold(): void
  /** The call is not decided: the next one of the same goes on with it. */
  leave(): void
  /** The call is decided, or is not wanted any more. */
  end(): void
}

/** Keeps unfinished calls beyond this process. A `key` says which calls are the same. */
export interface KeptCalls {
  take(key: string): string | undefined
  hold(key: string, id: string): void
  /** Whether it is kept. */
  leave(key: string, id: string): boolean
  end(key: string, id: string): void
}

/** Bounded: the oldest are forgotten, and then people are asked again. */
const MOST_UNFINISHED = 1_000

/** @param kept in memory only where it is left out, and while it cannot keep anything */
export function createCallIds(kept?: KeptCalls): CallIds {
  const unfinished = new Map<string, string[]>()
  let count = 0
  const forgetOldest = (): void => {
    for (const [key, ids] of unfinished) {
      if (count <= MOST_UNFINISHED) return
      count -= ids.length
      unfinished.delete(key)
    }
  }
  const takeLeft = (key: string, own: string | undefined): string | undefined => {
    const left = unfinished.get(key)
    if (left === undefined) return undefined
    const [id] = left.splice(own !== undefined && left.includes(own) ? left.indexOf(own) : 0, 1)
    count--
    if (left.length === 0) unfinished.delete(key)
    return id
  }
  return {
    take: async (call, own) => {
      const key = await sha256(canonicalJson(call))
      const id = takeLeft(key, own) ?? kept?.take(key) ?? own ?? crypto.randomUUID()
      const leave = (): void => {
        if (kept?.leave(key, id) === true) return
        const left = unfinished.get(key) ?? []
        if (left.includes(id)) return
        unfinished.set(key, [...left, id])
        count++
        forgetOldest()
      }
      return { id, hold: () => kept?.hold(key, id), leave, end: () => kept?.end(key, id) }
    },
  }
}
