import { connect, createServer, type Socket } from 'node:net'

/** A way to a server that loses its answers: a command arrives, and the server executes it. */
export interface OneWay {
  readonly port: number
  /** Drops every answer from now on. */
  mute(): void
  /** Connections that lost an answer end; new ones are as they should be. */
  heal(): void
  close(): Promise<void>
}

export async function startOneWay(target: number): Promise<OneWay> {
  const pairs = new Set<readonly [inside: Socket, outside: Socket]>()
  let muted = false
  const server = createServer((outside) => {
    const inside = connect(target, '127.0.0.1')
    const pair = [inside, outside] as const
    pairs.add(pair)
    const end = (): void => {
      pairs.delete(pair)
      for (const socket of pair) socket.destroy()
    }
    for (const socket of pair) {
      socket.setNoDelay(true)
      socket.on('error', end)
      socket.on('close', end)
    }
    outside.pipe(inside)
    inside.on('data', (answer) => {
      if (!muted) outside.write(answer)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const endAll = (): void => {
    for (const [inside] of pairs) inside.destroy()
  }
  return {
    port: (server.address() as { port: number }).port,
    mute: () => {
      muted = true
    },
    heal: () => {
      endAll()
      muted = false
    },
    close: async () => {
      endAll()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
