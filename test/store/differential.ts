import fc from 'fast-check'
import { expect } from 'vitest'
import { commitOf } from './commit-of.ts'
import { ModelPartition } from './model.ts'
import type { Commit, LimitGuard, RangeBounds, RecordGuard, Store, Write } from '../../src/store/store.ts'

/*
 * Random histories on a store and on the model, compared answer by answer and in the end record by record.
 * Names are few, so that steps meet; some are hard to order.
 */
const TYPES = ['thread', 'token']
const IDS = ['a', 'a\0', 'b', 'é', '😀', '\uffee']
const INDEXES = ['due', 'pending']
const STARTED = Date.now()
const SCORES = [-2.5, -1, 0, 0.5, 1, 7, 1e12]

type Step =
  | { readonly do: 'commits'; readonly commits: readonly RandomCommit[] }
  | {
      readonly do: 'claim'
      readonly index: string
      readonly now: number
      readonly lease: number
      readonly limit: number
    }
  | { readonly do: 'range'; readonly index: string; readonly bounds: RangeBounds }
  | { readonly do: 'get'; readonly type: string; readonly id: string }
  | { readonly do: 'events'; readonly after: number; readonly limit: number }

interface RandomCommit {
  readonly late: boolean
  /** `off` is added to the true revision; `by` names its writer, or another. */
  readonly guards: readonly {
    readonly type: string
    readonly id: string
    readonly off: number
    readonly by: 'nobody' | 'its writer' | 'another'
  }[]
  readonly limits: readonly LimitGuard[]
  readonly writes: Commit['writes']
  readonly events: readonly string[]
  readonly disclosures: readonly (string | undefined)[]
}

const name = (names: readonly string[]): fc.Arbitrary<string> => fc.constantFrom(...names)
const score = fc.constantFrom(...SCORES)
const limit = fc.integer({ min: 0, max: 6 })

/** Long enough that no bucket ends while a history is played. */
const WINDOW_MS = 30 * 24 * 3_600_000

const write: fc.Arbitrary<Write> = fc.oneof(
  fc.record({
    op: fc.constant('charge' as const),
    limit: name(INDEXES),
    windowMs: fc.constant(WINDOW_MS),
    at: fc.nat({ max: 40 * 24 * 3_600_000 }).map((ago) => STARTED - ago),
    amount: fc.nat(9),
  }),
  fc.record({
    op: fc.constant('put' as const),
    type: name(TYPES),
    id: name(IDS),
    body: fc.string({ unit: 'binary', maxLength: 6 }),
  }),
  fc.record({ op: fc.constant('delete' as const), type: name(TYPES), id: name(IDS) }),
  fc.record({ op: fc.constant('mark' as const), index: name(INDEXES) }),
  fc.record({ op: fc.constant('drop' as const), index: name(INDEXES), upTo: score }),
  fc.record({ op: fc.constant('trim' as const), before: fc.nat({ max: 9 }) }),
  fc.record({
    op: fc.constant('forget' as const),
    number: fc.integer({ min: 1, max: 9 }),
  }),
  fc.record(
    { op: fc.constant('index' as const), index: name(INDEXES), member: name(IDS), to: score },
    { requiredKeys: ['op', 'index', 'member'] },
  ),
)

const commit: fc.Arbitrary<RandomCommit> = fc.record({
  limits: fc.array(
    fc.record(
      {
        limit: name(INDEXES),
        windowMs: fc.constant(WINDOW_MS),
        amount: fc.nat(9),
        atMost: fc.constantFrom(5, 20, 60),
        share: name(INDEXES),
      },
      { requiredKeys: ['limit', 'windowMs', 'amount', 'atMost'] },
    ),
    { maxLength: 2 },
  ),
  late: fc.nat(9).map((n) => n === 0),
  guards: fc.array(
    fc.record({
      type: name(TYPES),
      id: name(IDS),
      off: fc.constantFrom(0, 0, 0, 0, 0, 1),
      by: fc.constantFrom('nobody', 'nobody', 'its writer', 'its writer', 'its writer', 'another'),
    }),
    { maxLength: 3 },
  ),
  writes: fc.array(write, { maxLength: 5 }),
  events: fc.array(fc.string({ maxLength: 4 }), { maxLength: 3 }),
  disclosures: fc.array(fc.option(fc.string({ maxLength: 4 }), { nil: undefined }), { maxLength: 3 }),
})

