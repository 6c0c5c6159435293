import type { JsonObject } from '../contract/json.ts'
import type { Id, ServerAnswer } from './message.ts'

/** What the proxy asks the server itself. */
export interface Questions {
  ask(method: string, params: JsonObject): Promise<JsonObject>
  /** Whether it is an answer to one of these: no client hears of it. */
  answered(answer: ServerAnswer): boolean
  end(why: string): void
}

const PATIENCE_MS = 10_000

export function createQuestions(send: (message: JsonObject) => void): Questions {
  const open = new Map<Id, (result: JsonObject | Error) => void>()
  // no client has such ids: its own are told apart by them
  const own = crypto.randomUUID()
  let count = 0
  return {
    ask: (method, params) =>
      new Promise((resolve, reject) => {
        const id = `countersign-${own}-${++count}`
        const timer = setTimeout(() => settle(new Error('there was no answer in time')), PATIENCE_MS)
        const settle = (result: JsonObject | Error): void => {
          clearTimeout(timer)
          open.delete(id)
          if (result instanceof Error) reject(result)
          else resolve(result)
        }
        open.set(id, settle)
        send({ jsonrpc: '2.0', id, method, params })
      }),
    answered: ({ id, result }) => {
      const settle = open.get(id)
      settle?.(result ?? new Error('the server answered with an error'))
      return settle !== undefined
    },
    end: (why) => {
      for (const settle of open.values()) settle(new Error(why))
    },
  }
}
