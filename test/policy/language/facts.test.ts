import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../../../src/contract/json.ts'
import { FACT_NAMES, FACTS, isNeverScope, type FactName } from '../../../src/policy/language/facts.ts'
import type { Call } from '../../../src/policy/language/snapshot.ts'
import { createClock } from '../../../src/policy/language/time.ts'
import { recall } from '../../../src/policy/backtest/recall.ts'
import type { Decided } from '../../../src/policy/backtest/records.ts'
import { compileFits, wholePart } from '../../../src/policy/diff/subschema.ts'
import { bundle, diagnose, rules, snapshotOf } from '../support.ts'

const call: Call = { tool: 'pay', payload: {}, tenant: 'acme', agent: 'bot', at: Date.UTC(2027, 0, 31, 23) }
const clock = createClock('Pacific/Kiritimati')

const ODD_TEXTS = ['a', 'A.b_c-9', '', '\u0000', '__proto__', 'e\u0301', '$list', 'missing', '2027-01-31']
const SAMPLES: readonly JsonValue[] = [
  ...ODD_TEXTS,
  ...ODD_TEXTS.map((text) => [text]),
  [],
  ODD_TEXTS,
  0,
  23,
  null,
  true,
]

/** The samples that the fact's schema permits. */
function samplesOf(name: FactName): readonly JsonValue[] {
  const fits = compileFits(wholePart(FACTS[name].schema))
  return SAMPLES.filter((value) => fits(value))
}

const RECORD: Decided = {
  kind: 'decided',
  number: 1,
  at: call.at,
  tenant: 'acme',
  agent: 'bot',
  task: 'task',
  tool: 'pay',
  isRevision: false,
  verdict: 'allow',
  risk: 'low',
  policy: '',
  reads: [],
}

describe('every fact', () => {
  it.each(FACT_NAMES)(
    '%s: a value that diff puts into a call is the value that a rule reads',
    async (name) => {
      const { put, read } = FACTS[name]
      if (typeof put === 'string') return
      const samples = samplesOf(name)
      expect(samples.length).toBeGreaterThan(2)
      const { tools, directory } = await snapshotOf(bundle())
      const tool = tools.get('pay')
      if (tool === undefined) throw new Error('the bundle has no tool')
      for (const value of samples)
        expect(read({ call: put(call, value), tool, clock, directory })).toEqual(value)
    },
  )

  it.each(FACT_NAMES)('%s: backtest has its recorded value, or reports it as unknown', async (name) => {
    const { recorded, read } = FACTS[name]
    const field = { name, root: name, path: [] }
    const bare = recall(RECORD)
    expect(bare.isUnknown(field)).toBe(recorded === 'with the decision')
    if (recorded !== 'with the decision') return
    const missing = recall({ ...RECORD, reads: [{ field: name, state: 'missing' }] })
    expect(missing.isUnknown(field)).toBe(false)
    const { tools, directory } = await snapshotOf(bundle())
    for (const value of SAMPLES) {
      const rebuilt = recall({ ...RECORD, reads: [{ field: name, state: 'value', value }] })
      const fits = samplesOf(name).includes(value)
      expect({ value, isUnknown: rebuilt.isUnknown(field) }).toEqual({ value, isUnknown: !fits })
      const tool = tools.get('pay')
      if (fits && tool) expect(read({ call: rebuilt.call, tool, clock, directory })).toEqual(value)
    }
  })

  it.each(FACT_NAMES)('%s: a limit counts per fact, unless the fact is a list or the time', async (name) => {
    const limit = `limits: [{ id: l, review: R., count: calls, at_most: 1, within: 1h, per: ${name} }]`
    const files = bundle({ 'rules/pay.yaml': `${rules('  - { id: a, allow: A. }')}\n${limit}\n` })
    const found = (await diagnose(files)).map(({ code, message }) => `${code}: ${message}`)
    expect(found).toEqual(isNeverScope(name) ? [`bad-value: \`${name}\` is not one value per call`] : [])
  })

  it('is never the scope of a limit when it is a list', () => {
    const lists = FACT_NAMES.filter((name) => FACTS[name].schema['type'] === 'array')
    expect(lists.length).toBeGreaterThan(0)
    expect(lists.filter((name) => !isNeverScope(name))).toEqual([])
  })
})
