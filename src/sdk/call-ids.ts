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
  /** The thread that an earlier call of this id left open, or that this call waits in. */
  readonly thread: string | undefined
  /** The call waits for reviewers in `thread`. */
  hold(thread: string | undefined): void
  /** The call is not decided: the next one of the same goes on with it. */
  leave(): void
  /** The call is decided, or is not wanted any more. */
  end(): void
}

/** Keeps unfinished calls beyond this process. A `key` says which calls are the same. */
export interface KeptCalls {
  take(key: string): string | undefined
  threadOf(key: string, id: string): string | undefined
  hold(key: string, id: string, thread?: string): void
  /** Whether it is kept. */
  leave(key: string, id: string, thread?: string): boolean
  end(key: string, id: string): void
}

/** Bounded: the oldest are forgotten, and then people are asked again. */
const MOST_UNFINISHED = 1_000

interface Left {
  readonly id: string
  readonly thread: string | undefined
}

/** @param kept in memory only where it is left out, and while it cannot keep anything */
export function createCallIds(kept?: KeptCalls): CallIds {
  const unfinished = new Map<string, Left[]>()
  let count = 0
  const forgetOldest = (): void => {
    for (const [key, left] of unfinished) {
      if (count <= MOST_UNFINISHED) return
      count -= left.length
      unfinished.delete(key)
    }
  }
  const takeLeft = (key: string, own: string | undefined): Left | undefined => {
    const left = unfinished.get(key)
    if (left === undefined) return undefined
    const preferred = left.findIndex(({ id }) => id === own)
    const [taken] = left.splice(Math.max(preferred, 0), 1)
    count--
    if (left.length === 0) unfinished.delete(key)
    return taken
  }
  const takeKept = (key: string): Left | undefined => {
    const id = kept?.take(key)
    return id === undefined ? undefined : { id, thread: kept?.threadOf(key, id) }
  }
  return {
    take: async (call, own) => {
      const key = await sha256(canonicalJson(call))
      const taken = takeLeft(key, own) ?? takeKept(key)
      const id = taken?.id ?? own ?? crypto.randomUUID()
      let thread = taken?.thread
      const leave = (): void => {
        if (kept?.leave(key, id, thread) === true) return
        const left = unfinished.get(key) ?? []
        if (left.some((one) => one.id === id)) return
        unfinished.set(key, [...left, { id, thread }])
        count++
        forgetOldest()
      }
      return {
        id,
        get thread() {
          return thread
        },
        hold: (held) => {
          thread = held ?? thread
          kept?.hold(key, id, thread)
        },
        leave,
        end: () => kept?.end(key, id),
      }
    },
  }
}
