import { describe, expect, it } from 'vitest'
import { bundle, CONTRACT, diagnose } from '../support.ts'

const OBJECTS = 'flag: { type: array, items: { type: object, properties: { sku: { type: string } } } }'

async function codesOf(rule: string): Promise<readonly string[]> {
  const files = bundle({
    'tools/pay.yaml': CONTRACT.replace('flag: { type: boolean, default: false }', OBJECTS),
    'rules/pay.yaml': `tool: pay\nrules:\n  - { id: a, ${rule} }\n`,
  })
  return (await diagnose(files)).filter(({ severity }) => severity === 'error').map(({ code }) => code)
}

const FIRST = '"payload.flag[0].sku": x'

describe('an index into a list of objects', () => {
  it.each([
    `allow: A., when: { ${FIRST} }`,
    `allow: A., unless: { ${FIRST} }`,
    `reject: A., unless: { not: { ${FIRST} } }`,
    `allow: A., when: { ${FIRST}, payload.flag: { count: { at_least: 1 } } }`,
  ])('is an error where it lets a call pass: %s', async (rule) => {
    expect(await codesOf(rule)).toEqual(['entry-by-index'])
  })

  it.each([
    `allow: A., when: { ${FIRST}, payload.flag: { count: 1 } }`,
    `allow: A., when: { ${FIRST}, payload.flag: { count: { under: 2 } } }`,
    `reject: A., when: { ${FIRST} }`,
    'allow: A., when: { "payload.to[0]": x }',
  ])('causes no error with a bound, in a stricter rule, and for texts: %s', async (rule) => {
    expect(await codesOf(rule)).toEqual([])
  })
})
