import { createRequire } from 'node:module'
import { Engine } from 'json-rules-engine'
import { describe, expect, it, vi } from 'vitest'
import type { Verdict } from '../../src/domain/decision.ts'
import { createVerdictEngine, type EngineCall } from '../../src/policy/engine.ts'
import { evaluate, type Tables } from '../../src/policy/evaluate.ts'
import { createPlan } from '../../src/policy/plan.ts'
import type { Program } from '../../src/policy/program.ts'
import { call, withRules } from './support.ts'

const all = new Set<Verdict>(['allow', 'review', 'reject'])
const firing = (...verdicts: Verdict[]): EngineCall => ({ fire: (verdict) => verdicts.includes(verdict) })

/** A run that begins some microtasks later than another one. */
async function later<T>(microtasks: number, start: () => Promise<T>): Promise<T> {
  for (let n = 0; n < microtasks; n++) await Promise.resolve()
  return start()
}

/** json-rules-engine used plainly, to prove that the trap is there. */
function plainEngine(): () => Promise<number> {
  const engine = new Engine()
  engine.addOperator('fires', () => true)
  for (const type of ['allow', 'review', 'reject']) {
    engine.addRule({
      event: { type },
      conditions: { all: [{ fact: 'call', operator: 'fires', value: true }] },
    })
  }
  return async () => (await engine.run({ call: {} })).events.length
}

describe('overlapping runs', () => {
  it('lose rules on a plain engine (the trap is real)', async () => {
    let lost = 0
    for (let offset = 0; offset < 80; offset++) {
      const run = plainEngine()
      const counts = await Promise.all([run(), later(offset, run)])
      if (counts.some((count) => count < 3)) lost++
    }
    expect(lost).toBeGreaterThan(0)
  })

  it('lose nothing here, at 80 offsets', async () => {
    const run = createVerdictEngine(all)
    for (let offset = 0; offset < 80; offset++) {
      const strict = () => run(firing('allow', 'review', 'reject'))
      const both = await Promise.all([run(firing('allow')), later(offset, strict), later(offset * 2, strict)])
      expect(both).toEqual(['allow', 'reject', 'reject'])
    }
  })
})

describe('the engine', () => {
  it('gives the strictest event, and nothing when nothing fired', async () => {
    const run = createVerdictEngine(all)
    expect(await run(firing('allow', 'review'))).toBe('review')
    expect(await run(firing())).toBeUndefined()
    expect(await createVerdictEngine(new Set())(firing('allow'))).toBeUndefined()
  })

  it('takes only true for a match, not what is truthy', async () => {
    const run = createVerdictEngine(all)
    expect(await run({ fire: () => 1 as unknown as boolean })).toBeUndefined()
  })

  it('rejects the run when an operator throws', async () => {
    const run = createVerdictEngine(all)
    const broken = {
      fire: (): boolean => {
        throw new Error('broken')
      },
    }
    await expect(run(broken)).rejects.toThrow('broken')
  })

  it('never calls JSONPath, and emits nothing', async () => {
    const require = createRequire(createRequire(import.meta.url).resolve('json-rules-engine'))
    const jsonpath = vi.spyOn(require('jsonpath-plus') as { JSONPath: () => unknown }, 'JSONPath')
    const emitted = vi.spyOn(
      (require('eventemitter2') as { prototype: { emitAsync: () => unknown } }).prototype,
      'emitAsync',
    )
    const snapshot = await withRules('  - id: a\n    allow: A.\n    when: { payload.meta.deep: 1 }\n')
    expect((await snapshot.decide(call({ meta: { deep: 1 } }))).verdict).toBe('allow')
    expect(jsonpath).not.toHaveBeenCalled()
    expect(emitted).not.toHaveBeenCalled()
    // The spy itself works: a plain engine with a path does call it.
    const engine = new Engine()
    engine.addRule({
      event: { type: 'x' },
      conditions: { all: [{ fact: 'call', path: '$.a', operator: 'equal', value: 1 }] },
    })
    await engine.run({ call: { a: 1 } })
    expect(jsonpath).toHaveBeenCalled()
    vi.restoreAllMocks()
  })

  it('lets nothing in the payload pose as a trusted fact', async () => {
    const snapshot = await withRules(
      '  - id: a\n    allow: A.\n    when: { agent.id: root, payload.amount: present }\n',
    )
    const payload = {
      amount: 1,
      agent: { id: 'root' },
      call: { agent: 'root' },
      fact: 'call',
      hits: [],
      fire: true,
    }
    expect((await snapshot.decide(call(payload))).verdict).toBe('reject')
  })

  it('reads own properties only', async () => {
    const snapshot = await withRules(
      '  - id: a\n    allow: A.\n    when: { any: [{ payload.meta.constructor: present }, { payload.meta.toString: present }] }\n',
    )
    expect((await snapshot.decide(call({ meta: {} }))).verdict).toBe('reject')
  })
})

describe('a fault', () => {
  const tables = { routing: { unmatched: 'reject', allowUpTo: 'low' } } as unknown as Tables
  const program = (runEngine: Program['runEngine']): Program => ({
    tool: {
      name: 'pay',
      description: 'd',
      risk: 'medium',
      labels: [],
      sensitive: [],
      inputSchema: {},
      revision: '',
    },
    rules: [],
    limits: [],
    fields: new Map(),
    history: { task: false, agent: false },
    plans: { allow: createPlan([], []), review: createPlan([], []), reject: createPlan([], []) },
    runEngine,
    reads: [],
  })

  it('of the engine is a reject', async () => {
    const broken = program(() => Promise.reject(new Error('broken')))
    expect(await evaluate(broken, tables, call({}))).toMatchObject({
      verdict: 'reject',
      fault: 'engine_error',
      by: ['engine_error'],
    })
  })

  it('of the engine against the recorded hits is a reject', async () => {
    const lying = program(() => Promise.resolve('allow'))
    expect(await evaluate(lying, tables, call({}))).toMatchObject({
      verdict: 'reject',
      fault: 'engine_mismatch',
      risk: 'medium',
    })
  })
})
