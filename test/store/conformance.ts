import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { STORE_LIMITS, StoreIndeterminate, StoreUnavailable } from '../../src/store/store.ts'
import type { Commit, CommitResult, IndexEntry, Store } from '../../src/store/store.ts'
import { commitOf } from './commit-of.ts'
import { LIMIT_LAWS } from './conformance-limits.ts'

/*
 * The laws of the store port as tests. A new adapter is put to them with one line:
 *
 *   storeConformance('redis', async () => ({ store: await openRedisStore(...), cleanup: ... }))
 *
 * Nothing here knows an adapter: time is taken from `store.now()`, and everything is awaited.
 */
export interface OpenedStore {
  readonly store: Store
  /** Closes the store and opens it anew on the same data; left out when the adapter cannot. */
  readonly reopen?: () => Promise<Store>
  /** Ends whatever was opened and removes the data. */
  readonly cleanup: () => Promise<void>
}

export type Law = (opened: OpenedStore) => Promise<void>

const LAWS: Record<string, Law> = {
  ...LIMIT_LAWS,

  async 'S01 a commit applies its puts, its deletes, its index entries and its events together'({ store }) {
    await put(store, 'old', 'a')
    const result = await store.commit(
      't',
      commitOf(store, {
        writes: [
          { op: 'put', type: 'thread', id: 'new', body: 'b' },
          { op: 'delete', type: 'thread', id: 'old' },
          { op: 'index', index: 'pending', member: 'new', to: 7 },
        ],
        events: ['one', 'two'],
      }),
    )
    expect(result).toEqual({ ok: true, numbers: [1, 2] })
    expect(await store.get('t', 'thread', 'old')).toBeUndefined()
    expect(await store.get('t', 'thread', 'new')).toMatchObject({ body: 'b', revision: 1 })
    expect(await store.range('t', 'pending', { limit: 10 })).toEqual([{ score: 7, member: 'new' }])
    expect((await store.events('t', 0, 10)).map(({ body }) => body)).toEqual(['one', 'two'])
  },

  async 'S01 a commit with thousands of parts applies as a whole'({ store }) {
    const ids = Array.from({ length: 3_000 }, (_, i) => `id${i}`)
    await store.commit(
      't',
      commitOf(store, {
        writes: ids.map((id) => ({ op: 'put', type: 'thread', id, body: id })),
        events: ids,
      }),
    )
    expect((await store.events('t', 0, 10_000)).map(({ body }) => body)).toEqual(ids)
    for (const id of ids) expect((await store.get('t', 'thread', id))?.body).toBe(id)
  },

  async 'S01 a body of several megabytes and every kind of text comes back as it was'({ store }) {
    const bodies = [
      '',
      '\n\n',
      'a\nb\0c',
      'äöü € 😀 \u{10ffff} \u2028',
      'x'.repeat(70_000),
      '€😀'.repeat(900_000),
    ]
    for (const [i, body] of bodies.entries()) {
      await store.commit(
        't',
        commitOf(store, { writes: [{ op: 'put', type: 'blob', id: `${i}`, body }], events: [body] }),
      )
      expect((await store.get('t', 'blob', `${i}`))?.body === body).toBe(true)
      expect((await store.events('t', i, 1))[0]?.body === body).toBe(true)
      expect(await guarded(store, [{ type: 'blob', id: `${i}`, revision: 1 }])).toMatchObject({ ok: true })
    }
  },

  async 'S02 what was acknowledged is there after a reopen'(opened) {
    const { store, reopen } = opened
    if (reopen === undefined) return
    await store.commit(
      't',
      commitOf(store, {
        commitId: 'kept',
        writes: [
          { op: 'put', type: 'thread', id: 'a', body: 'body' },
          { op: 'index', index: 'pending', member: 'a', to: -1.5 },
        ],
        events: ['e'],
      }),
    )
    const again = await reopen()
    expect(await again.get('t', 'thread', 'a')).toEqual({ body: 'body', revision: 1, commitId: 'kept' })
    expect(await again.range('t', 'pending', { limit: 5 })).toEqual([{ score: -1.5, member: 'a' }])
    expect(await again.events('t', 0, 5)).toEqual([{ number: 1, body: 'e', commitId: 'kept' }])
    expect(await again.commit('t', commitOf(again, { events: ['f'] }))).toEqual({ ok: true, numbers: [2] })
  },

  async 'S03 a commit with a failing guard changes nothing and names every guard that failed'({ store }) {
    await put(store, 'a', '1')
    await put(store, 'b', '1')
    const result = await store.commit(
      't',
      commitOf(store, {
        guards: [
          { type: 'thread', id: 'a', revision: 2 },
          { type: 'thread', id: 'b', revision: 1 },
          { type: 'thread', id: 'c', revision: 0 },
          { type: 'thread', id: 'd', revision: 1 },
          { type: 'thread', id: 'b', revision: 0 },
        ],
        writes: [
          { op: 'put', type: 'thread', id: 'c', body: 'x' },
          { op: 'delete', type: 'thread', id: 'a' },
          { op: 'index', index: 'pending', member: 'c', to: 1 },
        ],
        events: ['never'],
      }),
    )
    expect(result).toEqual({ ok: false, reason: 'guard', failed: [0, 3, 4] })
    expect(await store.get('t', 'thread', 'c')).toBeUndefined()
    expect(await store.get('t', 'thread', 'a')).toMatchObject({ body: '1' })
    expect(await store.range('t', 'pending', { limit: 5 })).toEqual([])
    expect(await store.events('t', 0, 5)).toEqual([])
  },

  async 'S03 guards see what was there before the commit, not its own writes'({ store }) {
    const result = await store.commit(
      't',
      commitOf(store, {
        guards: [{ type: 'thread', id: 'a', revision: 0 }],
        writes: [{ op: 'put', type: 'thread', id: 'a', body: 'x' }],
      }),
    )
    expect(result.ok).toBe(true)
  },

  async 'S03 of 64 callers that create one record exactly one wins'({ store }) {
    const results = await Promise.all(
      Array.from({ length: 64 }, (_, i) =>
        store.commit(
          't',
          commitOf(store, {
            guards: [{ type: 'token', id: 'x', revision: 0 }],
            writes: [{ op: 'put', type: 'token', id: 'x', body: `${i}` }],
            events: [`${i}`],
          }),
        ),
      ),
    )
    expect(results.filter(({ ok }) => ok)).toHaveLength(1)
    expect(results.filter((result) => !result.ok && result.reason === 'guard')).toHaveLength(63)
    expect(await store.events('t', 0, 100)).toHaveLength(1)
    expect(await store.get('t', 'token', 'x')).toMatchObject({ revision: 1 })
  },

  async 'S04 a reader sees all of a commit or none of it'({ store }) {
    let done = false
    const writer = async (): Promise<void> => {
      for (let i = 1; i <= 100; i++)
        await store.commit(
          't',
          commitOf(store, {
            writes: ['a', 'b', 'c'].map((member) => ({ op: 'index', index: 'x', member, to: i })),
            events: ['e', 'e', 'e'],
          }),
        )
      done = true
    }
    const reader = async (): Promise<void> => {
      while (!done) {
        const scores = (await store.range('t', 'x', { limit: 10 })).map(({ score }) => score)
        expect(new Set(scores).size).toBeLessThanOrEqual(1)
        expect([0, 3]).toContain(scores.length)
        expect((await store.events('t', 0, 1_000)).length % 3).toBe(0)
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    await Promise.all([writer(), reader(), reader()])
  },

  async 'S04 partitions, types and indexes never see one another, whatever their names are'({ store }) {
    const label = (...parts: string[]): string => JSON.stringify(parts)
    const names = ['a', 'ab', 'b', '', 'a\0', 'a\0b', 'a\u0001', 'é', '😀', '\ud83d', ':', 'a:b']
    for (const partition of names)
      for (const name of names)
        await store.commit(
          partition,
          commitOf(store, {
            writes: [
              { op: 'put', type: name, id: 'id', body: label(partition, name) },
              { op: 'index', index: name, member: `${partition}/${name}`, to: 1 },
            ],
            events: [label(partition, name)],
          }),
        )
    for (const partition of names) {
      for (const name of names) {
        expect(await store.get(partition, name, 'id')).toMatchObject({
          body: label(partition, name),
          revision: 1,
        })
        expect(await store.range(partition, name, { limit: 9 })).toEqual([
          { score: 1, member: `${partition}/${name}` },
        ])
      }
      expect((await store.events(partition, 0, 99)).map(({ body }) => body)).toEqual(
        names.map((name) => label(partition, name)),
      )
    }
    expect(await store.get('c', 'a', 'id')).toBeUndefined()
  },

  async 'S05 a range is ordered by score: negative, fractional, huge and zero'({ store }) {
    const scores = [
      -Number.MAX_VALUE,
      -1e9,
      -2,
      -1.5,
      -Number.MIN_VALUE,
      0,
      Number.MIN_VALUE,
      0.1,
      1,
      1.5,
      2,
      1_763_632_800_000,
      Number.MAX_SAFE_INTEGER,
      Number.MAX_VALUE,
    ]
    const shuffled = scores.toSorted((a, b) => Math.sin(a + 1) - Math.sin(b + 1))
    for (const score of shuffled) await move(store, 'x', `m${score}`, score)
    const entries = scores.map((score) => ({ score, member: `m${score}` }))
    expect(await store.range('t', 'x', { limit: 99 })).toEqual(entries)
    expect(await store.count('t', 'x')).toBe(entries.length)
    expect(await store.count('t', 'y')).toBe(0)
    expect(await store.range('t', 'x', { limit: 99, reverse: true })).toEqual(entries.toReversed())
    await move(store, 'x', 'm0', -0)
    expect((await store.range('t', 'x', { limit: 1, min: 0 }))[0]).toEqual({ score: 0, member: 'm0' })
  },

  async 'S05 equal scores are ordered by member in code unit order, also beyond the BMP'({ store }) {
    const members = [
      '',
      '\0',
      '\0\0',
      '\u0001',
      '\u0002',
      ' ',
      'A',
      'a',
      'a\0',
      'aa',
      'ab',
      'b',
      '\u007f',
      '\u0080',
      'é',
      '\u07ff',
      '\u0800',
      '€',
      '\ud7ff',
      '\ud83d',
      '😀',
      '\u{10ffff}',
      '\udc00',
      '\ue000',
      '\uffff',
    ]
    expect(members.toSorted()).toEqual(members)
    for (const member of members.toReversed()) await move(store, 'x', member, 5)
    const entries = members.map((member) => ({ score: 5, member }))
    expect(await store.range('t', 'x', { limit: 99 })).toEqual(entries)
    expect(await store.range('t', 'x', { limit: 99, reverse: true })).toEqual(entries.toReversed())
    for (const [i, entry] of entries.entries()) {
      expect(await store.range('t', 'x', { limit: 99, after: entry })).toEqual(entries.slice(i + 1))
      expect(await store.range('t', 'x', { limit: 99, after: entry, reverse: true })).toEqual(
        entries.slice(0, i).toReversed(),
      )
    }
  },

  async 'S05 bounds are inclusive, limits are kept, and pages continue behind an entry in both directions'({
    store,
  }) {
    const all: IndexEntry[] = []
    for (const score of [1, 2, 3])
      for (const member of ['a', 'b', 'c']) all.push({ score, member: member + score })
    for (const { score, member } of all) await move(store, 'x', member, score)
    const range = (bounds: object): Promise<IndexEntry[]> => store.range('t', 'x', { limit: 99, ...bounds })
    expect(await range({ min: 2, max: 2 })).toEqual(all.slice(3, 6))
    expect(await range({ min: 1.5 })).toEqual(all.slice(3))
    expect(await range({ max: 2, reverse: true })).toEqual(all.slice(0, 6).toReversed())
    expect(await range({ min: 3, max: 1 })).toEqual([])
    expect(await range({ limit: 0 })).toEqual([])
    expect(await range({ min: -Infinity, max: Infinity })).toEqual(all)
    for (const reverse of [false, true]) {
      const pages: IndexEntry[] = []
      for (;;) {
        const after = pages.at(-1)
        const page = await range({ limit: 2, reverse, min: 1, max: 3, ...(after && { after }) })
        pages.push(...page)
        if (page.length < 2) break
      }
      expect(pages).toEqual(reverse ? all.toReversed() : all)
    }
    expect(await range({ after: { score: 2, member: 'gone' }, min: 1 })).toEqual(all.slice(6))
    expect(await range({ after: { score: 0, member: 'a' }, min: 2 })).toEqual(all.slice(3))
    expect(await range({ after: { score: 9, member: 'a' }, max: 1, reverse: true })).toEqual(
      all.slice(0, 3).toReversed(),
    )
  },

  async 'S06 events are numbered without gap in commit order, those of one commit in a row'({ store }) {
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        store.commit(
          't',
          commitOf(store, {
            guards: [{ type: 'none', id: 'x', revision: i % 10 === 0 ? 1 : 0 }],
            events: Array.from({ length: i % 4 }, (_each, part) => `${i}.${part}`),
          }),
        ),
      ),
    )
    const events = await store.events('t', 0, 10_000)
    expect(events.map(({ number }) => number)).toEqual(events.map((_, i) => i + 1))
    for (const [i, result] of results.entries()) {
      if (!result.ok) continue
      const [first = 0] = result.numbers
      expect(result.numbers).toEqual(Array.from({ length: i % 4 }, (_, part) => first + part))
      for (const [part, number] of result.numbers.entries())
        expect(events[number - 1]).toMatchObject({ number, body: `${i}.${part}` })
    }
    expect(await store.events('t', 5, 2)).toEqual(events.slice(5, 7))
    for (const far of [events.length, 2 ** 48 - 2, 2 ** 48 - 1, 2 ** 48, Number.MAX_SAFE_INTEGER])
      expect(await store.events('t', far, 2)).toEqual([])
    expect(await store.events('t', 0, 0)).toEqual([])
  },

  async 'S07 an item is given to one claimant, oldest first, and comes back when its lease ends'({ store }) {
    for (let i = 0; i < 20; i++) await move(store, 'q', `m${i}`, 100 - i)
    await move(store, 'q', 'later', 1_001)
    const claims = await Promise.all(
      Array.from({ length: 8 }, () => store.claimDue('t', 'q', { now: 1_000, lease: 500, limit: 4 })),
    )
    const given = claims.flat()
    expect(given).toHaveLength(20)
    expect(new Set(given.map(({ member }) => member)).size).toBe(20)
    for (const claim of claims) expect(claim).toEqual(claim.toSorted((a, b) => a.score - b.score))
    expect(claims[0]?.[0]).toEqual({ score: 81, member: 'm19' })
    expect(await store.claimDue('t', 'q', { now: 1_499, lease: 500, limit: 50 })).toEqual([
      { score: 1_001, member: 'later' },
    ])
    expect(await store.claimDue('t', 'q', { now: 1_500, lease: 500, limit: 50 })).toHaveLength(20)
    expect(await store.claimDue('t', 'q', { now: 1_500, lease: 500, limit: 0 })).toEqual([])
  },

  async 'S07 removing the entry ends the lease, whatever score the remover knew'({ store }) {
    await move(store, 'q', 'a', 1)
    await move(store, 'q', 'b', 2)
    await store.claimDue('t', 'q', { now: 10, lease: 100, limit: 9 })
    expect(await store.range('t', 'q', { limit: 9 })).toEqual([
      { score: 110, member: 'a' },
      { score: 110, member: 'b' },
    ])
    await store.commit('t', commitOf(store, { writes: [{ op: 'index', index: 'q', member: 'a' }] }))
    await store.commit('t', commitOf(store, { writes: [{ op: 'index', index: 'q', member: 'b', to: 50 }] }))
    expect(await store.claimDue('t', 'q', { now: 50, lease: 100, limit: 9 })).toEqual([
      { score: 50, member: 'b' },
    ])
    expect(await store.range('t', 'q', { limit: 9 })).toEqual([{ score: 150, member: 'b' }])
  },

  async 'S07 claims and commits on one index run one after the other'({ store }) {
    const results = await Promise.all([
      move(store, 'q', 'a', 1),
      store.claimDue('t', 'q', { now: 5, lease: 10, limit: 9 }),
      move(store, 'q', 'b', 2),
      store.claimDue('t', 'q', { now: 5, lease: 10, limit: 9 }),
      store.claimDue('t', 'q', { now: 5, lease: 10, limit: 9 }),
    ])
    const given = [results[1], results[3], results[4]].flat().map(({ member }) => member)
    expect(new Set(given).size).toBe(given.length)
    const rest = await store.claimDue('t', 'q', { now: 5, lease: 10, limit: 9 })
    expect([...given, ...rest.map(({ member }) => member)].toSorted()).toEqual(['a', 'b'])
  },

  async 'S08 a commit that comes after its deadline changes nothing'({ store }) {
    const result = await store.commit(
      't',
      commitOf(store, {
        deadline: store.now() - 1,
        guards: [{ type: 'thread', id: 'a', revision: 3 }],
        writes: [{ op: 'put', type: 'thread', id: 'a', body: 'x' }],
        events: ['x'],
      }),
    )
    expect(result).toEqual({ ok: false, reason: 'late' })
    expect(await store.get('t', 'thread', 'a')).toBeUndefined()
    expect(await store.events('t', 0, 9)).toEqual([])
  },

  async 'S09 under load every call ends by its deadline in one of the four ways, and says the truth'({
    store,
  }) {
    const answers = await Promise.all(
      Array.from({ length: 2_000 }, async (_, i) => {
        const deadline = store.now() + (i % 20)
        const commit = commitOf(store, {
          deadline,
          writes: [{ op: 'put', type: 'thread', id: `${i}`, body: 'x' }],
        })
        const answer = await store.commit('t', commit).catch((error: unknown) => error)
        return { answer, over: store.now() - deadline }
      }),
    )
    for (const [i, { answer, over }] of answers.entries()) {
      expect(over).toBeLessThan(5_000)
      const there = (await store.get('t', 'thread', `${i}`)) !== undefined
      if (answer instanceof StoreIndeterminate) continue
      if (answer instanceof StoreUnavailable) expect(there).toBe(false)
      else if ((answer as CommitResult).ok) expect(there).toBe(true)
      else expect([answer, there]).toEqual([{ ok: false, reason: 'late' }, false])
    }
  },

  async 'S10 a revision starts at 1, grows by one with each put and starts anew after a delete'({ store }) {
    const revision = async (): Promise<number | undefined> => (await store.get('t', 'thread', 'a'))?.revision
    await put(store, 'a', '1')
    expect(await revision()).toBe(1)
    await put(store, 'a', '2')
    expect(await revision()).toBe(2)
    await store.commit(
      't',
      commitOf(store, {
        writes: [
          { op: 'put', type: 'thread', id: 'a', body: '3' },
          { op: 'put', type: 'thread', id: 'a', body: '4' },
        ],
      }),
    )
    expect(await store.get('t', 'thread', 'a')).toMatchObject({ body: '4', revision: 4 })
    await store.commit('t', commitOf(store, { writes: [{ op: 'delete', type: 'thread', id: 'a' }] }))
    expect(await revision()).toBeUndefined()
    await store.commit('t', commitOf(store, { writes: [{ op: 'delete', type: 'thread', id: 'a' }] }))
    await put(store, 'a', '5')
    expect(await revision()).toBe(1)
    await Promise.all(Array.from({ length: 50 }, () => put(store, 'a', 'x')))
    expect(await revision()).toBe(51)
  },

  async 'S11 watch wakes after a commit in its partition'({ store }) {
    const waiting = [
      store.watch('t', new AbortController().signal),
      store.watch('t', AbortSignal.timeout(9_000)),
    ]
    await store.commit('t', commitOf(store, { events: ['e'] }))
    await Promise.all(waiting)
    const again = store.watch('t', new AbortController().signal)
    await put(store, 'a', 'x')
    await again
  },

  async 'S11 watch of a record wakes after a commit that wrote it, and after no other'({ store }) {
    let woken = false
    const record = { type: 'thread', id: 'watched' }
    const waiting = store.watch('t', new AbortController().signal, record).then(() => (woken = true))
    await store.commit('t', commitOf(store, { guards: [{ ...record, revision: 0 }], events: ['e'] }))
    await put(store, 'another', 'x')
    await store.commit('other', commitOf(store, { writes: [{ op: 'put', ...record, body: 'x' }] }))
    expect(woken).toBe(false)
    await store.commit('t', commitOf(store, { writes: [{ op: 'put', ...record, body: 'x' }] }))
    await waiting
    const deleted = store.watch('t', new AbortController().signal, record)
    await store.commit('t', commitOf(store, { writes: [{ op: 'delete', ...record }] }))
    await deleted
  },

  async 'S11 watch ends when its signal aborts, also when it had aborted before'({ store }) {
    const controller = new AbortController()
    const waiting = store.watch('t', controller.signal)
    controller.abort()
    await waiting
    await store.watch('t', controller.signal)
  },

  async 'S12 time never goes backwards and is close to the wall clock'({ store }) {
    let last = store.now()
    expect(Number.isInteger(last)).toBe(true)
    expect(Math.abs(last - Date.now())).toBeLessThan(60_000)
    for (let i = 0; i < 100; i++) {
      await store.commit('t', commitOf(store, { events: ['e'] }))
      expect(store.now()).toBeGreaterThanOrEqual(last)
      last = store.now()
    }
  },

  async 'S12 time does not go backwards over a reopen'({ store, reopen }) {
    if (reopen === undefined) return
    const before = store.now()
    expect((await reopen()).now()).toBeGreaterThanOrEqual(before)
  },

  async 'S13 after close every call fails, health says not ready and watchers wake'({ store }) {
    await put(store, 'a', 'x')
    const watching = store.watch('t', new AbortController().signal)
    const commit = commitOf(store, { events: ['e'] })
    await store.close()
    await watching
    await store.close()
    const signal = new AbortController().signal
    for (const call of [
      store.get('t', 'thread', 'a'),
      store.range('t', 'x', { limit: 1 }),
      store.count('t', 'x'),
      store.charged('t', 'l', 1),
      store.events('t', 0, 1),
      store.epoch('t'),
      store.watch('t', signal),
      store.commit('t', commit),
      store.claimDue('t', 'x', { now: 1, lease: 1, limit: 1 }),
    ])
      await expect(call).rejects.toBeInstanceOf(StoreUnavailable)
    expect(await store.health()).toMatchObject({ ready: false, reason: expect.any(String) })
    expect(store.now()).toBeGreaterThan(0)
  },

  async 'S13 a commit that runs when the store closes is either done or refused'({ store, reopen }) {
    const calls = Array.from({ length: 200 }, (_, i) =>
      put(store, `${i}`, 'x').then(
        () => true,
        (error: unknown) => !(error instanceof StoreUnavailable) && Promise.reject(error as Error),
      ),
    )
    await store.close()
    const done = await Promise.all(calls)
    if (reopen === undefined) return
    const again = await reopen()
    for (const [i, written] of done.entries())
      expect((await again.get('t', 'thread', `${i}`)) !== undefined).toBe(written)
  },

  async 'S14 a record and an event carry the id of the commit that wrote them'({ store }) {
    const write = (commitId: string): Promise<CommitResult> =>
      store.commit(
        't',
        commitOf(store, {
          commitId,
          writes: [{ op: 'put', type: 'thread', id: 'a', body: commitId }],
          events: ['e'],
        }),
      )
    const ids = ['first', 'ü/"€😀', 'x'.repeat(STORE_LIMITS.commitIdLength)]
    for (const id of ids) {
      await write(id)
      expect(await store.get('t', 'thread', 'a')).toMatchObject({ commitId: id, body: id })
    }
    expect((await store.events('t', 0, 9)).map(({ commitId }) => commitId)).toEqual(ids)
  },

  async 'S14 a guard that names a commit holds for the record which that commit wrote, at that revision'({
    store,
  }) {
    const name = { type: 'thread', id: 'a' }
    const put = async (commitId: string): Promise<unknown> =>
      store.commit('t', commitOf(store, { commitId, writes: [{ op: 'put', ...name, body: 'b' }] }))
    await put('first')
    await put('ü/"€😀')
    const guards = [
      { ...name, revision: 2, commitId: 'ü/"€😀' },
      { ...name, revision: 2, commitId: 'first' },
      { ...name, revision: 2, commitId: 'ü/"€' },
      { ...name, revision: 1, commitId: 'ü/"€😀' },
      { ...name, revision: 1, commitId: 'first' },
      { type: 'thread', id: 'none', revision: 0, commitId: 'first' },
    ]
    expect(await guarded(store, guards)).toEqual({ ok: false, reason: 'guard', failed: [1, 2, 3, 4, 5] })
    expect(await guarded(store, guards.slice(0, 1))).toMatchObject({ ok: true })
    const together = [put('third'), guarded(store, [{ ...name, revision: 3, commitId: 'third' }])]
    expect(await Promise.all(together)).toMatchObject([{ ok: true }, { ok: true }])
    await store.commit('t', commitOf(store, { writes: [{ op: 'delete', ...name }] }))
    await put('another')
    expect(await guarded(store, [{ ...name, revision: 1, commitId: 'first' }])).toMatchObject({ failed: [0] })
  },

  async 'S23 a drop removes the entries up to a bound, as they are when it applies'({ store }) {
    const entries = (): Promise<IndexEntry[]> => store.range('t', 'x', { limit: 9 })
    for (const [i, member] of ['a', 'b', 'c'].entries()) await move(store, 'x', member, i - 1)
    await move(store, 'y', 'a', 0)
    const drop = commitOf(store, {
      writes: [
        { op: 'index', index: 'x', member: 'd', to: 0 },
        { op: 'drop', index: 'x', upTo: 0 },
        { op: 'index', index: 'x', member: 'e', to: 0 },
      ],
    })
    // an entry that moves before the commit applies
    await Promise.all([move(store, 'x', 'a', 7), store.commit('t', drop)])
    expect(await entries()).toEqual([
      { score: 0, member: 'e' },
      { score: 1, member: 'c' },
      { score: 7, member: 'a' },
    ])
    expect(await store.count('t', 'y')).toBe(1)
    await store.commit('t', commitOf(store, { writes: [{ op: 'drop', index: 'x', upTo: 9 }] }))
    await store.commit('t', commitOf(store, { writes: [{ op: 'drop', index: 'absent', upTo: 9 }] }))
    expect(await entries()).toEqual([])
  },

  async 'S15 a member is in an index at most once: adding moves it, removing ends it'({ store }) {
    const entries = (): Promise<IndexEntry[]> => store.range('t', 'x', { limit: 9 })
    await move(store, 'x', 'a', 1)
    await move(store, 'x', 'a', 5)
    expect(await entries()).toEqual([{ score: 5, member: 'a' }])
    await store.commit('t', commitOf(store, { writes: [{ op: 'index', index: 'x', member: 'a', to: 3 }] }))
    expect(await entries()).toEqual([{ score: 3, member: 'a' }])
    await Promise.all([9, 7, 8].map((score) => move(store, 'x', 'a', score)))
    expect(await entries()).toHaveLength(1)
    await store.commit(
      't',
      commitOf(store, {
        writes: [
          { op: 'index', index: 'x', member: 'b', to: 1 },
          { op: 'index', index: 'x', member: 'b', to: 2 },
          { op: 'index', index: 'x', member: 'a' },
          { op: 'index', index: 'x', member: 'absent' },
        ],
      }),
    )
    expect(await entries()).toEqual([{ score: 2, member: 'b' }])
    await move(store, 'x', 'b', 2)
    expect(await entries()).toEqual([{ score: 2, member: 'b' }])
  },

  async 'S17 a mark stands at the number of the first event of its commit; without events there is none'({
    store,
  }) {
    await put(store, 'before', 'b')
    await store.commit('t', commitOf(store, { events: ['e1'] }))
    const writes = [{ op: 'mark', index: 'x' }] as const
    await store.commit('t', commitOf(store, { commitId: 'two', writes, events: ['e2', 'e3'] }))
    await store.commit('t', commitOf(store, { commitId: 'none', writes }))
    await store.commit('t', commitOf(store, { commitId: 'four', writes, events: ['e4'] }))
    const marks = await store.range('t', 'x', { limit: 9 })
    const log = await store.events('t', 0, 99)
    expect(marks.map(({ member }) => member)).toEqual(['two', 'four'])
    for (const { score, member } of marks)
      expect(log.find(({ commitId }) => commitId === member)?.number).toBe(score)
  },

  async 'S21 disclosures are kept beside their events, and end alone'({ store, reopen }) {
    const texts = ['{"one":"d1"}', undefined, '{"two":"\u00e9\ud83d\ude00\n"}']
    await store.commit('t', commitOf(store, { events: ['e1', 'e2', 'e3'], disclosures: texts }))
    await store.commit('t', commitOf(store, { events: ['e4'] }))
    await store.commit('u', commitOf(store, { events: ['e1'], disclosures: ['of another partition'] }))
    const [first, third] = [
      { number: 1, text: texts[0] },
      { number: 3, text: texts[2] },
    ]
    expect(await store.disclosures('t', 0, 9)).toEqual([first, third])
    expect(await store.disclosures('t', 1, 3)).toEqual([third])
    for (const [after, last] of [
      [3, 9],
      [0, 0],
      [5, 2],
    ] as const)
      expect(await store.disclosures('t', after, last)).toEqual([])
    const writes = [1, 2, 99].map((number) => ({ op: 'forget', number }) as const)
    await store.commit('t', commitOf(store, { writes }))
    await store.commit('t', commitOf(store, { events: ['e5'], disclosures: ['d5'] }))
    const left = [third, { number: 5, text: 'd5' }]
    expect(await store.disclosures('t', 0, 9)).toEqual(left)
    const log = await store.events('t', 0, 9)
    expect(log.map(({ body }) => body)).toEqual(['e1', 'e2', 'e3', 'e4', 'e5'])
    expect(await store.disclosures('u', 0, 9)).toEqual([{ number: 1, text: 'of another partition' }])
    if (reopen !== undefined) expect(await (await reopen()).disclosures('t', 0, 9)).toEqual(left)
  },

  async 'S21 a refused commit deletes no disclosures and writes none'({ store }) {
    await store.commit('t', commitOf(store, { events: ['e1'], disclosures: ['d1'] }))
    const guards = [{ type: 'thread', id: 'a', revision: 7 }]
    const writes = [{ op: 'forget', number: 1 }] as const
    const parts = { guards, writes, events: ['e2'], disclosures: ['d2'] }
    expect((await store.commit('t', commitOf(store, parts))).ok).toBe(false)
    expect(await store.disclosures('t', 0, 9)).toEqual([{ number: 1, text: 'd1' }])
  },

  async 'S21 disclosures of an event that a commit lacks, or with a lone surrogate, are refused'({ store }) {
    const extra = commitOf(store, {
      events: ['e1'],
      disclosures: ['d1', 'd2'],
    })
    await expect(store.commit('t', extra)).rejects.toThrow(RangeError)
    const broken = commitOf(store, { events: ['e1'], disclosures: ['\ud83d'] })
    await expect(store.commit('t', broken)).rejects.toThrow(TypeError)
    expect(await store.events('t', 0, 9)).toEqual([])
  },

  async 'S22 a trim deletes the first events, never the last, and leaves numbers and disclosures'({
    store,
    reopen,
  }) {
    const trim = (before: number): Promise<CommitResult> =>
      store.commit('t', commitOf(store, { writes: [{ op: 'trim', before }] }))
    const left = async (from: Store): Promise<readonly number[]> =>
      (await from.events('t', 0, 99)).map(({ number }) => number)
    expect(await store.firstEvent('t')).toBe(1)
    await trim(5)
    expect(await store.firstEvent('t')).toBe(1)
    const disclosures = ['d1', 'd2', 'd3', 'd4']
    await store.commit('t', commitOf(store, { events: ['e1', 'e2', 'e3', 'e4'], disclosures }))
    await store.commit('u', commitOf(store, { events: ['e1', 'e2'] }))
    await trim(3)
    expect([await store.firstEvent('t'), await left(store)]).toEqual([3, [3, 4]])
    await trim(2)
    await trim(0)
    expect([await store.firstEvent('t'), await left(store)]).toEqual([3, [3, 4]])
    expect(await store.events('t', 1, 1)).toMatchObject([{ number: 3, body: 'e3' }])
    expect(await store.disclosures('t', 0, 9)).toHaveLength(4)
    await store.commit('t', commitOf(store, { writes: [{ op: 'forget', number: 1 }] }))
    expect(await store.disclosures('t', 0, 2)).toEqual([{ number: 2, text: 'd2' }])
    // in the commit that adds events, too
    const result = await store.commit(
      't',
      commitOf(store, { writes: [{ op: 'trim', before: 99 }], events: ['e5', 'e6'], disclosures: ['d5'] }),
    )
    expect(result).toMatchObject({ ok: true, numbers: [5, 6] })
    expect([await store.firstEvent('t'), await left(store)]).toEqual([6, [6]])
    expect(await store.disclosures('t', 4, 9)).toEqual([{ number: 5, text: 'd5' }])
    const again = reopen === undefined ? store : await reopen()
    await again.commit('t', commitOf(again, { events: ['e7'] }))
    expect([await again.firstEvent('t'), await left(again)]).toEqual([6, [6, 7]])
    expect([await again.firstEvent('u'), (await again.events('u', 0, 9)).length]).toEqual([1, 2])
  },

  async 'S22 a refused commit trims nothing'({ store }) {
    await store.commit('t', commitOf(store, { events: ['e1', 'e2'] }))
    const guards = [{ type: 'thread', id: 'a', revision: 7 }]
    const refused = commitOf(store, { guards, writes: [{ op: 'trim', before: 2 }] })
    expect((await store.commit('t', refused)).ok).toBe(false)
    expect([await store.firstEvent('t'), (await store.events('t', 0, 9)).length]).toEqual([1, 2])
  },

  async 'S19 a commit with an epoch guard applies in its epoch only'({ store }) {
    const epoch = await store.epoch('t')
    expect(epoch).not.toBe('')
    const record = { type: 'token', id: 'x', revision: 0 }
    const other = await store.commit(
      't',
      commitOf(store, { guards: [record, { epoch: `${epoch}x` }], events: ['no'] }),
    )
    expect(other).toEqual({ ok: false, reason: 'guard', failed: [1] })
    expect(
      await store.commit('t', commitOf(store, { guards: [record, { epoch }], events: ['yes'] })),
    ).toEqual({
      ok: true,
      numbers: [1],
    })
  },

  async 'S19 an epoch lasts while nothing is forgotten'({ store, reopen }) {
    const before = await store.epoch('t')
    await put(store, 'a', 'x')
    expect(await store.epoch('t')).toBe(before)
    if (reopen === undefined) return
    expect(await (await reopen()).epoch('t')).toBe(before)
  },

  async 'S20 a store with room is short of none, and asking costs nothing'({ store }) {
    expect(store.shortOfRoom()).toBeUndefined()
    await put(store, 'a', 'x')
    expect(store.shortOfRoom()).toBeUndefined()
  },

  async 'S16 arguments at the limits work'({ store }) {
    const wide = (length: number): string => '\uffff'.repeat(length)
    const partition = wide(STORE_LIMITS.partitionLength)
    const type = wide(STORE_LIMITS.nameLength)
    const id = wide(STORE_LIMITS.idLength)
    const commit = commitOf(store, {
      guards: [{ type, id, revision: 0 }],
      writes: [
        { op: 'put', type, id, body: 'b' },
        { op: 'index', index: type, member: id, to: 1 },
      ],
      events: ['e'],
    })
    expect(await store.commit(partition, commit)).toEqual({ ok: true, numbers: [1] })
    expect(await store.get(partition, type, id)).toMatchObject({ body: 'b' })
    expect(await store.range(partition, type, { limit: 1 })).toEqual([{ score: 1, member: id }])
    expect(await store.range(partition, type, { limit: 1, after: { score: 1, member: id } })).toEqual([])
    expect(await store.events(partition, 0, 1)).toHaveLength(1)
  },

  async 'S16 an argument beyond the limits is refused and hurts no neighbour'({ store }) {
    const tooLong = 'x'.repeat(STORE_LIMITS.idLength + 1)
    const name = 'x'.repeat(STORE_LIMITS.nameLength + 1)
    const body = 'x'
    const bad: [Partial<Commit>, ErrorConstructor][] = [
      [{ writes: [{ op: 'put', type: 'a', id: tooLong, body }] }, RangeError],
      [{ writes: [{ op: 'put', type: name, id: 'a', body }] }, RangeError],
      [{ writes: [{ op: 'put', type: 'a', id: 'a', body: '\ud800' }] }, TypeError],
      [{ writes: [{ op: 'delete', type: 'a', id: tooLong }] }, RangeError],
      [{ writes: [{ op: 'index', index: 'a', member: tooLong, to: 1 }] }, RangeError],
      [{ writes: [{ op: 'index', index: name, member: 'a', to: 1 }] }, RangeError],
      [{ writes: [{ op: 'index', index: 'a', member: 'a', to: Number.NaN }] }, RangeError],
      [{ writes: [{ op: 'index', index: 'a', member: 'a', to: Infinity }] }, RangeError],
      [{ guards: [{ type: 'a', id: tooLong, revision: 0 }] }, RangeError],
      [{ guards: [{ type: 'a', id: 'a', revision: -1 }] }, RangeError],
      [{ guards: [{ type: 'a', id: 'a', revision: 0.5 }] }, RangeError],
      [{ guards: [{ type: 'a', id: 'a', revision: 1, commitId: 'two\nlines' }] }, TypeError],
      [{ guards: [{ limit: tooLong, windowMs: 1, amount: 1, atMost: 1 }] }, RangeError],
      [{ guards: [{ limit: 'a', windowMs: 0, amount: 1, atMost: 1 }] }, RangeError],
      [{ guards: [{ limit: 'a', windowMs: 1, amount: -1, atMost: 1 }] }, RangeError],
      [{ guards: [{ limit: 'a', windowMs: 1, amount: 1, atMost: 0.5 }] }, RangeError],
      [{ writes: [{ op: 'charge', limit: 'a', windowMs: 2 ** 40, at: 1, amount: 1 }] }, RangeError],
      [{ writes: [{ op: 'charge', limit: 'a', windowMs: 1, at: Number.NaN, amount: 1 }] }, RangeError],
      [{ writes: [{ op: 'charge', limit: 'a', windowMs: 1, at: 1, amount: 0.5 }] }, RangeError],
      [{ commitId: '' }, TypeError],
      [{ commitId: 'a\nb' }, TypeError],
      [{ commitId: 'x'.repeat(STORE_LIMITS.commitIdLength + 1) }, RangeError],
      [{ deadline: Number.NaN }, RangeError],
      [{ events: ['\udc00'] }, TypeError],
      [{ events: [{} as string] }, TypeError],
      [{ events: Array.from({ length: STORE_LIMITS.commitParts + 1 }, () => '') }, RangeError],
      [{ events: ['x'.repeat(STORE_LIMITS.commitLength), 'x'] }, RangeError],
      [{ writes: [{ op: 'drop' } as never] }, TypeError],
    ]
    const [neighbours, refusals] = await Promise.all([
      Promise.all(bad.map((_, i) => put(store, `good${i}`, body))),
      Promise.all(
        bad.map(([parts]) =>
          store.commit('t', commitOf(store, { events: [body], ...parts })).catch((error: unknown) => error),
        ),
      ),
    ])
    expect(neighbours.every(({ ok }) => ok)).toBe(true)
    for (const [i, refusal] of refusals.entries()) expect([i, refusal]).toEqual([i, expect.any(bad[i]?.[1])])
    expect(await store.events('t', 0, 1)).toEqual([])
    const long = 'x'.repeat(STORE_LIMITS.partitionLength + 1)
    for (const call of [
      () => store.get(long, 'a', 'a'),
      () => store.get('t', 'a', tooLong),
      () => store.range('t', 'x', { limit: -1 }),
      () => store.range('t', 'x', { limit: 1, min: Number.NaN }),
      () => store.range('t', 'x', { limit: 1, after: { score: Number.NaN, member: 'a' } }),
      () => store.events('t', -1, 1),
      () => store.events('t', 0, 0.5),
      () => store.epoch(long),
      () => store.count(long, 'x'),
      () => store.charged(long, 'l', 1),
      () => store.charged('t', 'l', 0),
      () => store.charged('t', 'l', 1.5),
      () => store.watch(long, AbortSignal.timeout(1)),
      () => store.commit(long, commitOf(store, {})),
      () => store.claimDue('t', 'x', { now: Number.NaN, lease: 1, limit: 1 }),
      () => store.claimDue('t', 'x', { now: 1, lease: 0, limit: 1 }),
    ])
      await expect(call()).rejects.toBeInstanceOf(RangeError)
  },
}

