import { afterAll, describe, expect, it } from 'vitest'
import type { ErasureView } from '../../../src/contract/erasure.ts'
import { checkStore } from '../../../src/gateway/integrity/store.ts'
import type { DumpEntry } from '../../../src/store/archive.ts'
import { type Store, StoreUnavailable } from '../../../src/store/store.ts'
import {
  type Agent,
  type Answer,
  approved,
  held,
  newTask,
  openWorld,
  overriding,
  type Reviewer,
  submitMany,
  type World,
} from '../../gateway-fixture.ts'
import { IS_LONG } from '../../runs.ts'
import { type Place, Places } from '../../store/places.ts'

/** `countersign erase` (docs/how-to/erase-data.md): the data is gone from everywhere, and evidence still verifies. */

const places = new Places()
afterAll(() => places.dispose())

const WHO = 'eve "the" example\u00e9'
const OTHER = 'frank example'

interface Played {
  readonly world: World
  readonly bot: Agent
  readonly ann: Reviewer
}

/** Ends the world also when the act fails, and returns the store's whole content. */
async function played(place: Place, act: (played: Played) => Promise<void>): Promise<DumpEntry[]> {
  const world = await openWorld({ openStore: (clock) => place.open(clock) })
  try {
    await act({ world, bot: await world.agent(), ann: await world.reviewer('ann') })
  } finally {
    await world.close()
  }
  const { now } = world.clock
  const archive = await place.archive({ wall: () => now, monotonic: () => now })
  try {
    expect((await checkStore(archive)).findings).toEqual([])
    const entries: DumpEntry[] = []
    for (const partition of await archive.partitions())
      for await (const entry of archive.dump(partition)) entries.push(entry)
    return entries
  } finally {
    await archive.close()
  }
}

const erase = (world: World, body: object): Promise<Answer<ErasureView>> =>
  world.admin('POST', 'erasures', { body: { tenant: 'acme', reason: 'asked for it', ...body } })

/** Registers a destination, which gets no delivery before the end of the test. */
async function notified(world: World, one: object): Promise<void> {
  const body = { tenant: 'acme', url: 'https://hooks.example.com/', ...one }
  expect((await world.admin('POST', 'webhooks', { body })).status).toBe(201)
}

const reject = (ann: Reviewer, thread: string, comment: string): Promise<unknown> =>
  ann.vote(thread, { decision: 'reject', revision: 1, comment })

/** Every kind of call and text about `who`. */
async function live({ world, bot, ann }: Played, who: string): Promise<Record<string, string>> {
  const payload = { amount: 5, to: who }
  await bot.submit(newTask(), { tool_name: 'pay', payload })
  const waits = await held(bot, { payload: { amount: 500, to: who } })
  const over = await held(bot, { payload: { amount: 501, to: who } })
  const body = { comment: `Is ${who} known?` }
  await ann.call('POST', `threads/${over.thread}/comments`, { body })
  await reject(ann, over.thread, `No, not ${who}.`)
  const done = await approved(bot, ann, { payload: { amount: 502, to: who } })
  const event = { event_type: 'note', event_summary: `about ${who}`, payload: { to: who } }
  await bot.event(newTask(), event)
  expect(world.clock.now).toBeGreaterThan(0)
  return { waits: waits.thread, over: over.thread, done: done.thread, task: over.task }
}

const formsOf = (text: string): string[] => [
  text,
  JSON.stringify(text).slice(1, -1),
  JSON.stringify(JSON.stringify(text)).slice(3, -3),
  Buffer.from(text).toString('base64').replace(/=*$/, ''),
]

const expectGone = (entries: readonly unknown[], text: string): void => {
  const whole = entries.map((one) => JSON.stringify(one)).join('\n')
  for (const form of formsOf(text)) expect(whole.includes(form), form).toBe(false)
}

