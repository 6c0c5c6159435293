import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SETTINGS } from '../../src/settings/settings.ts'
import { WIDTH } from '../../src/tiles/layout.ts'
import { type Agent, edited, held, HOUR, newTask, openWorld, until, type World } from '../gateway-fixture.ts'

/** A gateway whose first records are only in tiles, while their place is away or changed. */
let world: World
let tiles: string
let agent: Agent
beforeEach(async () => {
  tiles = mkdtempSync(join(tmpdir(), 'countersign-tiles-'))
  world = await openWorld({
    files: edited('routing.yaml', 'levels:', 'retention: { log_in_store: 1d, disclosures: 1d }\nlevels:'),
    config: { tiles: SETTINGS.tiles.parse(`file:${tiles}/log`) },
    tilesEveryMs: 1,
    checkpointEveryMs: 1,
  })
  agent = await world.agent()
})
afterEach(async () => {
  await world.stop()
  rmSync(tiles, { recursive: true, force: true })
})

async function fill(): Promise<void> {
  for (let i = 0; i < WIDTH; i++) await agent.submit('t', { tool_name: 't', payload: {} })
  world.clock.advance(25 * HOUR)
  await until(async () => (await world.app.deps.store.firstEvent('acme')) === WIDTH + 1)
}

const away = (): void => renameSync(join(tiles, 'log'), join(tiles, 'away'))

describe('a place of tiles that is away', () => {
  it.fails('keeps no reviewer from a call that waits', async () => {
    const task = newTask()
    await agent.submit(task, { tool_name: 'pay', payload: { amount: 900_000 } })
    await fill()
    away()
    const { thread } = await held(agent, {}, task)
    const ann = await world.reviewer('ann')
    expect((await ann.show(thread)).status).toBe(200)
  })

  it.fails('does not keep disclosures beyond their retention', async () => {
    await agent.submit(newTask(), { tool_name: 'pay', payload: { amount: 900_000 } })
    await fill()
    const { store } = world.app.deps
    expect((await store.disclosures('acme', 0, WIDTH)).length).toBeGreaterThan(0)
    away()
    await world.due().catch(() => undefined)
    await world.due().catch(() => undefined)
    expect(await store.disclosures('acme', 0, 200)).toEqual([])
  })
})

describe('tiles that a person changed', () => {
  it.fails('are not read as evidence of this gateway', async () => {
    await fill()
    const path = join(tiles, 'log/acme/tile/entries/000')
    const raw = readFileSync(path)
    const isZip = raw[0] === 0x1f && raw[1] === 0x8b
    const text = (isZip ? gunzipSync(raw) : raw).toString('latin1').replaceAll('"tool":"t"', '"tool":"x"')
    rmSync(path)
    writeFileSync(path, isZip ? gzipSync(Buffer.from(text, 'latin1')) : Buffer.from(text, 'latin1'))
    const { text: exported } = await world.admin('GET', 'evidence?tenant=acme&after=0')
    expect(exported).not.toContain('"tool":"x"')
  })
})
