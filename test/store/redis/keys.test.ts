import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeMember, encodeMember, keySpace, readKey } from '../../../src/store/redis/keys.ts'
import { parseRedirection, parseSlots, slotOf } from '../../../src/store/redis/slots.ts'
import { runs } from '../../runs.ts'

/** Any code units at all, with those that are hard to order or to spell more often than the rest. */
const text = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        'a',
        'b',
        ':',
        '{',
        '}',
        ' ',
        '\0',
        '\x7e',
        '\x7f',
        '\x80',
        '\ud800',
        '\udfff',
        '\uffff',
      ),
      fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    ),
    { maxLength: 6 },
  )
  .map((units) => units.join(''))

describe('names in Redis', () => {
  it('names in Redis are read back unchanged, and are ASCII', () => {
    fc.assert(
      fc.property(text, (name) => {
        const member = encodeMember(name)
        expect(decodeMember(member)).toBe(name)
        expect(/^[\0-\x7f]*$/.test(member)).toBe(true)
      }),
      { numRuns: runs(5_000) },
    )
  })

  it('names in Redis sort by bytes as by code units', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        const bytes = Buffer.compare(Buffer.from(encodeMember(a)), Buffer.from(encodeMember(b)))
        expect(Math.sign(bytes)).toBe(a < b ? -1 : Number(a > b))
      }),
      { numRuns: runs(10_000) },
    )
  })

  it('names in Redis make keys in one slot per partition, which can be read back to their names', () => {
    fc.assert(
      fc.property(text, text, text, (partition, type, id) => {
        const keys = keySpace().of(partition)
        const all = [
          keys.head,
          keys.events,
          keys.record(type, id),
          keys.index(id),
          keys.limit(id),
          keys.channel,
        ]
        expect(new Set(all.map(slotOf)).size).toBe(1)
        expect(new Set(all).size).toBe(all.length)
        expect(readKey(keys.head)).toEqual({ kind: 'head', partition })
        expect(readKey(keys.events)).toEqual({ kind: 'events', partition })
        expect(readKey(keys.record(type, id))).toEqual({ kind: 'record', partition, type, id })
        expect(readKey(keys.index(id))).toEqual({ kind: 'index', partition, name: id })
        expect(readKey(keys.limit(id))).toEqual({ kind: 'limit', partition, name: id })
      }),
      { numRuns: runs(5_000) },
    )
  })

  it('names in Redis are not recognised when another program wrote them', () => {
    for (const key of [
      '',
      'cs:{}:h',
      'cs:{a}:x',
      'xcs:{a}:h',
      'cs:{a}:r:only-type',
      'cs:{a}:h:more',
      'other',
    ])
      expect(readKey(key)).toBeUndefined()
  })
})

describe('the answers of a cluster', () => {
  it('names the primary of each slot; a node without its own address is the one that answered', () => {
    const asked = { host: '10.0.0.9', port: 1 }
    const slots = parseSlots(
      [
        [0, 5, ['10.0.0.1', 7000, 'id'], ['10.0.0.2', 7001, 'id']],
        [6, 7, ['', 7002, 'id']],
      ],
      asked,
    )
    expect(slots?.bySlot.slice(0, 9)).toEqual([
      ...Array.from({ length: 6 }, () => ({ host: '10.0.0.1', port: 7000 })),
      { host: '10.0.0.9', port: 7002 },
      { host: '10.0.0.9', port: 7002 },
      undefined,
    ])
    expect(slots?.primaries).toHaveLength(2)
    expect(parseSlots([], asked)).toBeUndefined()
    expect(parseSlots('ERR', asked)).toBeUndefined()
  })

  it('redirects permanently or for one request', () => {
    const asked = { host: '10.0.0.9', port: 1 }
    expect(parseRedirection('MOVED 3999 10.0.0.1:6381', asked)).toEqual({
      ask: false,
      host: { host: '10.0.0.1', port: 6381 },
    })
    expect(parseRedirection('ASK 3999 ::1:6381', asked)).toEqual({
      ask: true,
      host: { host: '::1', port: 6381 },
    })
    expect(parseRedirection('MOVED 3999 :6381', asked)).toEqual({
      ask: false,
      host: { host: '10.0.0.9', port: 6381 },
    })
    expect(parseRedirection('ERR unknown', asked)).toBeUndefined()
  })
})
