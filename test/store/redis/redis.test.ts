import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseRedisAddress } from '../../../src/store/redis/address.ts'
import { openRedisArchive } from '../../../src/store/redis/archive.ts'
import { openRedisStore } from '../../../src/store/redis/store.ts'
import { timesOf } from '../../../src/store/redis/times.ts'
import { openRedisRestore } from '../../../src/store/redis/restore.ts'
import type { Store } from '../../../src/store/store.ts'
import { type RedisServer, startRedis } from '../../redis/server.ts'
import { openedEmpty } from '../../redis/opened.ts'
import { commitOf } from '../commit-of.ts'
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
  const HEAD = 'cs:{acme}:h'
  const commit = async (store: Store) => store.commit('acme', commitOf(store, { events: ['e'] }))

  it('has a mark in each partition from its first commit on', async () => {
    await server.ask('FLUSHALL')
    const store = await open()
    expect(await commit(store)).toMatchObject({ ok: true })
    expect(await server.ask('HGET', HEAD, 'v')).toBe('countersign/5')
    expect(await commit(store)).toMatchObject({ ok: true })
    await store.close()
  })

  it.each([
    ['no mark', 'names no format', []],
    ['another mark', 'has the format `countersign/3`', ['v', 'countersign/3']],
  ])('is neither written, read as a whole, nor restored into: %s', async (_, said, mark) => {
    await server.ask('FLUSHALL')
    const options = { address: parseRedisAddress(server.url) }
    await server.ask('HSET', HEAD, 'n', '1', 't', '1', ...mark)
    const refused = `the store ${said}, and this program reads \`countersign/5\` only: use the version that wrote it`
    const [store, archive] = [await open(), await openRedisArchive(options)]
    await expect(commit(store)).rejects.toThrow(refused)
    await expect(archive.dump('acme').next()).rejects.toThrow(refused)
    // a start reads the time of its partition
    await expect(timesOf(options, ['acme'])).rejects.toThrow(refused)
    await expect(openRedisRestore(options)).rejects.toThrow('already')
    await Promise.all([store.close(), archive.close()])
    expect([await server.ask('DBSIZE'), await server.ask('HGET', HEAD, 'n')]).toEqual(['1', '1'])
  })
})
