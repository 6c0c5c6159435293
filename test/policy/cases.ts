import { expect, it } from 'vitest'
import { bundle, CONTRACT, diagnose, DIRECTORY, ROUTING, rules } from './support.ts'

/**
 * Changes of a fine bundle, and a finding of it. A finding is `file:line:column code: message`, then ` | ` and the
 * hint, where the hint matters.
 */
export type Case = readonly [title: string, changes: Record<string, string | undefined>, expected: string]

export const pay = (text: string, head?: string): Record<string, string> => ({
  'rules/pay.yaml': rules(text, head),
})
export const when = (match: string): Record<string, string> =>
  pay(`  - id: a\n    allow: A.\n    when: ${match}\n`)
export const routing = (from: string, to: string): Record<string, string> => ({
  'routing.yaml': ROUTING.replace(from, to),
})
export const directory = (from: string, to: string): Record<string, string> => ({
  'directory.yaml': DIRECTORY.replace(from, to),
})
export const contract = (from: string, to: string): Record<string, string> => ({
  'tools/pay.yaml': CONTRACT.replace(from, to),
})
export const schema = (property: string): Record<string, string> =>
  contract('flag: { type: boolean, default: false }', property)

/** A contract with one of everything that section 5 names. */
export const RICH = `tool: pay
description: Pay somebody.
risk: low
input_schema:
  type: object
  additionalProperties: false
  required: [amount]
  $defs:
    money: { type: integer, minimum: 1, maximum: 1000 }
    tree: { type: object, additionalProperties: false, properties: { name: { type: string }, kids: { type: array, items: { $ref: '#/$defs/tree' } } } }
  properties:
    amount: { $ref: '#/$defs/money' }
    share: { type: number, exclusiveMinimum: 0, exclusiveMaximum: 1 }
    currency: { enum: [usd, eur, gbp] }
    price: { type: number, multipleOf: 0.05 }
    kind: { const: refund }
    level: { enum: [1, 2, 3] }
    note: { type: string, minLength: 3, maxLength: 10 }
    code: { type: string, pattern: '^ch_[0-9]+$' }
    mail: { type: string, format: email }
    on: { const: true }
    tags: { type: array, minItems: 1, maxItems: 3, items: { enum: [red, green] } }
    grid: { type: array, items: { type: array, items: { type: integer, minimum: 0 } } }
    pair: { type: array, prefixItems: [{ type: string }, { type: integer }], items: false }
    who: { anyOf: [{ type: string, maxLength: 4 }, { type: integer, minimum: 10 }] }
    both: { allOf: [{ type: integer }, { minimum: 5 }, { maximum: 9 }] }
    one: { oneOf: [{ enum: [a, b] }, { const: c }] }
    tree: { $ref: '#/$defs/tree' }
    to: { type: array, items: { type: string } }
    url: { type: string }
    sql: { type: string }
    open: { type: object, properties: { region: { type: string } } }
    map: { type: object, additionalProperties: { type: integer }, patternProperties: { '^x_': { type: string } } }
    maybe: { type: [integer, 'null'] }
    never: false
`
export const rich = (match: string): Record<string, string> => ({ 'tools/pay.yaml': RICH, ...when(match) })

/** Golden cases: each changes a fine bundle, and one finding must be there to the letter. */
export function runCases(cases: readonly Case[]): void {
  for (const [title, changes, expected] of cases) {
    it(`about ${title} states the place, the fault and the remedy`, async () => {
      const shown = (await diagnose(bundle(changes))).map((one) => {
        const hint = expected.includes(' | ') ? ` | ${one.hint}` : ''
        return `${one.file}:${one.line}:${one.column} ${one.code}: ${one.message}${hint}`
      })
      expect(shown).toContain(expected)
    })
  }
}

/** Changes of a fine bundle that must not give a finding of these codes. */
export function runFine(
  cases: readonly (readonly [title: string, changes: Case[1]])[],
  codes: readonly string[],
): void {
  for (const [title, changes] of cases) {
    it(`is not reported for ${title}`, async () => {
      const found = await diagnose(bundle(changes))
      expect(found.filter((one) => codes.includes(one.code) || one.severity === 'error')).toEqual([])
    })
  }
}
