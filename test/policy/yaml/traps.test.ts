import { describe, expect, it } from 'vitest'
import { runCases, runFine, type Case } from '../cases.ts'
import { bundle, diagnose, ROUTING, rules } from '../support.ts'

const NBSP = '\u00a0'
const RULE = '  - id: a\n    allow: A.\n    when:\n      payload.amount: { at_most: 10 }\n'
const rule = (from: string, to: string): Record<string, string> => ({
  'rules/pay.yaml': rules(RULE.replace(from, to)),
})
const HINT = 'type the space anew, by the space bar'
const odd = (place: string, code: string, name: string): string =>
  `${place} unusual-space: <U+${code}> replaces a space: ${name} | ${HINT}`

const CASES: readonly Case[] = [
  [
    'a no-break space in an indentation',
    { 'routing.yaml': ROUTING.replace('  low:', `${NBSP}${NBSP}low:`) },
    odd('routing.yaml:5:1', '00A0', 'a no-break space'),
  ],
  [
    'a no-break space behind a colon',
    rule('at_most: 10', `at_most:${NBSP}10`),
    odd('rules/pay.yaml:6:33', '00A0', 'a no-break space'),
  ],
  [
    'a wide space before a value',
    rule('allow: A.', 'allow: \u3000A.'),
    odd('rules/pay.yaml:4:12', '3000', 'an ideographic space'),
  ],
  [
    'a thin space behind a dash',
    rule('- id', '-\u2009id'),
    odd('rules/pay.yaml:3:4', '2009', 'an unusual space'),
  ],
  [
    'a no-break space at the end of a line',
    rule('allow: A.', `allow: A.${NBSP}`),
    odd('rules/pay.yaml:4:14', '00A0', 'a no-break space'),
  ],
  [
    'the beginning of a merge conflict',
    rule('    allow: A.\n', '<<<<<<< HEAD\n    allow: A.\n=======\n    allow: B.\n>>>>>>> theirs\n'),
    'rules/pay.yaml:4:1 merge-conflict: `<<<<<<<` is the mark of a merge conflict | keep the lines that you want, and remove the three marks',
  ],
  [
    'the middle of a merge conflict',
    rule(
      '    allow: A.\n',
      '<<<<<<< HEAD\r\n    allow: A.\r\n=======\r\n    allow: B.\r\n>>>>>>> theirs\r\n',
    ),
    'rules/pay.yaml:6:1 merge-conflict: `=======` is the mark of a merge conflict',
  ],
  [
    'the end of a merge conflict alone',
    rule('    allow: A.\n', '    allow: A.\n>>>>>>> theirs\n'),
    'rules/pay.yaml:5:1 merge-conflict: `>>>>>>>` is the mark of a merge conflict',
  ],
]

describe('traps that no editor shows', () => {
  runCases(CASES)
  runFine(
    [
      ['a no-break space inside of a text', rule('allow: A.', `allow: Up to 10${NBSP}euros.`)],
      ['a no-break space in quotes', rule('allow: A.', `allow: "${NBSP}A."`)],
      ['one in a comment', rule('allow: A.', `allow: A. #${NBSP}why`)],
      ['one in a block of text', rule('allow: A.', `allow: |-\n      A\n      :${NBSP}B`)],
      ['a line of equals signs in a comment', rule('allow: A.', 'allow: A.\n#=======')],
    ],
    ['unusual-space', 'merge-conflict', 'yaml-syntax'],
  )

  it('each trap is the only finding in its file', async () => {
    const found = await diagnose(bundle({ 'routing.yaml': ROUTING.replace('  low:', `${NBSP}${NBSP}low:`) }))
    expect(found.filter(({ file }) => file === 'routing.yaml').map(({ code }) => code)).toEqual([
      'unusual-space',
    ])
  })
})
