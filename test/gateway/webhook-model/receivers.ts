import type { ServerResponse } from 'node:http'
import type { Dice } from '../../random.ts'
import type { Receiver } from '../../webhooks/receiver.ts'
import type { Hit, Reply } from './model.ts'

/** A receiver's behaviour towards deliveries. */
export const MOODS = [
  'fine',
  'redirects',
  'refuses',
  'breaks',
  'is busy',
  'is gone',
  'cuts off',
  'never ends',
  'hangs',
  'is slow',
] as const
export type Mood = (typeof MOODS)[number]

const FINE = [200, 201, 204, 299]
const REFUSALS = [400, 401, 404, 409, 499]
const BREAKS = [500, 502, 504]
const WISHES_SECONDS = [0, 3, 7, 120, 3_600, 90_000, 99_999_999]

/** One destination's receiver, with its deliveries and its replies. */
export class Ear {
  readonly receiver: Receiver
  readonly #dice: Dice
  mood: Mood = 'fine'

  constructor(receiver: Receiver, dice: Dice, heard: (hit: Pick<Hit, 'got' | 'reply'>) => void) {
    this.receiver = receiver
    this.#dice = dice
    receiver.got.length = 0
    receiver.answer = (got, response) => heard({ got, reply: this.#reply(response) })
  }

  #reply(response: ServerResponse): Reply {
    const acts: Readonly<Record<Mood, () => Reply>> = {
      fine: () => answered(response, this.#one(FINE)),
      redirects: () =>
        answered(response, this.#one([301, 302, 303, 307, 308]), { location: this.receiver.url }),
      refuses: () => answered(response, this.#one(REFUSALS)),
      breaks: () => answered(response, this.#one(BREAKS)),
      'is busy': () => this.#busy(response),
      'is gone': () => answered(response, 410),
      'cuts off': () => {
        response.destroy()
        return {}
      },
      'never ends': () => {
        // the status alone is the answer
        response.writeHead(200, { 'content-length': '100' }).write('ok')
        return { status: 200 }
      },
      hangs: () => ({}),
      'is slow': () => {
        // the head of the response never ends
        response.socket?.write('HTTP/1.1 200 OK\r\nx-slow: ')
        return {}
      },
    }
    return acts[this.mood]()
  }

  #busy(response: ServerResponse): Reply {
    const seconds = this.#one(WISHES_SECONDS)
    const status = this.#one([429, 503])
    const reply = answered(response, status, { 'retry-after': String(seconds) })
    return { ...reply, retryAfterMs: seconds * 1_000 }
  }

  #one<T>(list: readonly T[]): T {
    return this.#dice.one(list) as T
  }
}

function answered(response: ServerResponse, status: number, headers: Record<string, string> = {}): Reply {
  response.writeHead(status, headers).end()
  return { status }
}
