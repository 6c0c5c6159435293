import { idOf, lineOf, objectIn, progressMessage, type ToolCall } from './message.ts'
import type { ServerProgress } from './server-message.ts'

interface ProgressParts {
  readonly toClient: (line: Uint8Array) => void
  /** Time between two progress messages to a client that requests them, ms. */
  readonly progressEveryMs: number
}

export interface Progress {
  begin(message: string): void
  end(): void
  /** Returns true when the proxy has already reported at least this progress of the call. */
  isBehind(said: ServerProgress): boolean
}

/** The step of the proxy's own progress. The step is tiny, so that any progress of the server exceeds it. */
const PROGRESS_STEP = 1 / 1_000_000

/** Reports requested progress while a call is held. Many clients that receive no progress give up after a minute. */
export function progressOf({ toClient, progressEveryMs }: ProgressParts, { rest }: ToolCall): Progress {
  const token = idOf(objectIn(rest['_meta'])['progressToken'])
  let timer: ReturnType<typeof setInterval> | undefined
  let count = 0
  const reached = (): number => count * PROGRESS_STEP
  return {
    begin: (message) => {
      if (token === undefined) return
      const say = (): void => {
        count += 1
        toClient(lineOf(progressMessage(token, reached(), message)))
      }
      say()
      timer = setInterval(say, progressEveryMs)
    },
    end: () => clearInterval(timer),
    isBehind: (said) => count > 0 && said.token === token && said.progress <= reached(),
  }
}
