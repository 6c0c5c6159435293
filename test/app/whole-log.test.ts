import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openPlaces } from '../../src/app/places.ts'
import { EarlierRecords } from '../../src/app/whole-log.ts'
import type { CheckpointList, LogStarted } from '../../src/contract/checkpoint.ts'
import { listInstances } from '../../src/gateway/jobs/instances.ts'
import { checkStore } from '../../src/gateway/integrity/store.ts'
import type { Config } from '../../src/settings/config.ts'
import { SETTINGS } from '../../src/settings/settings.ts'
import type { StoreArchive } from '../../src/store/archive.ts'
import { WIDTH } from '../../src/tiles/layout.ts'
import {
  approved,
  type Approved,
  edited,
  type EvidenceLine,
  HOUR,
  openWorld,
  REVIEWED,
  submitMany,
  until,
  type World,
} from '../gateway-fixture.ts'
import { runCli } from '../cli/run.ts'
import { type Place, Places } from '../store/places.ts'
import { Listener } from '../stream-listener.ts'

/** A gateway whose first records of evidence are only in tiles, as every reader sees it. */
const places = new Places()
afterAll(() => places.dispose())

let place: Place
let world: World
let one: Approved
let before: EvidenceLine[]
let tiles: string
let isWhole: boolean
beforeEach(() => {
  tiles = mkdtempSync(join(tmpdir(), 'countersign-tiles-'))
  isWhole = true
})
afterEach(async () => {
  if (isWhole) await world.close()
  rmSync(tiles, { recursive: true, force: true })
})

async function begin(kind: Place['kind'], more: { reportEveryMs?: number } = {}): Promise<void> {
  place = await places.of(kind)
  world = await openWorld({
    openStore: (clock) => place.open(clock),
    files: edited('routing.yaml', 'levels:', 'retention: { log_in_store: 1d }\nlevels:'),
    config: { tiles: SETTINGS.tiles.parse(`file:${tiles}`) },
    tilesEveryMs: 1,
    checkpointEveryMs: 1,
    ...more,
  })
  const agent = await world.agent()
  one = await approved(agent, await world.reviewer('ann'))
  await agent.submit(one.task, { tool_name: 'private', payload: {} })
  await submitMany(agent, WIDTH, { tool_name: 't', payload: {} })
  before = await world.evidence()
  world.clock.advance(25 * HOUR)
  await until(async () => (await world.app.deps.store.firstEvent('acme')) === WIDTH + 1)
}

async function findings(archive: StoreArchive): Promise<readonly string[]> {
  const address = SETTINGS.tiles.parse(`file:${tiles}`)
  const earlier = new EarlierRecords(
    await openPlaces(address, { store: SETTINGS.store.parse(place.address) } as Config),
  )
  const { findings } = await checkStore(archive, (tenant, range) => earlier.read(tenant, range))
  await archive.close()
  return findings.map(({ law, what }) => `${law} ${what}`)
}

