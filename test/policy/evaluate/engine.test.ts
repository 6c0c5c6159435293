import { createRequire } from 'node:module'
import { Engine } from 'json-rules-engine'
import { describe, expect, it, vi } from 'vitest'
import type { Verdict } from '../../../src/domain/decision.ts'
import { createVerdictEngine, type EngineCall, type RunEngine } from '../../../src/policy/evaluate/engine.ts'
import { evaluate, type Tables } from '../../../src/policy/evaluate/evaluate.ts'
import { createPlan, type Plan } from '../../../src/policy/evaluate/plan.ts'
import type { Program } from '../../../src/policy/evaluate/program.ts'
import { call, withRules } from '../support.ts'

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
  it('overlapping runs lose rules on a plain engine, which shows that the trap exists', async () => {
    let lost = 0
    for (let offset = 0; offset < 80; offset++) {
      const run = plainEngine()
      const counts = await Promise.all([run(), later(offset, run)])
      if (counts.some((count) => count < 3)) lost++
    }
    expect(lost).toBeGreaterThan(0)
  })

  it("overlapping runs lose no rule on this project's engine, at 80 offsets", async () => {
    const run = createVerdictEngine(all)
    for (let offset = 0; offset < 80; offset++) {
      const strict = () => run(firing('allow', 'review', 'reject'))
      const both = await Promise.all([run(firing('allow')), later(offset, strict), later(offset * 2, strict)])
      expect(both).toEqual(['allow', 'reject', 'reject'])
    }
  })
})

