import type { ChatAnswer, ChatClick } from '../../src/domain/chat.ts'
import { openSlack, type SlackApp, type SlackOptions } from '../../src/slack/app.ts'
import { type FakeSlack, SLACK } from '../chat/fake-slack.ts'

export interface Opened {
  readonly app: SlackApp
  readonly clicks: ChatClick[]
  readonly results: string[]
  readonly troubles: string[]
  /** Every wait that was asked for, ms. Waits take no time, and move the clock. */
  readonly slept: number[]
  tick(ms: number): void
  connected(): boolean
}

/** Opens the application against the fake server, with a clock of its own. */
export function opened(
  slack: Pick<FakeSlack, 'url'>,
  onClick: (click: ChatClick) => Promise<ChatAnswer> = () => Promise.resolve(COUNTED),
  transport: Pick<SlackOptions, 'fetch' | 'open'> = {
    fetch: (url, init) => fetch(url, init),
    open: () => Promise.resolve(undefined),
  },
): Opened {
  const [clicks, results, troubles, slept]: [ChatClick[], string[], string[], number[]] = [[], [], [], []]
  let [now, connected] = [1_000, false]
  const app = openSlack({
    appToken: SLACK.appToken,
    botToken: SLACK.botToken,
    ...transport,
    server: slack.url,
    clock: {
      now: () => now,
      async sleep(ms, signal) {
        slept.push(ms)
        const end = now + ms
        await new Promise((resolve) => setImmediate(resolve))
        now = Math.max(now, end)
        signal?.throwIfAborted()
      },
    },
    onClick(click) {
      clicks.push(click)
      return onClick(click)
    },
    onAnswer: (result) => void results.push(result),
    onSent: () => undefined,
    onConnected: (is) => void (connected = is),
    onTrouble: (why) => void troubles.push(why),
  })
  const tick = (ms: number): void => void (now += ms)
  return { app, clicks, results, troubles, slept, tick, connected: () => connected }
}

export const COUNTED: ChatAnswer = { kind: 'counted', text: 'Your vote counted: approve.' }
