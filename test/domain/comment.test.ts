import { describe, expect, it } from 'vitest'
import { isSaidAgain, saysSomething, type Said } from '../../src/domain/comment.ts'

describe('a comment', () => {
  it.each(['no', '1', '?', '👍', '不', 'ß\u0301', ' . ', '\u200bx', '가', 'ᄒ', '⠁\u2800', '\u0663'])(
    'counts %j as a comment',
    (comment) => {
      expect(saysSomething(comment)).toBe(true)
    },
  )

  it.each([
    ['nothing', ''],
    ['spaces', ' \t\n\u00a0\u2003\u3000\u2028'],
    ['characters without a width', '\u200b\u200d\u2060\ufeff\u00ad\u034f\u{e0041}\ufe0f'],
    ['characters of control', '\0\u0007\u202e'],
    ['fillers, which are letters', '\u3164\u115f\u1160\uffa0'],
    ['signs that are blank', '\u2800\u{1d159}\u{16fe4}'],
    ['what stands for an object that is not there', '\ufffc'],
    ['a mark on nothing', ' \u0301'],
  ])('does not count %s as a comment', (_, comment) => {
    expect(saysSomething(comment)).toBe(false)
    for (const one of comment) expect(saysSomething(one)).toBe(false)
  })

  const said: Said = { reviewer: 'ann', comment: 'no', revision: 1 }

  it("is a repetition when the reviewer's last comment on the revision has the same text", () => {
    expect(isSaidAgain({ ...said }, said)).toBe(true)
    expect(isSaidAgain(undefined, said)).toBe(false)
    for (const other of [{ reviewer: 'bob' }, { comment: 'No' }, { revision: 2 }])
      expect(isSaidAgain({ ...said, ...other }, said)).toBe(false)
  })
})
