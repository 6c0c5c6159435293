import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/contract/json.ts'
import { EVENTS, kindOf } from '../../src/events/events.ts'
import { Replay } from '../../src/evidence/replay.ts'
import { IS_SOAK } from '../runs.ts'
import { HISTORIES, type History, recordsOf } from './histories.ts'
import { at, KEYS } from './records.ts'

/** Each kind of record has one law: possible records pass, and each clause of the law refuses an impossible record. */

const POSSIBLE = HISTORIES.filter(({ verdict }) => verdict === 'possible')
const IN_ANY_ORDER = HISTORIES.filter(({ verdict }) => verdict === 'possible in any order')
const IMPOSSIBLE = HISTORIES.filter(({ verdict }) => !verdict.startsWith('possible'))

/** The faults of the records, in their order. */
const faultsIn = (records: readonly JsonObject[]): string[] => {
  const replay = new Replay()
  const faults = records.map((one) => replay.take(one, one['disclosed'] as JsonObject))
  return [...faults, replay.end()].filter((fault) => fault !== undefined)
}
const first = (records: readonly JsonObject[]): string => faultsIn([...KEYS, ...records])[0] ?? 'possible'

describe('a history', () => {
  it.each(POSSIBLE)('$name is possible', ({ records }) => expect(first(records)).toBe('possible'))

  it.each(IMPOSSIBLE)('$name is impossible', ({ records, verdict }) => expect(first(records)).toBe(verdict))

  it.each(IN_ANY_ORDER)('$name is possible in any order', ({ records }) =>
    expect(faultsIn([...records, ...records.toReversed()])).toEqual([]),
  )
})

/** The shortest history with each kind of record, and its place there. */
const SHORTEST = new Map(
  POSSIBLE.map(({ records }) => records)
    .toSorted((one, other) => other.length - one.length)
    .flatMap((history) => history.map((one, index) => [one['type'] as string, [history, index]] as const)),
)
const required = (type: string): string[] =>
  Object.entries(kindOf(type)?.logged ?? {}).flatMap(([name, { optional }]) => (optional ? [] : [name]))

it('a record without a member that its kind requires is impossible', () => {
  const without = [...SHORTEST].flatMap(([of, [history, index]]) => {
    const one = history[index] as JsonObject & { readonly details: JsonObject }
    return required(of).map((name) => {
      const { [name]: _, ...details } = one.details
      return { name, of, fault: first(history.with(index, { ...one, details })) }
    })
  })
  expect(without.length).toBeGreaterThan(100)
  expect(without.filter(({ fault }) => fault === 'possible')).toEqual([])
})

it('each kind of record has a possible history, and one that it makes impossible', () => {
  const typesOf = (some: readonly History[], last = 0) =>
    new Set(some.flatMap(({ records }) => records.slice(last)).map(({ type }) => type))
  const [possible, impossible] = [typesOf([...POSSIBLE, ...IN_ANY_ORDER]), typesOf(IMPOSSIBLE, -1)]
  expect(Object.keys(EVENTS).filter((type) => !possible.has(type))).toEqual([])
  expect(Object.keys(EVENTS).filter((type) => !impossible.has(type))).toEqual([])
})

describe('a replay', () => {
  it.runIf(IS_SOAK)('takes linear time for a file with any number of sessions', () => {
    const cpuOf = (count: number): number => {
      const replay = new Replay()
      const sessions = Array.from({ length: count }, (_, i) =>
        recordsOf(`signed-in by=reviewer:r${i} session_hash=s${i}`),
      ).flat()
      const acts = sessions.flatMap(({ actor }, i) =>
        recordsOf(`webhook id=w${i}`).map((one) => ({ ...one, actor: actor as JsonObject })),
      )
      const before = process.cpuUsage()
      const faults = [...sessions, ...acts.toReversed()].map((one) => replay.take(one))
      const { user } = process.cpuUsage(before)
      expect(faults.filter((fault) => fault !== undefined)).toEqual([])
      return user
    }
    cpuOf(2_000)
    // linear is 10, a look at all sessions 100
    expect(cpuOf(40_000) / cpuOf(4_000)).toBeLessThan(40)
  })

  it('reports an actor without a credential once', () => {
    const replay = new Replay()
    const faults = recordsOf('allowed; rejected; allowed').map((one) => replay.take(one))
    expect(faults).toEqual(['`bot` held no key then', undefined, undefined])
    expect(replay.story()).toMatchObject({ allowed: 2, rejected: 1 })
  })

  it('reports no consequences of a fault', () => {
    expect(faultsIn([...KEYS.slice(1), ...recordsOf('REDEEMED')])).toEqual(['`bot` held no key then'])
    const cut = recordsOf('pending thread_id=other; rejecting by=reviewer:ben thread_id=other; REDEEMED')
    expect(faultsIn([...KEYS, ...cut])).toEqual([
      '`review.rejected` of other is due here: it is written together with the previous record',
    ])
    const future = recordsOf('by-a at=4000; REDEEMED')
    expect(faultsIn([...KEYS, ...future])).toEqual([`an earlier record has the time ${at(4_000)}`])
  })

  it('reports a broken thread once, and no fault for later mentions of it', () => {
    for (const later of [
      'webhook; pending; approved; minted; redeemed; delivered event=review.approved',
      'pending; approved; minted; redeemed; REDEEMED',
    ])
      expect(faultsIn([...KEYS, ...recordsOf(later)])).toHaveLength(1)
  })
})
