import type { JsonObject } from '../contract/json.ts'
import { onAbort } from '@countersign/sdk/runtime'
import type { Id } from './message.ts'
import type { ServerAnswer } from './server-message.ts'

/** The proxy's own requests to the server. */
export interface Questions {
  /**
   * Sends a request. Rejects when `deadline` aborts, when the server ends, and when it answers with an error, whose
   * reason is the cause.
   */
  ask(method: string, params: JsonObject, deadline: AbortSignal): Promise<JsonObject>
  /** Returns true for an answer to the proxy, even a late one. The client must not see such an answer. */
  answered(answer: ServerAnswer): boolean
  /** Rejects all open and later requests. */
  end(why: string): void
}

export function createQuestions(send: (message: JsonObject) => void): Questions {
  const open = new Map<Id, (result: JsonObject | Error) => void>()
  // no id of the client has this prefix
  const prefix = `countersign-${crypto.randomUUID()}-`
  let count = 0
  let ended: string | undefined
  return {
    ask: (method, params, deadline) =>
      new Promise((resolve, reject) => {
        if (ended !== undefined) return reject(new Error(ended))
        if (deadline.aborted) return reject(asError(deadline.reason))
        const id = `${prefix}${++count}`
        const forget = onAbort(deadline, () => settle(asError(deadline.reason)))
        const settle = (result: JsonObject | Error): void => {
          forget()
          open.delete(id)
          if (result instanceof Error) reject(result)
          else resolve(result)
        }
        open.set(id, settle)
        send({ jsonrpc: '2.0', id, method, params })
      }),
    answered: ({ id, result, why }) => {
      open.get(id)?.(result ?? new Error('the server answered with an error', { cause: why }))
      return typeof id === 'string' && id.startsWith(prefix)
    },
    end: (why) => {
      ended = why
      for (const settle of open.values()) settle(new Error(why))
    },
  }
}

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)))
