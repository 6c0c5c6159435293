import { parse } from 'yaml'
import type { ExplainRequest, ExplanationView } from '../contract/admin.ts'
import { isObject } from '../contract/json.ts'
import { parseRequest } from '../contract/strict-json.ts'
import { prepareBundle } from '../policy/bundle/load.ts'
import { explainRequest } from '../policy/evaluate/explain-request.ts'
import { printExplanation } from '../policy/evaluate/explain.ts'
import type { Explanation } from '../policy/evaluate/explanation.ts'
import type { BundleFile, Decision, Evaluated } from './messages.ts'

/**
 * Checks the bundle, runs its tests, and explains the decision about the request.
 *
 * @param request the JSON of a request to explain (docs/author-tools.md)
 * @param now ms since 1970, for rules with a time
 */
export async function evaluate(
  files: readonly BundleFile[],
  request: string,
  now: number,
): Promise<Evaluated> {
  const prepared = await prepareBundle(files, { now })
  const tests = prepared.results?.map(({ case: { name }, problems }) => ({ name, problems }))
  const diagnostics = prepared.ok ? prepared.ir.head.diagnostics : prepared.diagnostics
  const found = { diagnostics, ...(tests && { tests }) }
  if (!prepared.ok) return { ...found, problem: 'the bundle does not load' }
  try {
    const explanation = await explainRequest(prepared.snapshot, requestOf(request), {
      now,
      refusal: (message) => new TypeError(message),
    })
    return { ...found, decision: decisionOf(explanation) }
  } catch (error) {
    return { ...found, problem: (error as Error).message }
  }
}

/** Returns the first call with a payload in the bundle's tests, as a request; undefined without one. */
export function exampleRequest(files: readonly BundleFile[]): string | undefined {
  for (const { path, text } of files) {
    if (!path.startsWith('rules/')) continue
    const { tool, tests } = (parse(text, { logLevel: 'silent' }) ?? {}) as { tool?: unknown; tests?: unknown }
    const cases = Array.isArray(tests) ? (tests as readonly { tool?: unknown; payload?: unknown }[]) : []
    for (const { tool: own = tool, payload } of cases)
      if (typeof own === 'string' && typeof payload === 'object')
        return JSON.stringify({ tool_name: own, payload }, null, 2)
  }
  return undefined
}

/** The explanation in the form of the API, with the same members, but writable. */
const decisionOf = (explanation: Explanation): Decision => ({
  verdict: explanation.outcome.verdict,
  explanation: explanation as unknown as ExplanationView,
  text: printExplanation(explanation),
})

function requestOf(text: string): ExplainRequest {
  const value = parseRequest(new TextEncoder().encode(text), { longTextsIn: 'payload' })
  if (!isObject(value)) throw new TypeError('a request must be a JSON object')
  const { tool_name, payload = {} } = value
  if (typeof tool_name !== 'string') throw new TypeError('`tool_name` is missing: it names the tool')
  if (!isObject(payload)) throw new TypeError('`payload` must be a JSON object')
  return value as unknown as ExplainRequest
}
