import { Engine } from 'json-rules-engine'
import { strictest, type Verdict } from '../domain/decision.ts'

/** Decides for one verdict: true when an enforced rule of it fired. Records its hits in the call. */
export type VerdictOperator<C> = (call: C) => boolean

/**
 * json-rules-engine with its shared state taken out. `status` belongs to the engine, not to a run: when one run
 * ends, every overlapping run would skip its remaining rules without an error. So it is pinned, and stop() fails.
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
}

function refusePath(): never {
  throw new Error('no condition of a policy has a path')
}

/**
 * One engine for one tool of one snapshot (policy-language.md section 7): a rule per verdict, each with one compiled operator
 * on the one constant fact `call`. No paths, no built-in operators, no priorities, no asynchronous facts, no listeners.
 * The result is the strictest event of a run, undefined when none fired. `call` must be a fresh object for each run.
 */
export function createVerdictEngine<C extends object>(
  operators: ReadonlyMap<Verdict, VerdictOperator<C>>,
): (call: C) => Promise<Verdict | undefined> {
  if (operators.size === 0) return () => Promise.resolve(undefined)
  const engine = new PinnedEngine([], { allowUndefinedFacts: false, pathResolver: refusePath })
  for (const [verdict, operator] of operators) {
    // Only `=== true` counts as a match in json-rules-engine; anything else must not slip through.
    engine.addOperator<C, true>(verdict, (call) => operator(call) === true)
    engine.addRule({
      name: verdict,
      event: { type: verdict },
      conditions: { all: [{ fact: 'call', operator: verdict, value: true }] },
    })
  }
  return async (call) => {
    const { events } = await engine.run({ call })
    let found: Verdict | undefined
    for (const event of events) {
      const verdict = event.type as Verdict
      found = found === undefined ? verdict : strictest(found, verdict)
    }
    return found
  }
}