describe('the engine', () => {
  it('returns the strictest event, or undefined when no rule fired', async () => {
    const run = createVerdictEngine(all)
    expect(await run(firing('allow', 'review'))).toBe('review')
    expect(await run(firing())).toBeUndefined()
    expect(await createVerdictEngine(new Set())(firing('allow'))).toBeUndefined()
  })

  it('counts only true as a match, not other truthy values', async () => {
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

  it('never reads the payload as a trusted fact', async () => {
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

/** A runner and the engine behind it, caught at its first run. */
async function engineOf(verdicts: ReadonlySet<Verdict>): Promise<{ run: RunEngine; engine: Engine }> {
  const runs = vi.spyOn(Engine.prototype, 'run')
  const run = createVerdictEngine(verdicts)
  await run(firing())
  const engine = runs.mock.contexts[0] as Engine
  runs.mockRestore()
  return { run, engine }
}
interface Inside {
  readonly operators: { readonly operators: ReadonlyMap<string, unknown> }
  readonly rules: readonly RuleInside[]
  readonly facts: ReadonlyMap<string, unknown>
  status: string
}
interface RuleInside {
  readonly priority: number
  readonly ruleEvent: { readonly type: string }
  readonly conditions: { readonly all: readonly Record<string, unknown>[] }
}
const insideOf = (engine: Engine): Inside => engine as unknown as Inside

describe('the guards against traps of a plain engine', () => {
  it('no run can end another: stop() and listeners fail, status stays as it is', async () => {
    const { engine } = await engineOf(all)
    expect(() => engine.stop()).toThrow('overlapping')
    expect(() => engine.on('success', () => undefined)).toThrow('listener')
    insideOf(engine).status = 'FINISHED'
    expect(insideOf(engine).status).toBe('RUNNING')
  })

  it('one priority, no fact of its own, and event types that are verdicts', async () => {
    const { rules, facts } = insideOf((await engineOf(all)).engine)
    expect(new Set(rules.map(({ priority }) => priority)).size).toBe(1)
    expect([...facts.keys()]).toEqual([])
    expect(rules.map(({ ruleEvent }) => ruleEvent.type)).toEqual(['allow', 'review', 'reject'])
  })

  it('no built-in operator remains that coerces or searches for substrings', async () => {
    const plain = new Engine([
      { event: { type: 'x' }, conditions: { all: [{ fact: 'env', operator: 'in', value: 'production' }] } },
    ])
    expect((await plain.run({ env: 'prod' })).events).toHaveLength(1)
    const { operators } = insideOf((await engineOf(all)).engine)
    expect([...operators.operators.keys()].toSorted()).toEqual(['allow', 'reject', 'review'])
  })

  it('a reject rule fires on a missing or wrongly typed value, unlike on a plain engine', async () => {
    const plain = new Engine(
      [
        {
          event: { type: 'reject' },
          conditions: { all: [{ fact: 'amount', operator: 'greaterThan', value: 5 }] },
        },
      ],
      { allowUndefinedFacts: true },
    )
    const snapshot = await withRules(
      '  - { id: a, allow: A. }\n  - { id: r, reject: R., when: { payload.meta.amount: { over: 5 } } }\n',
    )
    for (const amount of [undefined, null, '9999x', [9_999, 1], {}]) {
      expect((await plain.run({ amount })).events).toEqual([])
      const payload = { meta: amount === undefined ? {} : { amount } }
      expect((await snapshot.decide(call(payload))).by).toEqual(['r'])
    }
  })

  it('an empty group is true on a plain engine, and is an error here', async () => {
    const plain = new Engine([{ event: { type: 'allow' }, conditions: { any: [] } }])
    expect((await plain.run({})).events).toHaveLength(1)
    for (const empty of ['{ any: [] }', '{ all: [] }', '{}'])
      await expect(withRules(`  - { id: a, allow: A., when: ${empty} }\n`)).rejects.toThrow('empty-match')
  })

  it('a path in a condition and a reference as a value are refused', async () => {
    const plain = new Engine([
      {
        event: { type: 'allow' },
        conditions: { all: [{ fact: 'call', path: '$.env', operator: 'notEqual', value: 'prod' }] },
      },
    ])
    // On anything but an object the path is ignored and the fact itself compared.
    expect((await plain.run({ call: 'x' })).events).toHaveLength(1)
    const { run, engine } = await engineOf(new Set<Verdict>(['allow']))
    const [condition] = insideOf(engine).rules[0]?.conditions.all ?? []
    if (condition === undefined) throw new Error('the rule has no condition')
    expect((engine as unknown as { pathResolver: () => unknown }).pathResolver).toThrow('path')
    condition['path'] = '$.env'
    await expect(run(firing('allow'))).rejects.toThrow('no such fact')
    delete condition['path']
    condition['fact'] = 'risk'
    await expect(run(firing('allow'))).rejects.toThrow('no such fact')
    condition['fact'] = 'call'
    condition['value'] = { fact: 'call' }
    await expect(run(firing('allow'))).rejects.toThrow('true only')
  })

  it('a run has one fact, and any other is refused', async () => {
    const runs = vi.spyOn(Engine.prototype, 'run')
    await createVerdictEngine(all)(firing())
    const [facts, options] = runs.mock.calls[0] ?? []
    runs.mockRestore()
    expect(facts).toEqual({})
    const almanac = options?.almanac as unknown as { addFact(): void; factValue?: unknown }
    expect(() => almanac.addFact()).toThrow('only fact')
    expect(almanac.factValue).toBeUndefined()
  })
})

describe('a fault', () => {
  const tables = { routing: { unmatched: 'reject', allowUpTo: 'low' } } as unknown as Tables
  const none = (verdict: Verdict): Plan => createPlan([], { verdict, leaves: [] })
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
    plans: { allow: none('allow'), review: none('review'), reject: none('reject') },
    runEngine,
    reads: [],
  })

  it.each([
    [undefined, 'medium'],
    ['low', 'medium'],
    ['critical', 'critical'],
  ] as const)(
    'a call that claims risk %s has risk %s, and the risk of the tool for the policy',
    async (claimed, risk) => {
      const broken = program(() => Promise.reject(new Error('broken')))
      const claim = claimed === undefined ? {} : { riskLevel: claimed }
      expect(await evaluate(broken, tables, call({}, claim))).toMatchObject({ risk, policyRisk: 'medium' })
    },
  )

  it('a fault of the engine is a reject', async () => {
    const broken = program(() => Promise.reject(new Error('broken')))
    expect(await evaluate(broken, tables, call({}))).toMatchObject({
      verdict: 'reject',
      fault: 'engine_error',
      by: ['engine_error'],
    })
  })

  it('a mismatch of the engine with the recorded hits is a reject', async () => {
    const lying = program(() => Promise.resolve('allow'))
    expect(await evaluate(lying, tables, call({}))).toMatchObject({
      verdict: 'reject',
      fault: 'engine_mismatch',
      risk: 'medium',
    })
  })
})
