import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SETTINGS } from '../../src/settings/settings.ts'
import { WIDTH } from '../../src/tiles/layout.ts'
import {
  type Agent,
  edited,
  held,
  HOUR,
  newTask,
  openWorld,
  submitMany,
  until,
  type World,
} from '../gateway-fixture.ts'

/** A gateway whose first records are only in tiles, while their place is away. */
let world: World
let tiles: string
let agent: Agent
beforeEach(async () => {
  tiles = mkdtempSync(join(tmpdir(), 'countersign-tiles-'))
  world = await openWorld({
    files: edited('routing.yaml', 'levels:', 'retention: { log_in_store: 1d }\nlevels:'),
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
  await submitMany(agent, WIDTH, { tool_name: 't', payload: {} })
  world.clock.advance(25 * HOUR)
  await until(async () => (await world.app.deps.store.firstEvent('acme')) === WIDTH + 1)
}

const away = (): void => renameSync(join(tiles, 'log'), join(tiles, 'away'))

describe('a place of tiles that is away', () => {
  it('keeps no reviewer from a call that waits', async () => {
    const task = newTask()
    await agent.submit(task, { tool_name: 'pay', payload: { amount: 900_000 } })
    await fill()
    away()
    const { thread } = await held(agent, {}, task)
    const ann = await world.reviewer('ann')
    const { status, body } = await ann.show(thread)
    expect([status, body.thread_id]).toEqual([200, thread])
  })

  it('keeps no thread from an erasure whose records are all in the store, and names what it keeps back, or leaves it out', async () => {
    const old = await held(agent)
    await fill()
    const { thread } = await held(agent)
    away()
    const erase = (selection: object) =>
      world.admin<{ records: number; threads: number }>('POST', 'erasures', {
        body: { tenant: 'acme', reason: 'asked for it', ...selection },
      })
    const erased = await erase({ thread_id: thread })
    expect([erased.status, erased.body.records > 0, erased.body.threads]).toEqual([200, true, 1])
    expect((await erase({ thread_id: thread })).body).toMatchObject({ code: 'tiles_unavailable' })
    for (const selection of [{ thread_id: old.thread }, { agent: 'bot' }])
      expect((await erase(selection)).body).toMatchObject({
        code: 'tiles_unavailable',
        detail: `the tiles of acme cannot be read (records 1 to ${WIDTH}, file:${tiles}/log); --in-store (\`in_store\`) leaves these records out`,
      })
    await agent.submit('today', { tool_name: 'pay', payload: { amount: 5 } })
    for (const selection of [{ task_id: 'today' }, { agent: 'bot' }]) {
      const { status, body } = await erase({ ...selection, in_store: true })
      expect([status, body.records > 0]).toEqual([200, true])
    }
    expect((await erase({ task_id: 'today', in_store: true })).body).toMatchObject({ code: 'not_found' })
    renameSync(join(tiles, 'away'), join(tiles, 'log'))
    expect((await erase({ thread_id: old.thread })).status).toBe(200)
  })
})
