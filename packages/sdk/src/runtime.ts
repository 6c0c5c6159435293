/** `@countersign/sdk/runtime`: parts for hooks, proxies and adapters for other frameworks. */
import { canonicalJson, sha256 } from './canonical-json.ts'
import type { Json } from './types.ts'

export { onAbort } from './abort.ts'
export { isUndecided, messageOf, refusalFacts, refusalText } from './refusal.ts'
export { orAborted, type RetryContext, withRetry } from './retry.ts'
export { leaveWaiting, withdrawLeft } from './withdraw.ts'

/**
 * Matches a call with an earlier, undecided one. After a timeout, the refusal asks the model to repeat the call with
 * the same arguments, and reviewers must not see it twice. Each id serves one call at a time; simultaneous calls are
 * different calls.
 */
export interface CallIds {
  /**
   * Returns the id of an equal, unfinished call, or a new id.
   *
   * @param call all members that make calls equal. The gateway accepts an id again only with the same claims.
   * @param own the runtime's id for this call, which is preferred among unfinished ids and used when there is no such
   * id
   */
  take(call: Json, own?: string): Promise<CallId>
}

export interface CallId {
  readonly id: string
  /** The thread that an earlier call of this id left open, or that this call waits in. */
  readonly thread: string | undefined
  /** Records that the call waits for reviewers in `thread`. */
  hold(thread: string | undefined): void
  /** Records that the call is undecided. The next equal call resumes it. */
  leave(): void
  /** Records that the call is decided, or that the caller no longer wants it. */
  end(): void
}

/** Keeps unfinished calls beyond this process. Equal calls have equal keys. */
export interface KeptCalls {
  take(key: string): string | undefined
  threadOf(key: string, id: string): string | undefined
  hold(key: string, id: string, thread?: string): void
  /** Returns true when the call is kept. */
  leave(key: string, id: string, thread?: string): boolean
  end(key: string, id: string): void
}

/**
 * Maximum number of unfinished calls. Beyond this number, the oldest are dropped, and reviewers see them again when
 * repeated.
 */
const MOST_UNFINISHED = 1_000

interface Left {
  readonly id: string
  readonly thread: string | undefined
}

/** @param kept absent, or unable to keep a call: memory only */
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
