import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { createCounts } from '../../../src/store/embedded/counts.ts'
import { openEmbeddedStore } from '../../../src/store/embedded/store.ts'
import { indexName, type MemberState } from '../../../src/store/embedded/batch.ts'
import type { Write } from '../../../src/store/store.ts'

/** How many entries an index has is known without a walk over all of them. */

type Moved = readonly [index: string, before: number | undefined, after: number | undefined]

/** A flight in which entries of partition `p` were moved. */
function flightOf(...moves: Moved[]): Parameters<ReturnType<typeof createCounts>['landed']>[0] {
  const members = moves.map(([index, before, after], i): [string, MemberState] => {
    return [String(i), { partition: 'p', index, member: `m${i}`, before, after }]
  })
  return { members: new Map(members), indexes: new Set(moves.map(([index]) => indexName('p', index))) }
}

function counting({ most = 10 } = {}) {
  const disk = { flights: 1, entries: 5 }
  const entries = vi.fn((_partition: string, _index: string) => disk.entries)
  const counts = createCounts({ entries, flights: () => disk.flights }, most)
  return { disk, entries, counts }
}

it('an index is walked over once, and then kept up with what lands', () => {
  const { entries, counts } = counting()
  expect(counts.of('p', 'x')).toBe(5)
  counts.landed(
    flightOf(['x', undefined, 1], ['x', undefined, 2], ['x', 3, undefined], ['x', 4, 5], ['y', undefined, 1]),
    2,
  )
  expect(counts.of('p', 'x')).toBe(6)
  counts.landed(flightOf(['x', 0, undefined]), 3)
  expect(counts.of('p', 'x')).toBe(5)
  expect(entries.mock.calls).toEqual([['p', 'x']])
})

it('what the walk has seen before it landed is counted once', () => {
  const { disk, counts } = counting()
  disk.flights = 2
  expect(counts.of('p', 'x')).toBe(5)
  counts.landed(flightOf(['x', undefined, 1]), 2)
  expect(counts.of('p', 'x')).toBe(5)
  counts.landed(flightOf(['x', undefined, 1]), 3)
  expect(counts.of('p', 'x')).toBe(6)
})

it('no more names are remembered than there may be, and partitions do not see one another', () => {
  const { disk, entries, counts } = counting({ most: 2 })
  for (const name of ['x', 'y', 'z']) counts.of('p', name)
  disk.entries = 7
  expect([counts.of('p', 'x'), counts.of('q', 'z'), counts.of('p', 'z')]).toEqual([7, 7, 7])
  expect(entries).toHaveBeenCalledTimes(6)
})

it('what a store counts is what is there, whatever lands while it is asked', async () => {
  const path = await mkdtemp(join(tmpdir(), 'countersign-test-'))
  const store = await openEmbeddedStore({ path, minFreeBytes: 0 })
  try {
    const move = (i: number, to?: number): Write => {
      return { op: 'index', index: 'x', member: `m${i % 50}`, ...(to === undefined ? {} : { to }) }
    }
    const commits = Array.from({ length: 400 }, async (_, i) => {
      const writes = [move(i * 7, i), move(i * 11), move(i * 13, -i), move(i * 17, i % 3 ? i : undefined)]
      await store.commit('p', { commitId: `c${i}`, deadline: Infinity, guards: [], writes, events: [] })
      // for the first of them the next flight is in the air
      await store.count('p', 'x')
    })
    await Promise.all(commits)
    expect(await store.count('p', 'x')).toBe((await store.range('p', 'x', { limit: 100 })).length)
  } finally {
    await store.close()
    await rm(path, { recursive: true, force: true })
  }
})
