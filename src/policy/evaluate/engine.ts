import { type Almanac, Engine, Operator, Rule } from 'json-rules-engine'
import { strictest, VERDICTS, type Verdict } from '../../domain/decision.ts'

/** What one run is about: the one fact `call`. A fresh object for each run. */
export interface EngineCall {
  /** Records the rules of a verdict that fire; true when an enforced one did. */
  fire(verdict: Verdict): boolean
}

/**
 * json-rules-engine with its shared state taken out. `status` belongs to the engine, not to a run: when one run
 * ends, every overlapping run would skip its remaining rules without an error. So it is pinned, and stop() fails.
 * Events have no listeners here, so nothing is emitted.
 */
class PinnedEngine extends Engine {
  get status(): string {
    return 'RUNNING'
  }

  set status(_: string) {
    // A run must not end another one.
  }

  override stop(): never {
    throw new Error('stop() would end every overlapping run')
  }

  override on(): never {
    throw new Error('a listener would outlive its run')
  }

  emitAsync(): Promise<readonly never[]> {
    return NOTHING_EMITTED
  }
}

/** The parts of json-rules-engine that its types leave out; the version is pinned, and the engine tests hold them. */
interface EngineInside {
  readonly engine: { readonly operators: unknown }
  readonly ruleEvent: { readonly type: string }
  readonly conditions: { readonly all: readonly [LeafCondition] }
}

interface LeafCondition {
  evaluate(almanac: Almanac, operators: unknown): Promise<{ readonly result: boolean }>
}

/**
 * A rule of ours is one condition. The base class would copy the whole condition tree and the event for every run, and walk
 * them through six more promises: half the price of a decision, for a report that nobody reads.
 */
class SingleConditionRule extends Rule {
  emitAsync(): Promise<readonly never[]> {
    return NOTHING_EMITTED
  }

  async evaluate(
    almanac: Almanac,
  ): Promise<{ readonly event: { readonly type: string }; readonly result: boolean }> {
    const { conditions, engine, ruleEvent } = this as unknown as EngineInside
    // Only `=== true` counts as a match in json-rules-engine; anything else must not slip through.
    const { result } = await conditions.all[0].evaluate(almanac, engine.operators)
    return { event: ruleEvent, result: result === true }
  }
}

const NOTHING_EMITTED: Promise<readonly never[]> = Promise.resolve([])

type VerdictEvent = EngineInside['ruleEvent']

/**
 * What one run knows, which is the one fact `call`, and which events it gave. The base class would make two maps, a fact with a hash
 * over its parameters and a report for every run. Whatever a verdict's rule does not ask for is refused.
 */
class CallAlmanac {
  readonly #call: Promise<EngineCall>
  readonly #events: VerdictEvent[] = []

  constructor(call: EngineCall) {
    this.#call = Promise.resolve(call)
  }

  addFact(): never {
    throw new Error('`call` is the only fact')
  }

  factValue(id: string, _: unknown, path?: string): Promise<EngineCall> {
    return id === 'call' && path === undefined ? this.#call : Promise.reject(new Error(`no such fact: ${id}`))
  }

  getValue(value: unknown): Promise<true> {
    return value === true ? EXPECTED : Promise.reject(new Error('a verdict is compared with true only'))
  }

  addEvent(event: VerdictEvent, outcome: 'success' | 'failure'): void {
    if (outcome === 'success') this.#events.push(event)
  }

  getEvents(outcome: 'success' | 'failure'): readonly VerdictEvent[] {
    return outcome === 'success' ? this.#events : []
  }

  addResult(): void {
    // The events say it all.
  }

  getResults(): readonly never[] {
    return []
  }
}

const EXPECTED: Promise<true> = Promise.resolve(true)

function refusePath(): never {
  throw new Error('no condition of a policy has a path')
}

/** A run gives the strictest event, undefined when there was none. */
export type RunEngine = (call: EngineCall) => Promise<Verdict | undefined>

/** The engines of one bundle. */
export interface VerdictEngines {
  /** For every tool whose rules have these verdicts and no others. */
  of(verdicts: ReadonlySet<Verdict>): RunEngine
}

/**
 * One engine for each set of verdicts, seven at the most: an engine holds nothing of a tool, since its operators ask the run
 * (docs/decisions/0007). With one for each tool, every decision of a large bundle would fetch its engine from far memory.
 */
export function createVerdictEngines(): VerdictEngines {
  const engines = new Map<string, RunEngine>()
  return {
    of(verdicts) {
      const name = VERDICTS.filter((verdict) => verdicts.has(verdict)).join()
      const known = engines.get(name)
      if (known) return known
      const made = createVerdictEngine(verdicts)
      engines.set(name, made)
      return made
    },
  }
}

function createRule(verdict: Verdict): Rule {
  const condition = { fact: 'call', operator: verdict, value: true }
  return new SingleConditionRule({
    name: verdict,
    event: { type: verdict },
    conditions: { all: [condition] },
  })
}

/**
 * An engine as docs/policy-language.md wants it: a rule per verdict, each with one compiled operator on the one constant fact `call`.
 * No paths, no built-in operators, no priorities, no asynchronous facts, no listeners.
 */
export function createVerdictEngine(verdicts: ReadonlySet<Verdict>): RunEngine {
  if (verdicts.size === 0) return () => Promise.resolve(undefined)
  const engine = new PinnedEngine([], { allowUndefinedFacts: false, pathResolver: refusePath })
  for (const name of BUILT_IN_OPERATORS) engine.removeOperator(name)
  for (const verdict of VERDICTS) {
    if (!verdicts.has(verdict)) continue
    // Only `=== true` counts as a match in json-rules-engine; anything else must not slip through.
    const asks = new Operator(verdict, (call: EngineCall) => call.fire(verdict) === true)
    engine.addOperator(asks as Operator)
    engine.addRule(createRule(verdict))
  }
  return async (call) => {
    const almanac = new CallAlmanac(call) as unknown as Almanac
    const { events } = await engine.run({}, { almanac })
    let found: Verdict | undefined
    for (const event of events) {
      const verdict = event.type as Verdict
      found = found === undefined ? verdict : strictest(found, verdict)
    }
    return found
  }
}

/** They coerce, compare substrings and take a missing value for a non-match: none of them may ever be used. */
const BUILT_IN_OPERATORS = [
  'equal',
  'notEqual',
  'in',
  'notIn',
  'contains',
  'doesNotContain',
  'lessThan',
  'lessThanInclusive',
  'greaterThan',
  'greaterThanInclusive',
]
