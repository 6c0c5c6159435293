import { expect } from 'vitest'
import type { ThreadChange, ThreadList, ThreadSummary } from '../../../src/contract/reviewer.ts'
import { type Answer, type Reviewer } from '../../gateway-fixture.ts'
import { until } from '../../until.ts'
import { Listener } from '../../stream-listener.ts'

/** A reviewer who knows of threads only what the stream says. */
export class Follower {
  readonly numbers: number[] = []
  readonly #threads = new Map<string, ThreadSummary>()
  readonly #who: Reviewer
  #listener: Listener | undefined
  #taken = 0

  constructor(who: Reviewer) {
    this.#who = who
  }

  async open(): Promise<void> {
    this.#listener = await Listener.open(this.#who, this.numbers.at(-1))
    this.#taken = 0
    await this.#listener.first('hello')
  }

  /** Hears everything up to the number. */
  async hear(number: number): Promise<void> {
    await until(() => this.#take() >= number)
  }

  /**
   * Compares the summaries of the stream with a fresh list.
   * It ignores members that time or the directory changes without a message.
   */
  async compare(now: number): Promise<void> {
    const fresh = await this.#all()
    expect([...this.#threads.keys()].sort()).toEqual(fresh.map(({ thread_id }) => thread_id).sort())
    for (const one of fresh) expect(lasting(this.#threads.get(one.thread_id), now)).toEqual(lasting(one, now))
  }

  close(): void {
    this.#listener?.close()
  }

  #take(): number {
    const messages = this.#listener?.messages ?? []
    for (const { id, event, data } of messages.slice(this.#taken)) {
      expect(['hello', 'thread']).toContain(event)
      if (event !== 'thread') continue
      const { thread } = data as ThreadChange
      this.numbers.push(id)
      this.#threads.set(thread.thread_id, thread)
    }
    this.#taken = messages.length
    return this.numbers.at(-1) ?? 0
  }

  async #all(): Promise<ThreadSummary[]> {
    const found: ThreadSummary[] = []
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const more: Record<string, string> = cursor === '' ? {} : { cursor }
      const page: Answer<ThreadList> = await this.#who.list({ limit: '100', ...more })
      found.push(...page.body.threads)
      cursor = page.body.next_cursor
    }
    return found
  }
}

/** Opens the stream at a number that does not exist yet: of another store, or of another tenant. */
export async function startsAfresh(who: Reviewer, number: number): Promise<void> {
  const listener = await Listener.open(who, number)
  await listener.first('reset')
  listener.close()
}

function lasting(summary: ThreadSummary | undefined, now: number): unknown {
  const { mine: _, escalated_to: __, approvals, claim, ...more } = summary ?? expect.fail()
  // a poll of the agent is no event
  const { asked_at: ___, asks_every_ms: ____, ...rest } = more
  const holds = claim !== undefined && Date.parse(claim.expires_at) > now
  return { ...rest, required: approvals.required, claim: holds ? claim.reviewer : undefined }
}
