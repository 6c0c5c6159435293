import { expect, it } from 'vitest'
import { bundle, CONTRACT, diagnose, DIRECTORY, ROUTING, rules } from './support.ts'

/** What is changed in a fine bundle, and a finding: `file:line:column code: message`, then ` | ` and the hint, where the hint matters. */
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

/** Golden cases: each changes a fine bundle, and one finding must be there to the letter. */
export function runCases(cases: readonly Case[]): void {
  for (const [title, changes, expected] of cases) {
    it(`about ${title} says where, what and what to do`, async () => {
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
    it(`is not given for ${title}`, async () => {
      const found = await diagnose(bundle(changes))
      expect(found.filter((one) => codes.includes(one.code) || one.severity === 'error')).toEqual([])
    })
  }
}
