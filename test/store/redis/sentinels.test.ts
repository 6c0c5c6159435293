import { createServer, type Server } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { RedisAddress } from '../../../src/store/redis/address.ts'
import { createSentinels } from '../../../src/store/redis/sentinels.ts'

/** Sentinels that say what a test wants: real ones do not stay cut off for long. */
const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve))
})

async function sentinel(fields: Readonly<Record<string, string>> | undefined): Promise<number> {
  const flat = Object.entries(fields ?? {}).flat()
  const parts = flat.map((text) => `$${text.length}\r\n${text}\r\n`)
  const answer =
    fields === undefined ? '-ERR No such master with that name\r\n' : `*${parts.length}\r\n${parts.join('')}`
  const server = createServer((socket) => socket.on('data', () => socket.write(answer)))
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as { port: number }).port
}

async function primaryBy(...ports: readonly number[]): Promise<unknown> {
  const hosts = ports.map((port) => ({ host: '127.0.0.1', port }))
  const address: RedisAddress = { kind: 'sentinel', tls: false, hosts, master: 'main' }
  const sentinels = createSentinels({ address })
  const primary = await sentinels.primary()
  sentinels.close()
  return primary
}

const says = (port: string, epoch: string): Promise<number> =>
  sentinel({ name: 'main', ip: '10.0.0.1', port, 'config-epoch': epoch })

describe('the primary according to the sentinels', () => {
  it('comes from the sentinel with the latest failover, wherever it is in the list', async () => {
    const [old, latest] = [await says('1', '3'), await says('2', '10')]
    expect(await primaryBy(old, latest)).toEqual({ host: '10.0.0.1', port: 2 })
    expect(await primaryBy(latest, old)).toEqual({ host: '10.0.0.1', port: 2 })
  })

  it('comes only from sentinels that answer and know the name', async () => {
    const gone = await says('9', '99')
    await new Promise((resolve) => servers.pop()?.close(resolve))
    expect(await primaryBy(gone, await sentinel(undefined), await says('4', '0'))).toEqual({
      host: '10.0.0.1',
      port: 4,
    })
    expect(await primaryBy(gone)).toBeUndefined()
  })
})