const bounds: fc.Arbitrary<RangeBounds> = fc.record(
  {
    min: score,
    max: score,
    after: fc.record({ score, member: name(IDS) }),
    reverse: fc.boolean(),
    limit,
  },
  { requiredKeys: ['limit'] },
)

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('commits' as const),
      commits: fc.array(commit, { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('claim' as const),
      index: name(INDEXES),
      now: score,
      lease: fc.constantFrom(0.5, 3, 1e9),
      limit,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('range' as const), index: name(INDEXES), bounds }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('get' as const), type: name(TYPES), id: name(IDS) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('events' as const), after: fc.nat(9), limit }) },
)

/**
 * Plays random histories on the store and on the model, and compares every answer. With `inOrder`, concurrent calls run
 * in the order in which they were made, as they do within one process. Without it, each call is awaited.
 */
export async function compareWithModel(
  store: Store,
  { runs, steps, inOrder }: { runs: number; steps: number; inOrder: boolean },
): Promise<void> {
  let partitions = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: steps, maxLength: steps }), async (history) => {
      partitions += 1
      const partition = `run${partitions}`
      const model = new ModelPartition()
      for (let i = 0; i < history.length; i += 3) {
        const pairs = history.slice(i, i + 3).flatMap((each) => play(store, partition, model, each))
        if (inOrder) {
          const answers = await Promise.all(pairs.map(({ run }) => run()))
          expect(answers).toEqual(pairs.map(({ wanted }) => wanted))
        } else {
          for (const { run, wanted } of pairs) expect(await run()).toEqual(wanted)
        }
        for (const { check } of pairs) await check?.()
      }
      await compareEverything(store, partition, model)
    }),
    { numRuns: runs, seed: 20_261_120, endOnFailure: true },
  )
}

interface Pair {
  readonly run: () => Promise<unknown>
  readonly wanted: unknown
  readonly check?: () => Promise<void>
}

function guardOf(model: ModelPartition, { type, id, off, by }: RandomCommit['guards'][number]): RecordGuard {
  const { revision = 0, commitId: writer = 'nobody' } = model.get(type, id) ?? {}
  const guard = { type, id, revision: revision + off }
  return by === 'nobody' || revision === 0 ? guard : { ...guard, commitId: by === 'another' ? 'x' : writer }
}

/** Plays a step on the model; reads are run once the writes before them are done. */
function play(store: Store, partition: string, model: ModelPartition, step: Step): Pair[] {
  switch (step.do) {
    case 'commits':
      return step.commits.map((each) => {
        const now = store.now()
        const commit = commitOf(store, {
          deadline: each.late ? now - 1 : now + 60_000,
          guards: [...each.limits, ...each.guards.map((one) => guardOf(model, one))],
          writes: each.writes,
          events: each.events,
          disclosures: each.disclosures.slice(0, each.events.length),
        })
        return { run: () => store.commit(partition, commit), wanted: model.commit(commit, now) }
      })
    case 'claim': {
      const { index, now, lease, limit: most } = step
      const claim = { now, lease, limit: most }
      return [{ run: () => store.claimDue(partition, index, claim), wanted: model.claimDue(index, claim) }]
    }
    case 'range':
    case 'get':
    case 'events':
      return [
        {
          run: async () => undefined,
          wanted: undefined,
          check: () => compareRead(store, partition, model, step),
        },
      ]
  }
}

async function compareRead(
  store: Store,
  partition: string,
  model: ModelPartition,
  step: Exclude<Step, { do: 'commits' | 'claim' }>,
): Promise<void> {
  if (step.do === 'range')
    expect(await store.range(partition, step.index, step.bounds)).toEqual(
      model.range(step.index, step.bounds),
    )
  if (step.do === 'get')
    expect(await store.get(partition, step.type, step.id)).toEqual(model.get(step.type, step.id))
  if (step.do === 'events')
    expect(await store.events(partition, step.after, step.limit)).toEqual(
      model.events(step.after, step.limit),
    )
}

async function compareEverything(store: Store, partition: string, model: ModelPartition): Promise<void> {
  for (const type of TYPES)
    for (const id of IDS) expect(await store.get(partition, type, id)).toEqual(model.get(type, id))
  for (const index of INDEXES) {
    for (const reverse of [false, true])
      expect(await store.range(partition, index, { limit: 999, reverse })).toEqual(
        model.range(index, { limit: 999, reverse }),
      )
    expect(await store.count(partition, index)).toBe(model.range(index, { limit: 999 }).length)
  }
  expect(await store.events(partition, 0, 9_999)).toEqual(model.events(0, 9_999))
  expect(await store.firstEvent(partition)).toBe(model.first)
  expect(await store.disclosures(partition, 0, 9_999)).toEqual(model.disclosures(0, 9_999))
  expect(await store.disclosures(partition, 1, 4)).toEqual(model.disclosures(1, 4))
}
