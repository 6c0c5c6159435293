import { parse } from 'yaml'
import type { JsonObject } from '../../contract/json.ts'
import { readBundle } from '../../policy/bundle/directory.ts'
import type { BundleText } from '../../policy/bundle/check.ts'

/** A call that a test of the bundle describes. */
export interface TestedCall {
  readonly tool: string
  readonly payload: JsonObject
}

/** The call of the starter policies that is easiest to understand. */
const PREFERRED = 'ledger.transfer'

/**
 * Returns a call for a first try, from the tests in the rule files of `dir`. Held calls are preferred, because the
 * console shows them.
 *
 * @param mayUse whether the agent may use a tool
 */
export async function exampleCallIn(
  dir: string,
  mayUse: (tool: string) => boolean,
): Promise<TestedCall | undefined> {
  const read = await readBundle(dir, { ignoreLock: true })
  const tested = (read.ok ? read.texts : []).flatMap(testedCalls).filter(({ tool }) => mayUse(tool))
  const held = tested.filter(({ verdict }) => verdict === 'review')
  return held.find(({ tool }) => tool === PREFERRED) ?? held[0] ?? tested[0]
}

interface Tested extends TestedCall {
  readonly verdict: 'review' | 'allow'
}

/** The tested calls of a rule file. Faulty parts are ignored, because `countersign check` reports them. */
function testedCalls({ path, text }: BundleText): readonly Tested[] {
  if (!path.startsWith('rules/') || !/\.ya?ml$/.test(path)) return []
  const document = parse(text, { logLevel: 'silent' }) as { tool?: unknown; tests?: unknown } | null
  const { tool, tests } = document ?? {}
  if (typeof tool !== 'string' || !Array.isArray(tests)) return []
  return (tests as readonly Record<string, unknown>[]).flatMap((one) => {
    const { payload } = one
    const verdict = 'review' in one ? 'review' : 'allow' in one ? 'allow' : undefined
    if (verdict === undefined || typeof payload !== 'object' || payload === null || 'at' in one) return []
    return [{ tool, payload: payload as JsonObject, verdict }]
  })
}
