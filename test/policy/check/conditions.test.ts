import { describe, expect, it } from 'vitest'
import { formatFile } from '../../../src/policy/format/format.ts'
import { prepareBundle } from '../../../src/policy/bundle/load.ts'
import { bundle, call, diagnose, snapshotOf, type Files } from '../support.ts'

const SMALL = '{ payload.amount: { at_most: 10 } }'
const withFile = (text: string): Files => bundle({ 'rules/pay.yaml': `tool: pay\n${text}` })
const pair = (when: string): string => `rules:
  - { id: yes, allow: A., when: ${when} }
  - { id: no, review: B., unless: ${when} }
`

async function irOf(files: Files) {
  const prepared = await prepareBundle(Object.entries(files).map(([path, text]) => ({ path, text })))
  if (!prepared.ok) throw new Error(JSON.stringify(prepared.diagnostics))
  return prepared.ir.ruleFiles.map(({ rules }) => rules.map((rule) => ({ ...rule, line: 0 })))
}

describe('a condition with a name', () => {
  it('is the same rule as its match, written out', async () => {
    const named = withFile(`conditions: { small: ${SMALL} }\n${pair('{ condition: small }')}`)
    expect(await irOf(named)).toEqual(await irOf(withFile(pair(SMALL))))
  })

  it('holds beside other lines, inside groups, and inside another condition', async () => {
    const conditions = `conditions:
  small: ${SMALL}
  small-note: { condition: small, payload.note: a }
`
    const using = '{ any: [{ condition: small-note }, { not: { condition: small }, payload.flag: true }] }'
    const written = `{ any: [{ payload.amount: { at_most: 10 }, payload.note: a }, { not: ${SMALL}, payload.flag: true }] }`
    const named = await snapshotOf(withFile(conditions + pair(using)))
    const plain = await snapshotOf(withFile(pair(written)))
    for (const payload of [{ amount: 5, note: 'a' }, { amount: 50, flag: true }, { amount: 5 }, {}]) {
      const [one, other] = [await named.judge(call(payload)), await plain.judge(call(payload))]
      expect([one.verdict, one.by]).toEqual([other.verdict, other.by])
    }
    expect((await named.explain(call({ amount: 50 }))).rules.map(({ result }) => result)).toEqual(
      (await plain.explain(call({ amount: 50 }))).rules.map(({ result }) => result),
    )
  })

  it('has one finding for each error, however many rules use it', async () => {
    const found = await diagnose(
      withFile(`conditions: { small: { payload.amont: 1 } }\n${pair('{ condition: small }')}`),
    )
    expect(found.filter(({ code }) => code === 'unknown-field')).toHaveLength(1)
  })

  it('never grows into a huge rule', async () => {
    const doubles = Array.from(
      { length: 6 },
      (_, n) => `  c${n + 1}: { any: [${`{ condition: c${n} }, `.repeat(20)}] }\n`,
    )
    const found = await diagnose(
      withFile(`conditions:\n  c0: ${SMALL}\n${doubles.join('')}${pair('{ condition: c6 }')}`),
    )
    expect(found.map(({ message }) => message)).toContainEqual(
      expect.stringContaining('the conditions of this file stand for more than 100000 lines'),
    )
  })

  it.each(['', 'reverse'])('contains at most seven others in a row %s', async (order) => {
    const lines = Array.from({ length: 5_000 }, (_, n) => `  c${n + 1}: { not: { condition: c${n} } }\n`)
    if (order === 'reverse') lines.reverse()
    const found = await diagnose(
      withFile(`conditions:\n  c0: ${SMALL}\n${lines.join('')}${pair('{ condition: c5000 }')}`),
    )
    expect(found.map(({ message }) => message)).toContainEqual(
      expect.stringContaining('more than 8 conditions contain one another'),
    )
    const seven = withFile(
      `conditions:\n  c0: ${SMALL}\n${Array.from({ length: 7 }, (_, n) => `  c${n + 1}: { not: { condition: c${n} } }\n`).join('')}${pair('{ condition: c7 }')}`,
    )
    expect((await diagnose(seven)).filter(({ severity }) => severity === 'error')).toEqual([])
  })

  it('comes before the rules in a formatted file', () => {
    const text = 'tool: pay\nrules:\n  - id: a\n    allow: A.\nconditions:\n  small: {}\n'
    const formatted = formatFile({ path: 'rules/pay.yaml', text })
    expect(JSON.stringify(formatted)).toMatch(/conditions:.*rules:/)
  })
})
