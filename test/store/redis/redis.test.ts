import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseRedisAddress } from '../../../src/store/redis/address.ts'
import { openRedisArchive } from '../../../src/store/redis/archive.ts'
import { openRedisStore } from '../../../src/store/redis/store.ts'
import { openRedisRestore } from '../../../src/store/redis/restore.ts'
import type { Store } from '../../../src/store/store.ts'
import { type RedisServer, startRedis } from '../../redis/server.ts'
import { openedEmpty } from '../../redis/opened.ts'
import { storeConformance } from '../conformance.ts'
import { compareWithModel } from '../differential.ts'

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.dispose())

async function open(): Promise<Store> {
  return openRedisStore({ address: parseRedisAddress(server.url) })
}

storeConformance('redis', () => openedEmpty(() => server.ask('FLUSHALL'), open))

describe('the redis store against the model', () => {
  it('gives the same answers and contains the same data after 200 random histories of 45 steps', async () => {
    await server.ask('FLUSHALL')
    const store = await open()
    await compareWithModel(store, { runs: 200, steps: 45, inOrder: true })
    await store.close()
  })
})

describe('a store of another format', () => {
  it('gets the mark of its format before its first key', async () => {
    await server.ask('FLUSHALL')
    const address = parseRedisAddress(server.url)
    await (await openRedisArchive({ address })).close()
    expect(await server.ask('DBSIZE')).toBe('0')
    const both = await Promise.all([openRedisStore({ address }), openRedisStore({ address })])
    for (const store of both) await store.close()
    expect(await server.ask('GET', 'cs:format')).toBe('countersign/3')
    await (await openRedisStore({ address, deployment: 'test' })).close()
    expect(await server.ask('GET', 'cs-test:format')).toBe('countersign/3')
  })

  it('is refused when it has keys without a mark', async () => {
    await server.ask('FLUSHALL')
    await server.ask('HSET', 'cs:{acme}:h', 'n', '1')
    const options = { address: parseRedisAddress(server.url) }
    const refused =
      /^the store names no format, and this program reads `countersign\/3` only: use the version/
    await expect(openRedisStore(options)).rejects.toThrow(refused)
    await expect(openRedisArchive(options)).rejects.toThrow(refused)
    await expect(openRedisRestore(options)).rejects.toThrow('already')
    expect(await server.ask('DBSIZE')).toBe('1')
  })

  it('is neither opened, read as a whole, nor restored into, because its keys may differ in meaning', async () => {
    await server.ask('FLUSHALL')
    const options = { address: parseRedisAddress(server.url) }
    await server.ask('SET', 'cs:format', 'countersign/3')
    await (await openRedisStore(options)).close()
    await (await openRedisArchive(options)).close()
    await server.ask('SET', 'cs:format', 'countersign/4')
    const refused = /^the store has the format `countersign\/4`, and this program reads `countersign\/3` only/
    await expect(openRedisStore(options)).rejects.toThrow(refused)
    await expect(openRedisArchive(options)).rejects.toThrow(refused)
    await expect(openRedisRestore(options)).rejects.toThrow(refused)
    expect(await server.ask('DBSIZE')).toBe('1')
  })
})
