import { connect, createServer, type Socket } from 'node:net'

/*
 * A way to a server that can be cut for the other servers and not for the gateways. The other servers then no longer
 * reach the primary, and it still answers gateways. The first command of a connection shows which of both it is.
 */
export interface Proxy {
  readonly port: number
  /** Holds back everything between servers, in both directions, without closing a connection. */
  cut(): void
  heal(): void
  close(): Promise<void>
}

const OF_A_GATEWAY = /^\*\d+\r\n\$\d+\r\n(INFO|EVAL|SSUBSCRIBE)\r\n/

export async function startProxy(target: number): Promise<Proxy> {
  const pairs = new Set<{ readonly inside: Socket; readonly outside: Socket; gateway: boolean }>()
  let isCut = false
  const server = createServer((outside) => {
    const inside = connect(target, '127.0.0.1')
    const pair = { inside, outside, gateway: false }
    pairs.add(pair)
    const end = (): void => {
      pairs.delete(pair)
      inside.destroy()
      outside.destroy()
    }
    for (const socket of [inside, outside]) {
      socket.setNoDelay(true)
      socket.on('error', end)
      socket.on('close', end)
    }
    outside.once('data', (first) => {
      pair.gateway = OF_A_GATEWAY.test(first.toString('latin1'))
      inside.write(first)
      outside.pipe(inside)
      inside.pipe(outside)
      if (isCut && !pair.gateway) hold(pair)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const hold = ({ inside, outside }: { inside: Socket; outside: Socket }): void => {
    inside.unpipe(outside)
    outside.unpipe(inside)
    inside.pause()
    outside.pause()
  }
  return {
    port: (server.address() as { port: number }).port,
    cut() {
      isCut = true
      for (const pair of pairs) if (!pair.gateway) hold(pair)
    },
    heal() {
      isCut = false
      // the bytes held back are lost: both ends make new connections
      for (const pair of pairs) if (!pair.gateway) pair.outside.destroy()
    },
    close: async () => {
      for (const { inside, outside } of pairs) {
        inside.destroy()
        outside.destroy()
      }
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
