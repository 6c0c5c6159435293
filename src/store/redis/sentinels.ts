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
  const sentinels = options.address.hosts.map((host) => createSentinel(host, options))
  return {
    /**
     * The primary according to the sentinel that knows the latest failover, because a partitioned sentinel reports an
     * old primary. Undefined when no sentinel answers. Never rejects.
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
function createSentinel(host: Host, { address, sentinelPassword }: SentinelOptions) {
  const credentials = sentinelPassword === undefined ? {} : { password: sentinelPassword }
  let talking: Promise<Connection> | undefined
  let closed = false
  const call = (): Promise<Connection> => {
    const opened = connect({ host, tls: address.tls, ...credentials }, () => {
      if (talking === opened) talking = undefined
    })
    return opened
  }
  const hangUp = (): void => {
    void talking?.then((connection) => connection.destroy()).catch(() => undefined)
    talking = undefined
  }
  const masterOf = async (): Promise<Said | undefined> => {
    const sentinel = await (talking ??= call())
    return readMaster(await sentinel.sendCommand(['SENTINEL', 'MASTER', address.master ?? '']))
  }
  return {
    async ask(): Promise<Said | undefined> {
      if (closed) return undefined
      try {
        return await within(masterOf(), SILENCE_MS)
      } catch {
        hangUp()
        return undefined
      }
    },
    close(): void {
      closed = true
      hangUp()
    },
  }
}

/** Parses alternating names and values. */
function readMaster(answer: unknown): Said | undefined {
  if (!Array.isArray(answer)) return undefined
  const field = (name: string): string => String(answer[answer.indexOf(name) + 1])
  const epoch = Number(field('config-epoch'))
  return { host: { host: field('ip'), port: Number(field('port')) }, epoch: Number.isNaN(epoch) ? -1 : epoch }
}
