import { parse } from 'yaml'
import type { ExplanationView } from '../contract/admin.ts'
import { isObject } from '../contract/json.ts'
import { parseRequest } from '../contract/strict-json.ts'
import { prepareBundle } from '../policy/bundle/load.ts'
import type { CompiledSnapshot } from '../policy/evaluate/compile.ts'
import {
  callOfRequest,
  type ExplainRequest,
  strangersIn,
  usedOf,
} from '../policy/evaluate/explain-request.ts'
import { explainOutcome, printExplanation } from '../policy/evaluate/explain.ts'
import type { Explanation } from '../policy/evaluate/explanation.ts'
import { callUnder } from '../policy/evaluate/limits.ts'
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
    const explanation = await explain(prepared.snapshot, requestOf(request), now)
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

async function explain(
  snapshot: CompiledSnapshot,
  request: ExplainRequest,
  now: number,
): Promise<Explanation> {
  const call = callOfRequest(request, now)
  if (call === undefined) throw new TypeError('`time` must be a date and time in RFC 3339 format')
  if (request.agent !== undefined && !snapshot.mayUse(snapshot.agentOf(call.tenant, call.agent), call.tool))
    return explainOutcome(snapshot.revision, await snapshot.decide(call), {})
  const [error] = snapshot.checkPayload(call.tool, call.payload)
  if (error !== undefined)
    throw new TypeError(
      `the payload does not fit the contract: ${error.pointer || 'payload'} ${error.message}`,
    )
  const [stranger] = strangersIn(request, snapshot)
  if (stranger !== undefined)
    throw new TypeError(`\`used\` names \`${stranger}\`, which is not a limit of the tool`)
  return snapshot.explain(callUnder(call, await snapshot.judge(call), usedOf(request)))
}
