import { describe, expect, it } from 'vitest'
import { OPERATORS, WRITTEN_NAMES } from '../../../src/policy/language/operators.ts'
import { ELSEWHERE } from '../../../src/policy/check/elsewhere.ts'
import { bundle, diagnose } from '../support.ts'

const hintFor = async (name: string): Promise<string | undefined> => {
  const rule = `tool: pay\nrules:\n  - { id: a, allow: A., when: { payload.amount: { ${name}: 5 } } }\n`
  const found = await diagnose(bundle({ 'rules/pay.yaml': rule }))
  return found.find(({ code }) => code === 'unknown-test')?.hint
}

describe('an operator that has another name here', () => {
  it.each([
    ['greater_than', 'over'],
    ['lte', 'at_most'],
    ['regex', 'matches'],
  ])('%s is answered by %s', async (name, ours) => {
    expect(await hintFor(name)).toBe(`did you mean \`${ours}\`? one of ${WRITTEN_NAMES.join(', ')}`)
  })

  it('a slip of the pen is answered by the nearest name, any other name by all of them', async () => {
    expect(await hintFor('ovre')).toBe('did you mean `over`?')
    expect(await hintFor('constructor')).toBe(`one of ${WRITTEN_NAMES.join(', ')}`)
  })

  it('every answer is an operator, and no operator needs one', () => {
    const names = Object.keys(OPERATORS)
    expect(Object.values(ELSEWHERE).filter((name) => !names.includes(name))).toEqual([])
    expect(Object.keys(ELSEWHERE).filter((name) => names.includes(name))).toEqual([])
  })
})
