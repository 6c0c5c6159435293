import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  endOf,
  entryDigest,
  noteEveryMs,
  type Session,
  sessionOver,
  type SessionTimes,
  type Standing,
} from '../../src/domain/session.ts'

const HOUR = 3_600_000
const TIMES: SessionTimes = { idle: HOUR / 2, lifetime: 8 * HOUR }
const ENTRY: Standing = { email: 'ann@acme.example', groups: ['desk', 'leads'], roles: ['admin'] }
const SESSION: Session = {
  reviewer: 'ann',
  via: 'link',
  opened_at: 0,
  expires_at: 8 * HOUR,
  entry: entryDigest(ENTRY),
  page: 'a hash',
}

describe('the digest of a directory entry', () => {
  it('does not depend on the order of groups and roles', () => {
    const names = fc.uniqueArray(fc.string())
    fc.assert(
      fc.property(names, names, (groups, roles) => {
        const turned = { groups: groups.toReversed(), roles: roles.toReversed() }
        expect(entryDigest({ groups, roles })).toBe(entryDigest(turned))
      }),
    )
  })

  it.each<[string, Standing]>([
    ['a group less', { ...ENTRY, groups: ['desk'] }],
    ['a group more', { ...ENTRY, groups: ['desk', 'leads', 'board'] }],
    ['a role less', { ...ENTRY, roles: [] }],
    ['another address', { ...ENTRY, email: 'ann@globex.example' }],
    ['no address', { groups: ENTRY.groups, roles: ENTRY.roles }],
    ['groups and roles exchanged', { ...ENTRY, groups: ENTRY.roles, roles: ENTRY.groups }],
  ])('changes with %s', (_, entry) => {
    expect(entryDigest(entry)).not.toBe(entryDigest(ENTRY))
  })
})

describe('the end of a session', () => {
  const at = (now: number, seen: number, standing: Standing | undefined = ENTRY) =>
    endOf({ session: SESSION, seen, standing }, now, TIMES)

  it.each<[string, number, number, string | undefined]>([
    ['just opened', 0, 0, undefined],
    ['used a moment before its idle limit', HOUR / 2 - 1, 0, undefined],
    ['at its idle limit', HOUR / 2, 0, 'idle'],
    ['kept in use', 7 * HOUR, 7 * HOUR - 1, undefined],
    ['a moment before its last', 8 * HOUR - 1, 8 * HOUR - 2, undefined],
    ['at its last moment, though in use', 8 * HOUR, 8 * HOUR - 1, 'expired'],
    ['long after', 100 * HOUR, 0, 'expired'],
  ])('%s', (_, now, seen, end) => {
    expect(at(now, seen)).toBe(end)
  })

  it('is reached when the directory removes the reviewer or changes the entry', () => {
    expect(endOf({ session: SESSION, seen: 0, standing: undefined }, 1, TIMES)).toBe('removed')
    expect(at(1, 0, { ...ENTRY, groups: [] })).toBe('changed')
  })

  it('is reached at the time that the timer gets, and not before', () => {
    fc.assert(
      fc.property(fc.nat(8 * HOUR), fc.nat(10 * HOUR), (seen, now) => {
        fc.pre(now >= seen)
        const over = now >= sessionOver(SESSION, seen, TIMES)
        expect(at(now, seen) !== undefined).toBe(over)
      }),
    )
  })

  it('may be early by the interval of recorded use, and never late: a minute, or a tenth of the limit', () => {
    expect(noteEveryMs(TIMES)).toBe(60_000)
    expect(noteEveryMs({ ...TIMES, idle: 60_000 })).toBe(6_000)
  })
})
