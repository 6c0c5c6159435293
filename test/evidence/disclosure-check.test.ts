import { describe, expect, it } from 'vitest'
import type { JsonObject, JsonValue } from '../../src/contract/json.ts'
import { commitmentTo, type Disclosures, withoutMembers } from '../../src/domain/disclosure.ts'
import { DisclosureCheck } from '../../src/evidence/disclosure-check.ts'

/** Each deletion of disclosures has a later record that explains it (docs/evidence.md). */

const MEMBERS = { a: 1, b: 2, c: 3 }
const SEED = 'A'.repeat(22)
const whole: Disclosures = { members: MEMBERS, seed: SEED }
const without = (...names: string[]) => withoutMembers(whole, new Set(names))
const committed: JsonObject = { type: 'call.decided', details: { commitment: commitmentTo(MEMBERS, SEED) } }
const erased = (records: JsonValue, members: number): JsonObject => ({
  type: 'disclosures.erased',
  details: { members, records, reason: 'asked', threads: 0 },
})
const expired = (upTo: number): JsonObject => ({ type: 'disclosures.expired', details: { up_to: upTo } })

/** Faults of records with their disclosures, in order from number 1. */
function faultsOf(...records: readonly (readonly [JsonObject, (Disclosures | undefined)?])[]): string[] {
  const check = new DisclosureCheck({ expectsAll: true })
  const faults = records.flatMap(([record, disclosures], i) => {
    const fault = check.take(i + 1, record, disclosures as JsonValue | undefined)
    return fault === undefined ? [] : [`record ${i + 1} ${fault}`]
  })
  return [...faults, ...check.end().faults]
}

const EARLY = 'explains deletions of records that did not exist yet'

describe('a deletion of disclosures', () => {
  it('is explained by a later record', () => {
    const some = [committed, without('a', 'b')] as const
    expect(faultsOf(some, [committed, whole], [erased([[1, 1]], 2)])).toEqual([])
    expect(faultsOf([committed], [expired(1)])).toEqual([])
  })

  it('is not excused by an earlier record, nor by the record itself', () => {
    const UNSAID = 'no record says that disclosures of record 2 were erased'
    const LOST = 'no record says why record 2 has no disclosures'
    const forged = erased([[1, Number.MAX_SAFE_INTEGER]], 1_000)
    const none = '1 members were erased, but records say 0'
    expect(faultsOf([forged], [committed, without('a')])).toEqual([`record 1 ${EARLY}`, UNSAID, none])
    expect(faultsOf([expired(2 ** 53)], [committed])).toEqual([`record 1 ${EARLY}`, LOST])
    expect(faultsOf([committed, whole], [expired(2)])).toEqual([`record 2 ${EARLY}`])
    expect(faultsOf([committed, whole], [erased([[1, 2]], 2)])).toEqual([`record 2 ${EARLY}`])
  })

  it('has no more members than its record says', () => {
    expect(faultsOf([committed, without('a', 'b', 'c')], [erased([[1, 1]], 2)])).toEqual([
      '3 members were erased, but records say 2',
    ])
  })
})
