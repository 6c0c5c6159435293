import type { Host, Password, RedisAddress } from './address.ts'
import { type Connection, connect, SILENCE_MS } from './connection.ts'
import { within } from '../patience.ts'

export interface SentinelOptions {
  readonly address: RedisAddress
  readonly sentinelPassword?: Password
}

interface Said {
  readonly host: Host
  /** A number that increases with each failover. */
  readonly epoch: number
}

/** The servers that know the current primary (https://redis.io/docs/latest/develop/reference/sentinel-clients/). */
export type Sentinels = ReturnType<typeof createSentinels>

export function createSentinels(options: SentinelOptions) {
  const sentinels = options.address.hosts.map((host) => new Sentinel(host, options))
  return {
    /**
     * The primary according to the sentinel that knows the latest failover, because a partitioned sentinel reports an old
     * primary. Undefined when no sentinel answers. Never rejects.
     */
    async primary(): Promise<Host | undefined> {
      const said = await Promise.all(sentinels.map((sentinel) => sentinel.ask()))
      const known = said.filter((one) => one !== undefined)
      return known.toSorted((a, b) => b.epoch - a.epoch)[0]?.host
    },
    close: () => sentinels.forEach((sentinel) => sentinel.close()),
  }
}

/** One sentinel. The connection to that sentinel is kept. After a failure, the next request opens a new connection. */
class Sentinel {
  readonly #host: Host
  readonly #options: SentinelOptions
  #talking: Promise<Connection> | undefined
  #closed = false

  constructor(host: Host, options: SentinelOptions) {
    this.#host = host
    this.#options = options
  }

  async ask(): Promise<Said | undefined> {
    if (this.#closed) return undefined
    try {
      return await within(this.#ask(), SILENCE_MS)
    } catch {
      this.#hangUp()
      return undefined
    }
  }

  close(): void {
    this.#closed = true
    this.#hangUp()
  }

  async #ask(): Promise<Said | undefined> {
    this.#talking ??= this.#connect()
    const sentinel = await this.#talking
    return readMaster(await sentinel.sendCommand(['SENTINEL', 'MASTER', this.#options.address.master ?? '']))
  }

  #connect(): Promise<Connection> {
    const { address, sentinelPassword } = this.#options
    const credentials = sentinelPassword === undefined ? {} : { password: sentinelPassword }
    const opened = connect({ host: this.#host, tls: address.tls, ...credentials }, () => {
      if (this.#talking === opened) this.#talking = undefined
    })
    return opened
  }

  #hangUp(): void {
    const talking = this.#talking
    this.#talking = undefined
    void talking?.then((connection) => connection.destroy()).catch(() => undefined)
  }
}

/** Parses alternating names and values. */
function readMaster(answer: unknown): Said | undefined {
  if (!Array.isArray(answer)) return undefined
  const field = (name: string): string => String(answer[answer.indexOf(name) + 1])
  const epoch = Number(field('config-epoch'))
  return { host: { host: field('ip'), port: Number(field('port')) }, epoch: Number.isNaN(epoch) ? -1 : epoch }
}