describe.each(['embedded', 'redis'] as const)('an erasure in the %s store', (kind) => {
  it('of a value leaves it nowhere, and everything else', async () => {
    const entries = await played(await places.of(kind), async (all) => {
      const { world, bot } = all
      await notified(world, { payload: 'full' })
      const others = await live(all, OTHER)
      const threads = await live(all, WHO)
      const selection = { field: 'payload.to', equals: WHO }
      const preview = await erase(world, { ...selection, preview: true })
      expect(preview.body).toMatchObject({ threads: 3, waiting: 1 })
      expect((await bot.poll({ thread_id: threads['waits'] ?? '' })).body.status).toBe('pending_review')
      const { status, body } = await erase(world, selection)
      expect(status).toBe(200)
      expect(body).toEqual(preview.body)
      for (const name of ['waits', 'over', 'done']) {
        expect((await bot.poll({ thread_id: threads[name] ?? '' })).status).toBe(404)
        expect((await bot.poll({ thread_id: others[name] ?? '' })).status).toBe(200)
      }
      const lines = await world.allEvidence()
      expectGone(lines, WHO)
      const [erased] = lines.filter(({ record }) => record.type === 'disclosures.erased')
      expect(erased?.record.details).toMatchObject({
        members: body.members,
        reason: 'asked for it',
        threads: 3,
      })
      expect(lines.filter(({ disclosures }) => disclosures?.erased !== undefined).length).toBe(body.records)
      expect((await erase(world, selection)).status).toBe(404)
    })
    expectGone(entries, WHO)
    expect(JSON.stringify(entries)).toContain(OTHER)
  })

  it('of a value deletes the waiting deliveries of calls without a thread, in each format', async () => {
    const entries = await played(await places.of(kind), async ({ world, bot }) => {
      const who = 'zaphod-4711@person.example'
      for (const format of ['event', 'chat', 'teams'])
        await notified(world, { format, events: ['decision.rejected', 'decision.allowed'] })
      for (const to of [who, OTHER]) {
        await bot.submit(newTask(), { tool_name: 'pay', payload: { amount: 5, to } })
        world.clock.advance(1)
      }
      const waiting = async () => {
        const ids = (await world.admin('GET', 'webhooks?tenant=acme')).body as {
          readonly webhooks: readonly { readonly waiting: number }[]
        }
        return ids.webhooks.map((one) => one.waiting)
      }
      const before = await waiting()
      expect((await erase(world, { field: 'payload.to', equals: who })).status).toBe(200)
      expect([before, await waiting()]).toEqual([
        [2, 2, 2],
        [1, 1, 1],
      ])
    })
    for (const form of ['zaphod-4711', 'zaphod']) expectGone(entries, form)
    expect(JSON.stringify(entries)).toContain(OTHER)
  })

  it.each(['task', 'thread', 'agent'] as const)('of one %s erases all of it', async (name) => {
    const entries = await played(await places.of(kind), async (all) => {
      await live(all, OTHER)
      const { over = '', task = '' } = await live({ ...all, bot: await all.world.agent('other') }, WHO)
      const selection = { task: { task_id: task }, thread: { thread_id: over }, agent: { agent: 'other' } }[
        name
      ]
      const { body } = await erase(all.world, selection)
      expect(body.threads).toBe(name === 'agent' ? 3 : 1)
      const mine = (await all.world.allEvidence()).filter(({ record }) =>
        name === 'agent' ? record.actor.id === 'other' : record.thread_id === over,
      )
      expect(mine.flatMap(({ disclosures }) => Object.keys(disclosures?.members ?? {}))).toEqual([])
    })
    if (name === 'agent') expectGone(entries, WHO)
    expect(JSON.stringify(entries)).toContain(OTHER)
  })

  it('of data under a legal hold is refused with the reason of the hold', async () => {
    await played(await places.of(kind), async (all) => {
      const { over = '' } = await live(all, WHO)
      const hold = { tenant: 'acme', thread_id: over, reason: 'case 17' }
      expect((await all.world.admin('POST', 'legal-holds', { body: hold })).status).toBe(200)
      const selection = { field: 'payload.to', equals: WHO }
      const { problem } = await erase(all.world, selection)
      expect(problem).toMatchObject({
        code: 'under_legal_hold',
        detail: expect.stringContaining('case 17') as string,
      })
      expect((await all.bot.poll({ thread_id: over })).status).toBe(200)
      await all.world.admin('POST', 'legal-holds/remove', { body: { ...hold, reason: 'over' } })
      expect((await erase(all.world, selection)).status).toBe(200)
    })
  })

  it('without data, or of a name that is no field, is refused and leaves no record', async () => {
    await played(await places.of(kind), async ({ world, bot }) => {
      await bot.submit(newTask(), { tool_name: 'pay', payload: { amount: 5, to: WHO } })
      const before = (await world.allEvidence()).length
      expect((await erase(world, { thread_id: `thr_${'0'.repeat(26)}` })).status).toBe(404)
      for (const field of ['payload.tO', 'payload.to.name'])
        expect((await erase(world, { field, equals: WHO })).status).toBe(404)
      for (const [field, why] of [
        ['to', 'is not a field'],
        ['domain(payload.to)', 'without a function'],
      ]) {
        const { status, problem } = await erase(world, { field, equals: WHO })
        expect(status).toBe(400)
        expect(JSON.stringify(problem)).toContain(why)
      }
      expect((await world.allEvidence()).length).toBe(before)
    })
  })

  it('deletes deliveries about the selection, and no others', async () => {
    const entries = await played(await places.of(kind), async ({ world, bot, ann }) => {
      for (const one of [{ payload: 'full' }, { format: 'chat' }]) await notified(world, one)
      const other = await world.agent('other')
      const pay = { tool_name: 'pay', payload: { amount: 7, to: 'xyz' } }
      await bot.submit(newTask(), pay)
      await other.submit(newTask(), pay)
      await approved(bot, ann, { payload: { amount: 700, to: 'xyz' } })
      expect((await erase(world, { agent: 'other' })).status).toBe(200)
      // a short value that is part of other words
      expect((await erase(world, { field: 'payload.to', equals: 'x' })).status).toBe(404)
      await held(other, { payload: { amount: 600, to: 'x' } })
      expect((await erase(world, { field: 'payload.to', equals: 'x' })).status).toBe(200)
    })
    const agents = entries.flatMap((one) =>
      one.kind === 'record' && one.type === 'delivery'
        ? [(JSON.parse(one.body) as { agent_id: string }).agent_id]
        : [],
    )
    expect(new Set(agents)).toEqual(new Set(['bot']))
  })

  it('keeps what a legal hold covers since the erasure began', async () => {
    let left = Infinity
    const place = await places.of(kind)
    const open = async (clock: Parameters<typeof place.open>[0]): Promise<Store> => {
      const store = await place.open(clock)
      return overriding(store, {
        commit: (partition, commit) => {
          if (partition === 'acme' && left-- <= 0) throw new StoreUnavailable('cut off')
          return store.commit(partition, commit)
        },
      })
    }
    await played({ ...place, open }, async (all) => {
      const { world, bot } = all
      const { over = '', done = '', waits = '' } = await live(all, WHO)
      left = 1
      expect((await erase(world, { field: 'payload.to', equals: WHO })).status).toBe(503)
      left = Infinity
      const hold = { tenant: 'acme', thread_id: over, reason: 'case 17' }
      expect((await world.admin('POST', 'legal-holds', { body: hold })).status).toBe(200)
      for (let i = 0; i < 40; i++) {
        world.clock.advance(6_000)
        await world.due()
      }
      expect((await bot.poll({ thread_id: over })).status).toBe(200)
      for (const thread_id of [done, waits]) expect((await bot.poll({ thread_id })).status).toBe(404)
      const lines = await world.allEvidence()
      const kept = lines.filter(({ disclosures }) => JSON.stringify(disclosures ?? '').includes('eve \\"the'))
      expect(new Set(kept.map(({ record }) => record.thread_id))).toEqual(new Set([over]))
    })
  })

  it('of many records and threads has parts', async () => {
    const entries = await played(await places.of(kind), async (all) => {
      const { world, bot } = all
      await submitMany(bot, 1_010, { tool_name: 'pay', payload: { amount: 5, to: WHO } })
      await live(all, WHO)
      const { body } = await erase(world, { field: 'payload.to', equals: WHO })
      expect(body.records).toBeGreaterThan(1_010)
      const lines = await world.allEvidence()
      const parts = lines.filter(({ record }) => record.type === 'disclosures.erased')
      expect(parts.length).toBeGreaterThan(2)
      const members = parts.map(({ record }) => Number(record.details?.['members']))
      expect(members.reduce((sum, one) => sum + one, 0)).toBe(body.members)
      const erased = lines.map(({ disclosures }) => disclosures?.erased?.length ?? 0)
      expect(erased.reduce((sum, one) => sum + one, 0)).toBe(body.members)
    })
    expectGone(entries, WHO)
  })

  it('that a crash ends after any commit is finished by the timer', async () => {
    for (let commits = 1; commits < 40; commits += IS_LONG ? 1 : 5) {
      let left = Infinity
      const place = await places.of(kind)
      const entries = await played(
        {
          ...place,
          open: async (clock) => {
            const store = await place.open(clock)
            return overriding(store, {
              commit: (partition, commit) => {
                if (partition === 'acme' && left-- <= 0) throw new StoreUnavailable('cut off')
                return store.commit(partition, commit)
              },
            })
          },
        },
        async (all) => {
          await live(all, WHO)
          left = commits
          const { status } = await erase(all.world, { field: 'payload.to', equals: WHO })
          left = Infinity
          expect([200, 503]).toContain(status)
          all.world.clock.advance(6_000)
          for (let i = 0; i < 12; i++) {
            all.world.clock.advance(6_000)
            await all.world.due()
          }
        },
      )
      expectGone(entries, WHO)
    }
  })
})
