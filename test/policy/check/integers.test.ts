import { describe, expect, it } from 'vitest'
import { prepareBundle } from '../../../src/policy/bundle/load.ts'
import { printFolded, type Diagnostic } from '../../../src/policy/report/diagnostics.ts'
import { bundle, CONTRACT } from '../support.ts'

const ANY = 'amount: { type: [integer, "null"] }'
async function found(schema: string, more: Record<string, string> = {}): Promise<readonly Diagnostic[]> {
  const files = { ...bundle({ 'tools/pay.yaml': CONTRACT.replace(ANY, `amount: ${schema}`) }), ...more }
  const prepared = await prepareBundle(Object.entries(files).map(([path, text]) => ({ path, text })))
  const all = prepared.ok ? prepared.ir.head.diagnostics : prepared.diagnostics
  return all.filter(({ code }) => code === 'unbounded-integer')
}

describe('an integer of a contract', () => {
  for (const schema of [
    '{ type: integer }',
    '{ type: [integer, "null"] }',
    '{ anyOf: [{ type: integer }, { type: "null" }] }',
  ])
    it(`gets a warning without bounds: ${schema}`, async () => {
      const [one, ...others] = await found(schema)
      expect(others).toEqual([])
      expect(one?.message).toBe('an integer without bounds: calls with a value beyond 2^53-1 are refused')
      expect(one?.hint).toContain('make an identifier text')
    })
  for (const schema of [
    '{ type: integer, maximum: 100 }',
    '{ type: integer, minimum: 1 }',
    '{ type: [integer, "null"], exclusiveMaximum: 5 }',
    '{ type: integer, enum: [1, 2] }',
    '{ type: number }',
  ])
    it(`gets no warning with bounds: ${schema}`, async () => {
      expect(await found(schema)).toEqual([])
    })

  it('shares one line of the report with equal findings, with a count and their places', async () => {
    const others = Array.from({ length: 6 }, (_, i) => [
      `tools/t${i}.yaml`,
      `tool: t${i}\ndescription: T.\nrisk: low\ninput_schema: { type: object, properties: { id: { type: integer } } }\n`,
    ])
    const text = printFolded(
      await found('{ type: integer }', Object.fromEntries(others) as Record<string, string>),
    )
    expect(text).toContain('are refused (7 such warnings)\n')
    expect(text).toContain('  also: tools/t0.yaml:4:57, tools/t1.yaml:4:57, tools/t2.yaml:4:57 and 3 more\n')
    expect(text.match(/unbounded-integer/g)).toHaveLength(1)
  })

  it('does not hide an error behind another error with the same code', () => {
    const error = {
      code: 'bad-value',
      severity: 'error' as const,
      file: 'a',
      line: 1,
      column: 1,
      message: 'no `x`',
    }
    expect(printFolded([error, { ...error, line: 2, message: 'no `y`' }])).toBe(
      'a:1:1: error bad-value: no `x`\na:2:1: error bad-value: no `y`\n',
    )
  })
})
