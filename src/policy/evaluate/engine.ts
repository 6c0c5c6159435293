import { type Almanac, type ConditionProperties, Engine, Operator, Rule } from 'json-rules-engine'
import { strictest, VERDICTS, type Verdict } from '../../domain/decision.ts'
import { remember } from '../language/remember.ts'

/** The only fact of a run, `call`. Each run has a new object. */
export interface EngineCall {
  /** Records the rules of a verdict that fire. Returns true when an enforced rule fired. */
  fire(verdict: Verdict): boolean
}

/**
 * json-rules-engine without its shared state. All runs share the engine's `status`: when one run ends, every
 * overlapping run would skip its remaining rules without an error. So `status` is pinned, and stop() fails. Events have
 * no listeners here, so the engine does not emit them.
 */
class PinnedEngine extends Engine {
  get status(): string {
    return 'RUNNING'
  }

  set status(_: string) {
    // A run must not end another run.
  }

  override stop(): never {
    throw new Error('stop() would end every overlapping run')
  }

  override on(): never {
    throw new Error('a listener would outlive its run')
  }

  /** Runs the rules in turn. The base class makes a dozen promises for each rule. */
  evaluateRules(rules: readonly SingleConditionRule[], almanac: CallAlmanac): void {
    for (const rule of rules) rule.run(almanac)
  }
}

/**
 * The parts of json-rules-engine that its types omit. The version is pinned, and the engine tests check these parts.
 */
interface EngineInside {
  readonly engine: {
    readonly operators: { get(name: string): { evaluate(fact: unknown, value: unknown): boolean } }
  }
  readonly ruleEvent: { readonly type: string }
  readonly conditions: { readonly all: readonly [ConditionProperties] }
}

/**
 * A rule with one condition, which compares `call` with true. For every run, the base class would copy the condition
 * tree and the event, and ask the almanac for the fact, through ten promises. This work is half the cost of a decision
 * and serves only an unused report.
 */
class SingleConditionRule extends Rule {
  run(almanac: CallAlmanac): void {
    const { conditions, engine, ruleEvent } = this as unknown as EngineInside
    const { fact, operator, path, value } = conditions.all[0]
    if (fact !== 'call' || path !== undefined) throw new Error(`no such fact: ${fact}`)
    if (value !== true) throw new Error('a verdict is compared with true only')
    // json-rules-engine counts only `=== true` as a match. No other result may become a match.
    if (engine.operators.get(operator).evaluate(almanac.call, true) === true) almanac.events.push(ruleEvent)
  }
}

type VerdictEvent = EngineInside['ruleEvent']

/**
 * The fact and the events of one run. For every run, the base class would create two maps, a report, and a fact with a
 * hash of its parameters. This class has no other fact, and refuses to add one.
 */
class CallAlmanac {
  readonly call: EngineCall
  readonly events: VerdictEvent[] = []

  constructor(call: EngineCall) {
    this.call = call
  }

  addFact(): never {
    throw new Error('`call` is the only fact')
  }

  getEvents(outcome: 'success' | 'failure'): readonly VerdictEvent[] {
    return outcome === 'success' ? this.events : []
  }

  getResults(): readonly never[] {
    return []
  }
}

function refusePath(): never {
  throw new Error('no condition of a policy has a path')
}

/** Runs the engine. Returns the strictest event, or undefined without one. */
export type RunEngine = (call: EngineCall) => Promise<Verdict | undefined>

/** The engines of one bundle. */
export interface VerdictEngines {
  /** Returns the engine for tools whose rules have exactly these verdicts. */
  of(verdicts: ReadonlySet<Verdict>): RunEngine
}

/**
 * Creates one engine for each set of verdicts, at most seven. An engine has no data about a tool, because its operators
 * query the run (docs/decisions/0007). With an engine for each tool, decisions in a large bundle would miss the cache.
 */
export function createVerdictEngines(): VerdictEngines {
  const engines = new Map<string, RunEngine>()
  return {
    of(verdicts) {
      const name = VERDICTS.filter((verdict) => verdicts.has(verdict)).join()
      return remember(engines, name, () => createVerdictEngine(verdicts))
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
 * Creates an engine with a rule for each verdict. Each rule has one compiled operator on the only fact, the constant
 * `call`. The engine has no paths, built-in operators, priorities, asynchronous facts or listeners.
 */
export function createVerdictEngine(verdicts: ReadonlySet<Verdict>): RunEngine {
  if (verdicts.size === 0) return () => Promise.resolve(undefined)
  const engine = new PinnedEngine([], { allowUndefinedFacts: false, pathResolver: refusePath })
  for (const name of BUILT_IN_OPERATORS) engine.removeOperator(name)
  for (const verdict of VERDICTS) {
    if (!verdicts.has(verdict)) continue
    // json-rules-engine counts only `=== true` as a match. No other result may become a match.
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

/**
 * Operators that coerce values, compare substrings or treat a missing value as a non-match. createVerdictEngine removes
 * them all.
 */
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
