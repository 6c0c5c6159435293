// @store each
import { connect } from 'node:net'
import { beforeAll, describe, expect, it } from 'vitest'
import { StoreUnavailable, type Store, type StoredEvent } from '../../src/store/store.ts'
import { fileWorld, world } from '../agent-world.ts'
import {
  type Agent,
  breakRecord,
  held,
  newTask,
  openWorld,
  overriding,
  type World,
} from '../gateway-fixture.ts'
import { until } from '../until.ts'
import { Listener } from '../stream-listener.ts'

/** GET stream: what happens to threads, as it happens (docs/review-api.md). */

let bot: Agent
let ann: Awaited<ReturnType<World['reviewer']>>

fileWorld({ streamBeatMs: 20 })
beforeAll(async () => {
  bot = await world.agent()
  ann = await world.reviewer('ann')
})

describe('GET stream', () => {
  it('200 sends hello with the number of the last record, and then each change with the current thread', async () => {
    const before = (await world.allEvidence()).length
    const listener = await Listener.open(ann)
    expect(listener.status).toBe(200)
    expect(listener.headers.get('content-type')).toBe('text/event-stream')
    expect((await listener.first('hello')).id).toBe(before)
    const { thread, task } = await held(bot, { subject: 'live' })
    const { id, data } = await listener.first('thread', thread)
    expect(data).toMatchObject({
      number: id,
      type: 'review.pending',
      actor: 'agent:bot',
      thread: { thread_id: thread, task_id: task, subject: 'live', status: 'pending_review', mine: true },
    })
    await ann.approve(thread)
    await until(() => listener.about(thread).includes('review.approved'))
    expect(listener.about(thread)).toEqual(['review.pending', 'vote.cast', 'review.approved'])
    listener.close()
  })

  it("200 continues at the reader's position without gaps or repeats, wherever it was cut off", async () => {
    const seen: number[] = []
    const threads: string[] = []
    let last = String((await world.allEvidence()).length)
    const from = Number(last)
    for (let round = 0; round < 4; round++) {
      threads.push((await held(bot)).thread)
      const listener = await Listener.open(ann, last)
      threads.push((await held(bot)).thread)
      await listener.first('thread', threads.at(-1))
      listener.close()
      const { messages } = listener
      const changes = messages.filter(({ event }) => event === 'thread')
      seen.push(...changes.map(({ id }) => id))
      last = changes.at(-1)?.place ?? last
    }
    const all = (await world.allEvidence()).slice(from).filter(({ record }) => record.thread_id !== undefined)
    expect(seen).toEqual(all.map(({ number }) => number))
    expect(threads).toHaveLength(8)
  })

  it('200 skips a thread with a broken record, and sends the others', async () => {
    const from = (await world.allEvidence()).length
    const [one, two] = [await held(bot), await held(bot)]
    const mend = await breakRecord(world, 'thread', one.thread)
    const listener = await Listener.open(ann, String(from))
    await listener.first('thread', two.thread)
    expect(listener.about(one.thread)).toEqual([])
    listener.close()
    await mend()
  })

  it('200 sends missed records in small parts, and lets other requests run in between', async () => {
    let turns = 0
    const pages: { turns: number; after: number; limit: number }[] = []
    const wrapStore = (store: Store): Store =>
      overriding(store, {
        events: (partition, after, limit) => {
          if (partition === 'acme') pages.push({ turns, after, limit })
          return store.events(partition, after, limit)
        },
      })
    const own = await openWorld({ wrapStore })
    const [agent, reader] = [await own.agent(), await own.reviewer('ann')]
    const { thread } = await held(agent)
    for (let i = 0; i < 120; i++) await reader.call('POST', `threads/${thread}/claim`, { body: {} })
    let counting = true
    const count = (): void => {
      turns += 1
      if (counting) setImmediate(count)
    }
    count()
    pages.length = 0
    const listener = await Listener.open(reader, 1)
    await listener.first('hello')
    counting = false
    expect(listener.about(thread)).toHaveLength(121)
    // the feed itself and a checkpoint read records too, and not these
    const read = pages.filter(({ after, limit }) => after % 50 === 1 && limit > 4 && limit < 500)
    expect(read.map(({ after }) => after)).toEqual([1, 51, 101])
    expect(Math.max(...read.map(({ limit }) => limit))).toBeLessThanOrEqual(50)
    expect(new Set(read.map((page) => page.turns)).size).toBe(read.length)
    await own.close()
  })

  it('200 sends records of a suspension of the gateway in small parts too', async () => {
    let known = Infinity
    const limits: number[] = []
    const wrapStore = (store: Store): Store =>
      overriding(store, {
        events: async (partition, after, limit) => {
          // a reader that looks for the next record sees the last one again
          if (partition === 'acme' && after === known - 1) limits.push(limit)
          const found = await store.events(partition, after, limit)
          return partition === 'acme' ? found.filter(({ number }) => number <= known) : found
        },
      })
    const own = await openWorld({ wrapStore })
    const [agent, reader] = [await own.agent(), await own.reviewer('ann')]
    const { thread } = await held(agent)
    const listener = await Listener.open(reader)
    await listener.first('hello')
    known = (await own.allEvidence()).length
    for (let i = 0; i < 120; i++) await reader.call('POST', `threads/${thread}/claim`, { body: {} })
    limits.length = 0
    await until(() => limits.length > 0)
    expect(Math.max(...limits)).toBeLessThanOrEqual(51)
    known = Infinity
    await until(() => listener.about(thread).length === 120)
    listener.close()
    await own.close()
  })

  it('200 sends no calls that were decided at once, and none of other tenants', async () => {
    const listener = await Listener.open(ann)
    await listener.first('hello')
    const foreign = await world.agent('bot', 'globex')
    await held(foreign)
    await bot.submit(newTask(), { tool_name: 't', payload: { text: '"thread_id":"thr_x"' } })
    const { thread } = await held(bot)
    await listener.first('thread', thread)
    expect(listener.messages.filter(({ event }) => event === 'thread')).toHaveLength(1)
    listener.close()
  })

  it('200 reset for an unknown number, because the store has changed', async () => {
    const last = (await world.allEvidence()).length
    const far = await Listener.open(ann, 10 ** 15 - 1)
    expect((await far.first('reset')).id).toBe(last)
    far.close()
    const listener = await Listener.open(ann, last + 1)
    expect((await listener.first('reset')).id).toBe(last)
    const { thread } = await held(bot)
    await listener.first('thread', thread)
    listener.close()
  })

  it('200 reset for a record of another commit: the store lost the sent one and reused its number', async () => {
    const first = await Listener.open(ann)
    await first.first('hello')
    const { thread } = await held(bot)
    const { id, place } = await first.first('thread', thread)
    const behind = await held(bot)
    await first.first('thread', behind.thread)
    const forgotten = await Listener.open(ann, `${id}-${'x'.repeat(place.length)}`)
    const reset = await forgotten.first('reset')
    expect(forgotten.messages[0]).toBe(reset)
    for (const after of [place, id, '0']) {
      const again = await Listener.open(ann, after)
      const { place: end } = await again.first('hello')
      expect(end).toBe(reset.place)
      expect(again.messages.some(({ event }) => event === 'reset')).toBe(false)
      expect(again.about(thread)).toEqual(after === '0' ? ['review.pending'] : [])
      again.close()
    }
    for (const one of [first, forgotten]) one.close()
  })

  it('400 for an invalid Last-Event-ID, 401 without a credential', async () => {
    const open = (headers: Record<string, string>) => fetch(`${world.url}/api/review/stream`, { headers })
    for (const none of ['x', '1-', '-1', '1-a b', '1e3', `1-${'x'.repeat(129)}`])
      expect((await open({ ...ann.credentials(), 'last-event-id': none })).status).toBe(400)
    expect((await open({})).status).toBe(401)
    expect((await open({ authorization: `Bearer ${bot.key}` })).status).toBe(401)
  })

  it('429 for a reader with too many open streams, until one is closed', async () => {
    const listeners: Listener[] = []
    for (let i = 0; i < 16; i++) listeners.push(await Listener.open(ann))
    const refused = await Listener.open(ann)
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('5')
    expect((await Listener.open(await world.reviewer('ben'))).status).toBe(200)
    listeners[0]?.close()
    await until(async () => {
      const again = await Listener.open(ann)
      listeners.push(again)
      return again.status === 200
    })
    for (const listener of listeners) listener.close()
  })

  it('sends signs of life, and ends with signed_out soon after the credential is revoked', async () => {
    const eve = await world.reviewer('eve')
    const dan = await world.signIn('dan')
    const listeners = [await Listener.open(eve), await Listener.open(dan)]
    for (const listener of listeners) await until(() => listener.comments > 1)
    await world.admin('DELETE', 'reviewers/acme/eve/key')
    await dan.call('DELETE', 'session')
    for (const listener of listeners) {
      await listener.first('signed_out')
      await until(() => listener.ended)
    }
  })

  it('keeps nothing of a stream that ended with its session, though the connection stays open', async () => {
    const own = await openWorld({ streamBeatMs: 20 })
    for (let round = 0; round < 17; round++) {
      const ben = await own.signIn('ben')
      const listener = await Listener.open(ben)
      expect([round, listener.status]).toEqual([round, 200])
      await listener.first('hello')
      await ben.call('DELETE', 'session')
      await until(() => listener.ended)
      await until(() => own.watches === 0)
    }
    await own.close()
  })

  it('sends nothing to a revoked credential, even when a change comes first', async () => {
    const own = await openWorld()
    const agent = await own.agent()
    const cat = await own.reviewer('cat')
    const listener = await Listener.open(cat)
    await listener.first('hello')
    await own.admin('DELETE', 'reviewers/acme/cat/key')
    await held(agent)
    await listener.first('signed_out')
    expect(listener.messages.map(({ event }) => event)).toEqual(['hello', 'signed_out'])
    await own.close()
  })

  it('sends no missed records to a revoked credential', async () => {
    const wrapStore = (store: Store): Store =>
      overriding(store, {
        events: async (partition, after, limit) => {
          // what a listener missed is read 50 records at a time, here from the first on
          const secondPart = partition === 'acme' && limit === 50 && after === 51
          if (secondPart) await own.admin('DELETE', 'reviewers/acme/cat/key')
          return store.events(partition, after, limit)
        },
      })
    const own: World = await openWorld({ wrapStore })
    const [agent, cat] = [await own.agent(), await own.reviewer('cat')]
    const { thread } = await held(agent)
    for (let i = 0; i < 120; i++) await cat.call('POST', `threads/${thread}/claim`, { body: {} })
    const listener = await Listener.open(cat, 1)
    await until(() => listener.ended)
    expect(listener.messages.at(-1)?.event).toBe('signed_out')
    // the first part only, and one record of it is about a key
    expect(listener.about(thread)).toHaveLength(49)
    await own.close()
  })

  it('keeps nothing for a reader that does not read: the queue is dropped with the connection', async () => {
    let thread = ''
    const last = 9_000
    const fake = (number: number): StoredEvent => ({
      number,
      commitId: 'x',
      body: JSON.stringify({ type: 'x', at: '', actor: { kind: 'agent', id: 'bot' }, thread_id: thread }),
    })
    const wrapStore = (store: Store): Store =>
      overriding(store, {
        events: (partition, after, limit) => {
          if (thread === '') return store.events(partition, after, limit)
          const length = Math.max(0, Math.min(limit, last - after))
          return Promise.resolve(Array.from({ length }, (_, i) => fake(after + 1 + i)))
        },
      })
    const own = await openWorld({ wrapStore, tampered: true })
    const reader = await own.reviewer('ann')
    const subject = '\u{1F9FE}'.repeat(200)
    thread = (await held(await own.agent(), { subject })).thread
    const socket = connect(Number(new URL(own.url).port), '127.0.0.1')
    const head = ['GET /api/review/stream HTTP/1.1', 'host: x', 'last-event-id: 1']
    socket.write(`${[...head, `authorization: Bearer ${reader.key}`].join('\r\n')}\r\n\r\n`)
    await until(() => own.watches > 0)
    await until(() => own.watches === 0)
    let tail = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => (tail = Buffer.concat([tail, chunk]).subarray(-64)))
    await new Promise((resolve) => socket.once('close', resolve).on('error', resolve))
    expect(tail.length).toBe(64)
    expect(tail.toString().endsWith('\r\n0\r\n\r\n')).toBe(false)
    await own.close()
  })

  it('ends when the store cannot be read, and the gateway closes without waiting for readers', async () => {
    let broken = false
    const wrapStore = (store: Store): Store =>
      overriding(store, {
        events: (...args) =>
          broken ? Promise.reject(new StoreUnavailable('broken by the test')) : store.events(...args),
      })
    const own = await openWorld({ wrapStore })
    const reader = await own.reviewer('ann')
    const first = await Listener.open(reader)
    await first.first('hello')
    broken = true
    await until(() => first.ended)
    broken = false
    const second = await Listener.open(reader)
    await second.first('hello')
    await own.close()
    await until(() => second.ended)
  })
})
