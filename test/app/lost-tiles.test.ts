import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openPlaces } from '../../src/app/places.ts'
import { EarlierRecords } from '../../src/app/whole-log.ts'
import type { CheckpointList, LossView } from '../../src/contract/checkpoint.ts'
import { checkStore } from '../../src/gateway/integrity/store.ts'
import type { Config } from '../../src/settings/config.ts'
import { SETTINGS } from '../../src/settings/settings.ts'
import { WIDTH } from '../../src/tiles/layout.ts'
import { runCli } from '../cli/run.ts'
import { ADMIN_KEY, edited, held, HOUR, MINUTE, openWorld, until, type World } from '../gateway-fixture.ts'
import { Places } from '../store/places.ts'

/** One of two record files that left the store is gone for good. */
const places = new Places()
let world: World
let tiles: string
beforeEach(() => {
  tiles = mkdtempSync(join(tmpdir(), 'countersign-tiles-'))
})
afterEach(async () => {
  await world.stop()
  await places.dispose()
  rmSync(tiles, { recursive: true, force: true })
})

interface Refusal {
  readonly code?: string
  readonly detail?: string
}

describe.each(['embedded', 'redis'] as const)('a loss of tiles, on the %s store,', (kind) => {
  it('is accepted once no gateway can read them, and every reader says which records are lost', async () => {
    const place = await places.of(kind)
    world = await openWorld({
      openStore: (clock) => place.open(clock),
      files: edited('routing.yaml', 'levels:', 'retention: { log_in_store: 1d }\nlevels:'),
      config: { tiles: SETTINGS.tiles.parse(`file:${tiles}`) },
      tilesEveryMs: 1,
      checkpointEveryMs: 1,
      reportEveryMs: 100,
    })
    const agent = await world.agent()
    const old = await held(agent)
    for (let i = 0; i < 2 * WIDTH; i++) await agent.submit('t', { tool_name: 't', payload: {} })
    world.clock.advance(25 * HOUR)
    await until(async () => (await world.app.deps.store.firstEvent('acme')) === 2 * WIDTH + 1)
    const ask = (body: object) =>
      world.admin<LossView & Refusal>('POST', 'losses', {
        body: { tenant: 'acme', reason: 'a fire', ...body },
      })
    const answered = async (before: number): Promise<LossView> => {
      let view: LossView | undefined
      await until(async () => (view = (await ask({ before, preview: true })).body).waiting.length === 0)
      return view as LossView
    }
    // nothing is lost yet; one record too many; never asked
    expect((await ask({ before: WIDTH + 1 })).body.code).toBe('not_lost')
    expect((await answered(2 * WIDTH + 1)).lost).toEqual([])
    expect((await ask({ before: 2 * WIDTH + 1 })).body.code).toBe('not_lost')
    for (const before of [2 * WIDTH + 2, 3 * WIDTH + 1])
      expect((await ask({ before, preview: true })).body.code).toBe('not_lost')

    const file = join(tiles, 'acme/tile/entries/000.gz')
    renameSync(file, join(tiles, 'gone'))
    const log = { tenant: 'acme', reason: 'a drill' }
    await world.restart()
    const refused = (await world.admin<Refusal>('POST', 'logs', { body: log })).body
    expect([refused.code, refused.detail]).toEqual([
      'tiles_unavailable',
      expect.stringContaining('countersign evidence accept-loss --tenant acme --before 513 --reason TEXT'),
    ])
    const hold = { tenant: 'acme', agent: 'other', reason: 'a lawsuit' }
    await world.admin('POST', 'legal-holds', { body: hold })
    await until(async () => (await answered(2 * WIDTH + 1)).lost.length === 1)
    expect((await ask({ before: 2 * WIDTH + 1 })).body.code).toBe('under_legal_hold')
    await world.admin('POST', 'legal-holds/remove', { body: hold })
    // a gateway finds the file again
    renameSync(join(tiles, 'gone'), file)
    expect((await ask({ before: 2 * WIDTH + 1 })).body.code).toBe('not_lost')
    rmSync(file)
    await world.restart()
    await until(async () => (await answered(2 * WIDTH + 1)).lost.length === 1)
    const args = ['--tenant', 'acme', '--before', '513', '--reason', 'a fire', '--url', world.url]
    const env = { COUNTERSIGN_ADMIN_KEY: ADMIN_KEY }
    // without a terminal, it asks in vain
    const unasked = await runCli(['evidence', 'accept-loss', ...args], { cwd: tiles, env })
    expect([unasked.code, unasked.err]).toEqual([
      1,
      expect.stringMatching(
        /^no gateway can read records 1 to 256 \(until 20[^)]+\) of acme.*nothing was changed/s,
      ),
    ])
    const accepted = await runCli(['evidence', 'accept-loss', ...args, '--yes'], { cwd: tiles, env })
    expect([accepted.code, accepted.out]).toEqual([
      0,
      expect.stringMatching(/^evidence of acme says now that records 1 to 256 \(until 20\S+\) are lost$/m),
    ])
    expect((await ask({ before: 2 * WIDTH + 1 })).body.code).toBe('not_lost')

    const erased = await world.admin('POST', 'erasures', {
      body: { tenant: 'acme', reason: 'asked for it', thread_id: old.thread },
    })
    expect(erased.status).toBe(200)
    const lines = (await world.admin('GET', 'evidence?tenant=acme&after=0')).text.trim().split('\n')
    expect(lines.filter((line) => line.includes('"lost":')).length).toBe(WIDTH)
    expect(lines.map((line) => (JSON.parse(line) as { number: number }).number)).toEqual(
      lines.map((_, i) => i + 1),
    )
    const { body: list } = await world.admin<CheckpointList>('GET', 'checkpoints?tenant=acme')
    const [key, kept, exported] = ['key', 'kept', 'export'].map((name) => join(tiles, name))
    writeFileSync(key ?? '', `${list.verifier_key}\n`)
    writeFileSync(exported ?? '', `${lines.join('\n')}\n`)
    const size = lines.length
    world.clock.advance(MINUTE)
    const placed = () => Number(readFileSync(join(tiles, 'acme/checkpoint'), 'utf8').split('\n')[1])
    await until(() => placed() >= size)
    const note = list.checkpoints.find((one) => one.size <= size)?.note ?? ''
    writeFileSync(kept ?? '', note)
    const said = /Records 1 to 256 are lost, as admin accepted at 20\S+: a fire/
    for (const given of [[join(tiles, 'acme')], [exported ?? '', '--checkpoint', kept ?? '']]) {
      const { code, out } = await runCli(['evidence', 'verify', ...given, '--key', key ?? ''], { cwd: tiles })
      expect([code, out]).toEqual([0, expect.stringMatching(said)])
    }
    // another file is missing, which no administrator accepted
    renameSync(join(tiles, 'acme/tile/entries/001.gz'), join(tiles, 'gone'))
    const other = await runCli(['evidence', 'verify', join(tiles, 'acme'), '--key', key ?? ''], {
      cwd: tiles,
    })
    expect([other.code, other.out]).toEqual([
      3,
      expect.stringContaining('records 257 to 512 are missing, and no record says that they are lost'),
    ])
    renameSync(join(tiles, 'gone'), join(tiles, 'acme/tile/entries/001.gz'))
    const at = world.clock.wall()
    await world.stop()
    const archive = await place.archive({ wall: () => at, monotonic: () => at })
    const address = SETTINGS.tiles.parse(`file:${tiles}`)
    const earlier = new EarlierRecords(
      await openPlaces(address, { store: SETTINGS.store.parse(place.address) } as Config),
    )
    const report = await checkStore(archive, (tenant, range) => earlier.read(tenant, range))
    await archive.close()
    expect(report.findings).toEqual([])
    expect(report.lost).toMatchObject([
      { partition: 'acme', from: 1, to: WIDTH, by: 'admin', reason: 'a fire' },
    ])
  })
})
