/** `@countersign/sdk/runtime`: what hooks, proxies and adapters of further frameworks need beside the gate. */
import { canonicalJson, sha256 } from './canonical-json.ts'
import type { Json } from './types.ts'

export { onAbort } from './abort.ts'
export { isUndecided, messageOf, refusalFacts, refusalText } from './errors.ts'
export { orAborted, type RetryContext, withRetry } from './retry.ts'
export { withdrawLeft } from './withdraw.ts'

/**
 * Matches a call with an earlier, undecided one. A model whose call was not decided in time calls again with the same arguments, as its refusal asks it to; people
 * must not be asked twice. Each id serves one call at a time; simultaneous calls are different calls.
 */
export interface CallIds {
  /**
   * Returns the id of an equal, unfinished call, or a new one.
   *
   * @param call everything that makes calls equal: the gateway takes an id again only for a call with the same claims
   * @param own the runtime's id of this call: preferred among unfinished ids, and used when there is none
   */
  take(call: Json, own?: string): Promise<CallId>
}

export interface CallId {
  readonly id: string
  /** The thread that an earlier call of this id left open, or that this call waits in. */
  readonly thread: string | undefined
  /** The call waits for reviewers in `thread`. */
  hold(thread: string | undefined): void
  /** The call is not decided: the next equal call resumes it. */
  leave(): void
  /** The call is decided, or the caller does not want it any more. */
  end(): void
}

/** Keeps unfinished calls beyond this process. Equal calls have equal keys. */
export interface KeptCalls {
  take(key: string): string | undefined
  threadOf(key: string, id: string): string | undefined
  hold(key: string, id: string, thread?: string): void
  /** Whether it is kept. */
  leave(key: string, id: string, thread?: string): boolean
  end(key: string, id: string): void
}

/** Beyond it the oldest are forgotten, and people are asked again. */
const MOST_UNFINISHED = 1_000

interface Left {
  readonly id: string
  readonly thread: string | undefined
}

/** @param kept in memory only, when it is absent or cannot keep a call */
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
