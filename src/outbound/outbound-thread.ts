import { Worker } from 'node:worker_threads'
import { createOutbound, type Outbound, type OutboundOptions, type Sending, type Sent } from './outbound.ts'

/*
 * The way out, in a thread of its own: connections, handshakes and answers of receivers take no time of the event loop that decides, and what they
 * leave behind is collected elsewhere. The guard is the same; only `post` goes through it here. docs/decisions/0015.
 */

/** What the thread is told. */
export type Asked =
  | {
      readonly kind: 'post'
      readonly id: number
      readonly url: string
      readonly sending: Omit<Sending, 'signal'>
    }
  | { readonly kind: 'stop'; readonly id: number }

export interface Done {
  readonly id: number
  readonly sent: Sent
}

export interface ThreadData extends Omit<OutboundOptions, 'allowed' | 'named'> {
  /** As parseAllowed reads it. */
  readonly allowed: string
}

export interface OutboundThreadOptions extends Omit<OutboundOptions, 'named'> {
  /** The built delivery-thread.js. Default: beside this module. */
  readonly url?: URL
  /** Is told why a thread died, or was ended. */
  readonly onError: (error: unknown) => void
}

/** More than this defeats what bounds an answer: the thread ends, and another begins. */
const HEAP = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 }
const STOPPED: Sent = { kind: 'failed', code: 'stopped' }
/**
 * A thread that has not answered so long after a deadline is stuck, and ended. The time begins when the deadline is noticed: where the whole process stood still,
 * what the thread has answered meanwhile is heard only after the timers.
 */
const STUCK_MS = 2_000
const DIED: Sent = { kind: 'failed', code: 'connection' }

/**
 * The thread is started by the first `post`, and again after it has died. What was under way then has failed: nobody knows how it ended, so it is tried
 * again, at growing distances, and what kills threads does not do so for ever.
 */
export function createOutboundThread(options: OutboundThreadOptions): Outbound {
  const { url, onError, ...guard } = options
  const here = createOutbound(guard)
  const thread = new DeliveryThread(guard, {
    url: url ?? new URL('./delivery-thread.js', import.meta.url),
    onError,
  })
  return {
    refusalOf: (address) => here.refusalOf(address),
    fetch: (address, init) => here.fetch(address, init),
    post: (address, sending) => thread.post(address, sending),
    close() {
      here.close()
      thread.close()
    },
  }
}

type Own = Required<Pick<OutboundThreadOptions, 'url' | 'onError'>>

class DeliveryThread {
  readonly #own: Own
  readonly #data: ThreadData
  readonly #underWay = new Map<number, (sent: Sent) => void>()
  #worker: Worker | undefined
  /** Was stuck, and is being ended. */
  #ending: Worker | undefined
  #last = 0

  constructor({ allowed, ...trust }: Omit<OutboundOptions, 'named'>, own: Own) {
    this.#own = own
    this.#data = { allowed: allowed.map(({ text }) => text).join(','), ...trust }
  }

  post(url: string, { signal, ...sending }: Sending): Promise<Sent> {
    if (signal?.aborted === true) return Promise.resolve(STOPPED)
    const worker = (this.#worker ??= this.#start())
    this.#last += 1
    const id = this.#last
    return new Promise((resolve) => {
      const stop = (): void => {
        worker.postMessage({ kind: 'stop', id } satisfies Asked)
        // whatever has become of the thread, nobody waits for it
        this.#settle(id, STOPPED)
      }
      signal?.addEventListener('abort', stop, { once: true })
      let stuck = setTimeout(() => {
        stuck = setTimeout(() => this.#end(worker), STUCK_MS)
      }, sending.deadlineMs)
      this.#underWay.set(id, (sent) => {
        clearTimeout(stuck)
        signal?.removeEventListener('abort', stop)
        resolve(sent)
      })
      worker.postMessage({ kind: 'post', id, url, sending } satisfies Asked)
    })
  }

  close(): void {
    for (const id of this.#underWay.keys()) this.#settle(id, STOPPED)
    void this.#worker?.terminate()
  }

  #end(stuck: Worker): void {
    if (this.#ending === stuck) return
    this.#ending = stuck
    this.#own.onError(new Error('it did not answer'))
    void stuck.terminate()
  }

  #start(): Worker {
    const worker = new Worker(this.#own.url, {
      workerData: this.#data,
      execArgv: [],
      env: {},
      resourceLimits: HEAP,
    })
    // deliveries keep no gateway alive that wants to end
    worker.unref()
    worker.on('message', ({ id, sent }: Done) => this.#settle(id, sent))
    worker.on('error', (error) => this.#own.onError(error))
    worker.once('exit', () => {
      if (this.#worker === worker) this.#worker = undefined
      for (const id of this.#underWay.keys()) this.#settle(id, DIED)
    })
    return worker
  }

  #settle(id: number, sent: Sent): void {
    const settle = this.#underWay.get(id)
    this.#underWay.delete(id)
    settle?.(sent)
  }
}
