import { Worker } from 'node:worker_threads'
import { createOutbound, type Outbound, type OutboundOptions, type Sending, type Sent } from './outbound.ts'

/*
 * Outgoing connections in a separate thread. Connections, handshakes and answers of receivers take no time from the
 * event loop that decides calls, and the thread collects its own garbage. The guard is the same. In this thread, only
 * `post` uses the guard. docs/decisions/0015.
 */

/** A message to the thread. */
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
  /** Text that parseAllowed can read. */
  readonly allowed: string
}

export interface OutboundThreadOptions extends Omit<OutboundOptions, 'named'> {
  /** The built delivery-thread.js. The URL of the thread's module. Default: next to this module. */
  readonly url?: URL
  /** Receives the reason when a thread exits unexpectedly or is ended. */
  readonly onError: (error: unknown) => void
}

/**
 * The heap of the thread, MB. Only an answer that has passed all other limits can exceed this size. In this case, the
 * thread ends, and another thread starts.
 */
const HEAP = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 }
const STOPPED: Sent = { kind: 'failed', code: 'stopped' }
/** Time after a deadline until a silent thread counts as stuck and is ended, ms. */
const STUCK_MS = 2_000
const DIED: Sent = { kind: 'failed', code: 'connection' }

/**
 * Creates the thread's handle. The first `post` starts the thread, and the first `post` after the end of a thread
 * starts another. Deliveries in progress at that moment count as failed, because their end is unknown. The worker
 * retries such deliveries at growing intervals, so a delivery that crashes threads causes only rare crashes.
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
  /** A stuck thread that is being ended. */
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
        // no caller waits for this delivery, regardless of the thread's state
        this.#settle(id, STOPPED)
      }
      signal?.addEventListener('abort', stop, { once: true })
      const stuck = setTimeout(() => this.#end(worker), sending.deadlineMs + STUCK_MS)
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
    // deliveries must not keep a stopping gateway alive
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
