import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { openPlaces, tilesAddressOf } from '../../src/app/places.ts'
import { SYSTEM } from '../../src/gateway/core/records.ts'
import type { Config } from '../../src/settings/config.ts'
import { SETTINGS } from '../../src/settings/settings.ts'
import { sizeIn } from '../../src/tiles/log.ts'
import { MINUTE, openWorld, until, type World } from '../gateway-fixture.ts'

/** Tiles as a whole gateway writes them. */
let world: World | undefined
afterEach(async () => {
  await world?.close()
  world = undefined
})

const SOON = { tilesEveryMs: 1, checkpointEveryMs: 1 }
const ADDRESS = { tilesPathStyle: 'false', store: SETTINGS.store.parse('file:./data') } as Config

async function metric(line: string): Promise<boolean> {
  return (await (await fetch(world?.app.metricsUrl ?? '')).text()).includes(`\n${line}\n`)
}

describe('a gateway with an embedded store', () => {
  it('writes the tiles of each tenant into the data directory, a minute after their records', async () => {
    world = await openWorld(SOON)
    const logOf = (tenant: string): string =>
      join(dirname(world?.policies ?? ''), 'data', 'tiles', tenant, 'checkpoint')
    await (await world.agent()).submit('t', { tool_name: 't', payload: {} })
    const { deps } = world.app
    await until(async () => (await deps.store.count('acme', 'checkpoints')) > 0)
    expect(existsSync(logOf('acme'))).toBe(false)
    world.clock.advance(2 * MINUTE)
    await until(() => existsSync(logOf('acme')) && existsSync(logOf(SYSTEM)))
    const records = await deps.store.events('acme', 0, 100)
    await until(() => sizeIn(readFileSync(logOf('acme'), 'utf8')) === records.length)
    await until(() => metric('countersign_tiles_lag_seconds 0'))
    await until(() => metric('countersign_tiles_stopped{reason="forked"} 0'))
  })

  it('finds at its start that the store went back, before there is a new record', async () => {
    world = await openWorld(SOON)
    const data = join(dirname(world.policies), 'data')
    const submit = async (): Promise<void> => {
      await (await world?.agent())?.submit('t', { tool_name: 't', payload: {} })
      world?.clock.advance(2 * MINUTE)
      const count = ((await world?.app.deps.store.events('acme', 0, 100)) ?? []).length
      const path = join(data, 'tiles/acme/checkpoint')
      await until(() => sizeIn(readFileSync(path, 'utf8')) === count)
    }
    await submit()
    await world.stop()
    cpSync(join(data, 'store.mdb'), join(data, 'older'))
    await world.start()
    await submit()
    await world.stop()
    cpSync(join(data, 'older'), join(data, 'store.mdb'))
    await world.start()
    const says = ['the tiles of a tenant have stopped', '"tenant":"acme"', '"reason":"store_behind"']
    await until(() => world?.logged.some((line) => says.every((part) => line.includes(part))))
  })

  it('stops the tiles of a tenant that lost them, says so, and decides as before', async () => {
    world = await openWorld(SOON)
    const tiles = join(dirname(world.policies), 'data', 'tiles')
    const agent = await world.agent()
    await agent.submit('t', { tool_name: 't', payload: {} })
    await until(async () => (await world?.app.deps.store.count('acme', 'checkpoints')) ?? 0)
    world.clock.advance(2 * MINUTE)
    await until(() => existsSync(join(tiles, 'acme', 'checkpoint')))
    await until(() => metric('countersign_tiles_lag_seconds 0'))
    rmSync(join(tiles, 'acme'), { recursive: true })
    expect((await agent.submit('t', { tool_name: 't', payload: {} })).status).toBe(200)
    world.clock.advance(2 * MINUTE)
    await until(() => metric('countersign_tiles_stopped{reason="place_behind"} 1'))
    expect(world.logged.join('')).toContain('the tiles of a tenant have stopped')
    expect((await agent.submit('t', { tool_name: 't', payload: {} })).status).toBe(200)
    expect(existsSync(join(tiles, 'acme', 'checkpoint'))).toBe(false)
  })
})

describe('the address of the tiles', () => {
  it('is in the directory of an embedded store, and tiles are off with Redis', () => {
    const of = (store: string, tiles?: string): string => {
      const given = tiles === undefined ? {} : { tiles: SETTINGS.tiles.parse(tiles) }
      return tilesAddressOf({ store: SETTINGS.store.parse(store), ...given } as Config).shown
    }
    expect(of('file:./data')).toBe('file:data/tiles')
    expect(of('redis://127.0.0.1')).toBe('off')
    expect(of('redis://127.0.0.1', 's3://bucket/logs/')).toBe('s3://bucket/logs')
    expect(of('file:./data', 'off')).toBe('off')
  })

  it('names a bucket and a prefix, under which each tenant has a log', async () => {
    const names = async (text: string): Promise<string | undefined> => {
      const places = await openPlaces(SETTINGS.tiles.parse(text), { ...ADDRESS, tilesRegion: 'eu-west-1' })
      places?.close()
      return places?.of('acme').name
    }
    expect(await names('s3://bucket/logs/prod')).toBe('`s3://bucket/logs/prod/acme`')
    expect(await names('s3://bucket')).toBe('`s3://bucket/acme`')
    expect(await names('file:./log')).toBe('`log/acme`')
    expect(await names('off')).toBeUndefined()
  })

  it('is the same for each spelling of a directory', async () => {
    const addressOf = async (text: string): Promise<string | undefined> =>
      (await openPlaces(SETTINGS.tiles.parse(text), ADDRESS))?.address
    const expected = `file:${resolve('log')}`
    for (const text of ['log', './log', 'log/', 'x/../log', resolve('log')])
      expect(await addressOf(`file:${text}`)).toBe(expected)
  })

  it.each(['', 'file:', 's3://', 's3://B/x', 's3://bucket/a//b', 'http://bucket/x', './log'])(
    'refuses `%s`',
    (text) => {
      expect(() => SETTINGS.tiles.parse(text)).toThrow(/must be file:<directory>/)
    },
  )
})
