import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  HOLDER_NAME,
  successor,
  TASK_ID,
  TENANT_NAME,
  THREAD_ID,
  timeOrderedId,
} from '../../src/domain/id.ts'
import { PERSON_NAME, TENANT_NAME as DIRECTORY_TENANT } from '../../src/policy/yaml/shape.ts'
import { runs } from '../runs.ts'

const time = fc.integer({ min: 0, max: 2 ** 48 - 1 })
const random = fc.uint8Array({ minLength: 10, maxLength: 10 })
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

describe('ids', () => {
  it('ids sort by time first, then by their random part', () => {
    fc.assert(
      fc.property(time, time, random, random, (t, u, r, s) => {
        const expected = Math.sign(t - u) || Buffer.compare(r, s)
        expect(compare(timeOrderedId(t, r), timeOrderedId(u, s))).toBe(expected)
      }),
      { numRuns: runs(5_000) },
    )
  })

  it('ids encode the time and the first ten random bytes as one 128-bit number, without loss', () => {
    fc.assert(
      fc.property(time, fc.uint8Array({ minLength: 10, maxLength: 16 }), (t, r) => {
        const number = (BigInt(t) << 80n) | BigInt(`0x${Buffer.from(r.subarray(0, 10)).toString('hex')}`)
        const digits = Array.from(number.toString(32).padStart(26, '0'), (digit) =>
          Number.parseInt(digit, 32),
        )
        const wanted = digits.map((digit) => '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.charAt(digit)).join('')
        expect(timeOrderedId(t, r)).toBe(wanted)
      }),
    )
  })

  it('ids are 26 characters long and fit a thread id', () => {
    fc.assert(
      fc.property(time, random, (t, r) => {
        expect(`thr_${timeOrderedId(t, r)}`).toMatch(THREAD_ID)
      }),
    )
  })

  it('the successor sorts right after its argument, even over many carries, and does not change it', () => {
    fc.assert(
      fc.property(time, random, (t, r) => {
        fc.pre(r.some((byte) => byte !== 0xff))
        const before = Uint8Array.from(r)
        expect(compare(timeOrderedId(t, r), timeOrderedId(t, successor(r)))).toBe(-1)
        expect(r).toEqual(before)
      }),
    )
    expect(successor(Uint8Array.of(0, 0xff, 0xff))).toEqual(Uint8Array.of(1, 0, 0))
    expect(successor(Uint8Array.of(0xff))).toEqual(Uint8Array.of(0))
  })

  it.each(['', '.a', '-a', 'a/b', 'a b', 'a\n', 'é', 'a'.repeat(129), '\u0000'])(
    '%j is not a task id',
    (text) => {
      expect(TASK_ID.test(text)).toBe(false)
    },
  )

  it.each([
    'thr_',
    'thr_0000000000000000000000000I',
    `thr_${'0'.repeat(27)}`,
    `THR_${'0'.repeat(26)}`,
    `thr_${'0'.repeat(26)}\n`,
  ])('%j is not a thread id', (text) => {
    expect(THREAD_ID.test(text)).toBe(false)
  })

  it('names of holders and tenants follow the rules of directory.yaml', () => {
    expect(HOLDER_NAME.source).toBe(PERSON_NAME.pattern.source)
    expect(TENANT_NAME.source).toBe(DIRECTORY_TENANT.pattern.source)
  })
})
