import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyEvidence } from '../../src/evidence/verify.ts'
import { HOUR, held, newTask, openWorld, type World } from '../gateway-fixture.ts'
import { playHistory } from '../gateway/random-history.ts'
import { type Place, Places } from '../store/places.ts'
import { runCli } from './run.ts'

/** A store whose clock was years ahead for a while, and the command that brings it back. */

const YEARS = 5 * 365 * 24 * HOUR
const places = new Places()
let directory: string
beforeAll(() => void (directory = mkdtempSync(join(tmpdir(), 'cs-rebase-'))))
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true })
  await places.dispose()
})

const store = (...args: string[]) => runCli(['store', ...args], { cwd: directory })

async function expectVerified(world: World): Promise<void> {
  const { text } = await world.admin('GET', 'evidence?tenant=acme&limit=10000')
  const file = join(directory, 'evidence.ndjson')
  writeFileSync(file, text)
  const { body } = await world.admin<{ verifier_key: string; checkpoints: { note: string }[] }>(
    'GET',
    'checkpoints?tenant=acme',
  )
  const { verifier_key, checkpoints } = body
  const notes = checkpoints.map(({ note }) => note)
  expect(notes.length).toBeGreaterThan(0)
  const verdict = await verifyEvidence(createReadStream(file), {
    notes,
    verifierKeys: [verifier_key],
    receipts: [],
  })
  expect(verdict.faults).toEqual([])
}

describe.each(['embedded', 'redis'] as const)('countersign store rebase-time, %s', (kind) => {
  it('brings records, indexes and limits back, voids approvals, and says so in the evidence', async () => {
    const place: Place = kind === 'embedded' ? places.embedded() : await places.redis()
    const opened = (clock: Parameters<Place['open']>[0]) => place.open(clock)
    const ahead = await openWorld({ openStore: opened, checkpointEveryMs: 20 })
    await playHistory(ahead, 7, 40)
    const early = await held(await ahead.agent())
    ahead.clock.advance(YEARS + (Date.now() - ahead.clock.now))
    await playHistory(ahead, 8, 40)
    const late = await held(await ahead.agent())
    await ahead.close()

    const { code, out } = await store('rebase-time', '--store', place.address)
    expect(out).toMatch(/^the time of .* was set back from 20[3-9]\d-.* to 20[2-9]\d-/)
    expect(code).toBe(0)
    expect((await store('check', '--store', place.address)).out).toMatch(/^fine/)
    const again = await store('rebase-time', '--store', place.address)
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('the time of the store is right')])

    const world = await openWorld({ openStore: () => place.open(), checkpointEveryMs: 20 })
    expect(Math.abs(world.app.deps.store.now() - Date.now())).toBeLessThan(60_000)
    const ann = await world.reviewer('ann')
    for (const { thread } of [early, late]) {
      const { body } = await ann.show(thread)
      if (body.status !== 'pending_review') continue
      expect(Date.parse(body.deadline ?? '')).toBeLessThan(Date.now() + 30 * 24 * HOUR)
    }
    const bot = await world.agent()
    expect((await bot.submit(newTask(), { tool_name: 't', payload: {} })).status).toBe(200)
    await world.due()
    const types = (await world.allEvidence()).map(({ record }) => record.type)
    expect(types.filter((type) => type === 'time.rebased')).toHaveLength(1)
    await expectVerified(world)
    await world.close()
    expect((await store('check', '--store', place.address)).out).toMatch(/^fine/)
  })
})
