import type { ThreadChange } from '../src/contract/reviewer.ts'
import { checkComponent } from './documented.ts'
import { type Reviewer } from './gateway-fixture.ts'
import { until } from './until.ts'

export interface Message {
  /** The id of the record. */
  readonly id: number
  /** The value of Last-Event-ID with which a reader reconnects. */
  readonly place: string
  readonly event: string
  readonly data: Partial<ThreadChange>
}

/** A reader of the stream, as a browser is one. */
export class Listener {
  readonly messages: Message[] = []
  comments = 0
  ended = false
  status = 0
  headers = new Headers()
  readonly #controller = new AbortController()

  static async open(who: Reviewer, after?: number | string): Promise<Listener> {
    const listener = new Listener()
    const headers = {
      ...who.credentials(),
      ...(after === undefined ? {} : { 'last-event-id': String(after) }),
    }
    const { signal } = listener.#controller
    const response = await fetch(`${who.url}/api/review/stream`, { headers, signal })
    listener.status = response.status
    listener.headers = response.headers
    void listener.#read(response)
      .catch(() => undefined)
      .finally(() => (listener.ended = true))
    return listener
  }

  async #read({ body }: Response): Promise<void> {
    let text = ''
    const decoder = new TextDecoder()
    for await (const chunk of body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true })
      const parts = text.split('\n\n')
      text = parts.pop() ?? ''
      for (const part of parts) this.#take(part)
    }
  }

  #take(part: string): void {
    if (part.startsWith(':')) this.comments += 1
    const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(part)?.[1] ?? ''
    if (part.includes('data:'))
      this.messages.push({
        id: Number.parseInt(field('id'), 10),
        place: field('id'),
        event: field('event'),
        data: JSON.parse(field('data')) as Partial<ThreadChange>,
      })
  }

  async first(event: string, thread?: string): Promise<Message> {
    const wanted = (one: Message): boolean =>
      one.event === event && (thread === undefined || one.data.thread?.thread_id === thread)
    await until(() => this.messages.some(wanted))
    const found = this.messages.find(wanted) as Message
    if (event === 'thread') checkComponent('ThreadChange', found.data)
    return found
  }

  about(thread: string): (string | undefined)[] {
    return this.messages.filter(({ data }) => data.thread?.thread_id === thread).map(({ data }) => data.type)
  }

  close(): void {
    this.#controller.abort()
  }
}