export function storeConformance(name: string, open: () => Promise<OpenedStore>): void {
  describe(`the laws of the store port: ${name}`, () => {
    let opened: OpenedStore
    beforeEach(async () => {
      opened = await open()
    })
    afterEach(() => opened.cleanup())
    for (const [title, law] of Object.entries(LAWS)) it(title, () => law(opened))
  })

  describe('the list of laws', () => {
    const text = readFileSync(new URL('../../src/store/store.ts', import.meta.url), 'utf8')
    const stated = [...text.matchAll(/^ \* (S\d\d) /gm)].map(([, id]) => id)
    const tested = Object.keys(LAWS).map((title) => title.slice(0, 3))

    it('has a test for every law of the port', () => {
      expect(stated.filter((id) => !tested.includes(id as string))).toEqual([])
      expect(stated.length).toBeGreaterThan(10)
    })

    it('has no test for a law that is not listed', () => {
      expect(tested.filter((id) => !stated.includes(id))).toEqual([])
    })
  })
}

function put(store: Store, id: string, body: string): Promise<CommitResult> {
  return store.commit('t', commitOf(store, { writes: [{ op: 'put', type: 'thread', id, body }] }))
}

function move(store: Store, index: string, member: string, to: number): Promise<CommitResult> {
  return store.commit('t', commitOf(store, { writes: [{ op: 'index', index, member, to }] }))
}

function guarded(store: Store, guards: Commit['guards']): Promise<CommitResult> {
  return store.commit('t', commitOf(store, { guards }))
}