describe.each(['embedded', 'redis'] as const)('a log that begins in tiles, on the %s store,', (kind) => {
  it('is one log for every reader', async () => {
    await begin(kind)
    const now = await world.evidence()
    expect(now.slice(0, before.length)).toEqual(before)
    expect(now.filter(({ disclosures }) => disclosures !== undefined).length).toBeGreaterThan(0)
    expect(await world.evidence('acme', 3)).toEqual(now.slice(3))
    const ann = await world.reviewer('ann')
    const { evidence } = (await ann.show(one.thread)).body
    expect(evidence.map(({ type }) => type)).toEqual([
      'review.pending',
      'vote.cast',
      'review.approved',
      'token.minted',
    ])
    const other = await approved(await world.agent(), ann, { payload: REVIEWED })
    const listener = await Listener.open(ann)
    await until(() => listener.messages.length > 0)
    expect(listener.messages[0]).toMatchObject({ event: 'hello', id: (await world.evidence()).length })
    listener.close()
    expect(other.thread).not.toBe(one.thread)
    const at = world.clock.wall()
    await world.stop()
    expect(await findings(await place.archive({ wall: () => at, monotonic: () => at }))).toEqual([])
    await world.start()
  })

  it('continues in a new log, whose tiles have all of it, and whose key verifies it', async () => {
    await begin(kind)
    const body = { tenant: 'acme', reason: 'a drill' }
    const started = await world.admin<LogStarted>('POST', 'logs', { body })
    expect([started.status, started.body.log]).toEqual([200, 2])
    const { store } = world.app.deps
    await until(
      async () => (await store.get('acme', 'tiles', 'head'))?.body.includes('"log":2,"size":2') ?? 0,
    )
    const { body: list } = await world.admin<CheckpointList>('GET', 'checkpoints?tenant=acme')
    expect([list.origin, list.verifier_key]).toEqual([started.body.origin, started.body.verifier_key])
    const key = join(tiles, 'key')
    writeFileSync(key, `${started.body.verifier_key}\n`)
    const verified = await runCli(['evidence', 'verify', join(tiles, 'acme/2'), '--key', key], { cwd: tiles })
    expect([verified.code, verified.out]).toEqual([0, expect.stringMatching(/holds +completeness/)])
    expect((await world.evidence()).at(-1)?.record).toMatchObject({
      type: 'log.started',
      details: { previous: expect.stringContaining('/acme\n') as string },
    })
    for (const [status, asked] of [
      [404, { ...body, tenant: 'nobody' }],
      [400, { tenant: 'acme' }],
    ] as const)
      expect((await world.admin('POST', 'logs', { body: asked })).status).toBe(status)
  })

  it('shows no reader a record file of which one bit changed, and says so', async () => {
    await begin(kind, { reportEveryMs: 100 })
    const file = join(tiles, 'acme/tile/entries/000.gz')
    const whole = readFileSync(file)
    const bytes = gunzipSync(whole)
    const at = bytes.indexOf('private')
    bytes[at] = (bytes[at] ?? 0) ^ 1
    chmodSync(file, 0o600)
    writeFileSync(file, gzipSync(bytes))
    const said = `the tiles of acme have other records than left the store (records 1 to 256, file:${tiles})`
    await world.restart()
    const answer = await world.admin('GET', 'evidence?tenant=acme&after=0')
    expect([answer.status, answer.body]).toEqual([
      503,
      expect.objectContaining({ code: 'tiles_unavailable', detail: said }),
    ])
    const { deps, metricsUrl } = world.app
    const reported = async () => (await listInstances(deps)).instances[0]?.tiles_unreadable
    await until(async () => (await reported())?.startsWith(`${said} since 20`))
    world.clock.advance(60_000)
    const metric = async () =>
      (await (await fetch(metricsUrl)).text()).match(/^countersign_tiles_unreadable.*/gm)
    expect((await metric())?.join()).toMatch(/{reason="away"} 0,.*{reason="changed"} 6\d/)
    const at2 = world.clock.wall()
    isWhole = false
    await world.stop()
    const archive = await place.archive({ wall: () => at2, monotonic: () => at2 })
    expect(await findings(archive)).toContain('G19 records 1 to 256 are not those that left the store')
  })

  it('is incomplete without its tiles: readers get an error, decisions continue, and no check is fine', async () => {
    await begin(kind)
    rmSync(tiles, { recursive: true })
    await world.restart()
    const answer = await world.admin('GET', 'evidence?tenant=acme&after=0')
    expect([answer.status, answer.body]).toEqual([
      503,
      expect.objectContaining({
        code: 'tiles_unavailable',
        detail: `the tiles of acme cannot be read (records 1 to 256, file:${tiles})`,
      }),
    ])
    expect(await world.evidence('acme', WIDTH)).not.toEqual([])
    const agent = await world.agent()
    expect((await agent.submit('t', { tool_name: 't', payload: {} })).status).toBe(200)
    const at = world.clock.wall()
    isWhole = false
    await world.stop()
    const archive = await place.archive({ wall: () => at, monotonic: () => at })
    await expect(findings(archive)).rejects.toThrow(
      `the tiles of acme cannot be read (records 1 to 256, file:${tiles})`,
    )
  })
})
