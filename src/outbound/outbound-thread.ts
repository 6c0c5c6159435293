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
}

/** More than this defeats what bounds an answer: the thread ends, and another begins. */
const HEAP = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 }
const STOPPED: Sent = { kind: 'failed', code: 'stopped' }
const DIED: Sent = { kind: 'failed', code: 'connection' }

/**
 * The thread is started by the first `post`, and again after it has died. What was under way then has failed: nobody knows how it ended, so it is tried
 * again, at growing distances, and what kills threads does not do so for ever.
 */
export function createOutboundThread(options: OutboundThreadOptions): Outbound {
  const { url, ...guard } = options
  const here = createOutbound(guard)
  const thread = new DeliveryThread(guard, url ?? new URL('./delivery-thread.js', import.meta.url))
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

class DeliveryThread {
  readonly #url: URL
  readonly #data: ThreadData
  readonly #underWay = new Map<number, (sent: Sent) => void>()
  #worker: Worker | undefined
  #last = 0

  constructor({ allowed, ...trust }: Omit<OutboundThreadOptions, 'url'>, url: URL) {
    this.#url = url
    this.#data = { allowed: allowed.map(({ text }) => text).join(','), ...trust }
  }

  post(url: string, { signal, ...sending }: Sending): Promise<Sent> {
    if (signal?.aborted === true) return Promise.resolve(STOPPED)
    const worker = (this.#worker ??= this.#start())
    this.#last += 1
    const id = this.#last
    return new Promise((resolve) => {
      const stop = (): void => worker.postMessage({ kind: 'stop', id } satisfies Asked)
      signal?.addEventListener('abort', stop, { once: true })
      this.#underWay.set(id, (sent) => {
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

  #start(): Worker {
    const worker = new Worker(this.#url, {
      workerData: this.#data,
      execArgv: [],
      env: {},
      resourceLimits: HEAP,
    })
    // deliveries keep no gateway alive that wants to end
    worker.unref()
    worker.on('message', ({ id, sent }: Done) => this.#settle(id, sent))
    worker.on('error', () => undefined)
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
