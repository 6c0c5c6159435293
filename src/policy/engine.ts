import { type Almanac, Engine, Fact, Operator, Rule, type TopLevelCondition } from 'json-rules-engine'
import { strictest, VERDICTS, type Verdict } from '../domain/decision.ts'

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

function refusePath(): never {
  throw new Error('no condition of a policy has a path')
}

/** The parts of every engine that never differ, made once: a thousand engines share them. */
export interface EngineParts {
  readonly operators: Readonly<Record<Verdict, Operator<EngineCall, true>>>
  readonly conditions: Readonly<Record<Verdict, TopLevelCondition>>
}

export function createEngineParts(): EngineParts {
  return {
    // Only `=== true` counts as a match in json-rules-engine; anything else must not slip through.
    operators: byVerdict(
      (verdict) => new Operator(verdict, (call: EngineCall) => call.fire(verdict) === true),
    ),
    conditions: byVerdict((verdict) => createRule(verdict).conditions),
  }
}

function byVerdict<T>(make: (verdict: Verdict) => T): Readonly<Record<Verdict, T>> {
  return { allow: make('allow'), review: make('review'), reject: make('reject') }
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
 * One engine for one tool of one snapshot (policy-language.md section 7): a rule per verdict, each with one compiled operator
 * on the one constant fact `call`. No paths, no built-in operators, no priorities, no asynchronous facts, no listeners.
 * A run gives the strictest event, undefined when there was none.
 */
export function createVerdictEngine(
  verdicts: ReadonlySet<Verdict>,
  parts: EngineParts,
): (call: EngineCall) => Promise<Verdict | undefined> {
  if (verdicts.size === 0) return () => Promise.resolve(undefined)
  const engine = new PinnedEngine([], { allowUndefinedFacts: false, pathResolver: refusePath })
  for (const name of BUILT_IN_OPERATORS) engine.removeOperator(name)
  for (const verdict of VERDICTS) {
    if (!verdicts.has(verdict)) continue
    const rule = createRule(verdict)
    rule.conditions = parts.conditions[verdict]
    engine.addOperator(parts.operators[verdict] as Operator)
    engine.addRule(rule)
  }
  return async (call) => {
    // Uncached, because the key would be a hash over the whole payload.
    const { events } = await engine.run({ call: new Fact('call', call, { cache: false }) })
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
