import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { defined } from '../contract/defined.ts'
import type { JsonObject } from '../contract/json.ts'
import type { Risk } from '../domain/decision.ts'
import { printDiagnostics } from '../policy/diagnostics.ts'
import { prepareDirectory } from '../policy/directory.ts'
import { printExplanation } from '../policy/explain.ts'
import { type Call, NO_HISTORY } from '../policy/snapshot.ts'
import { DEFAULT_POLICIES } from './check.ts'
import { EXIT, usage } from './failure.ts'

export const EXPLAIN_USAGE = `countersign explain [DIR] REQUEST.json [--json]

  REQUEST.json is the body of an evaluation (- for standard input); beside it may stand
  "agent" (TENANT/AGENT), "task" ({workflow, label, subject}) and "time" (RFC 3339).`

/** `countersign explain [DIR] REQUEST.json`: the decision, and for each rule what it read and why it fired or not. */
export async function explain(args: readonly string[]): Promise<void> {
  const options = { json: { type: 'boolean', default: false } } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  const [dir, file] = positionals.length > 1 ? positionals : [DEFAULT_POLICIES, positionals[0]]
  if (file === undefined) throw usage('name a request', EXPLAIN_USAGE)
  const bundle = await prepareDirectory(dir ?? DEFAULT_POLICIES)
  if (!bundle.ok) {
    console.log(printDiagnostics(bundle.diagnostics))
    process.exitCode = EXIT.doesNotCheck
    return
  }
  const call = callOf(await readRequest(file))
  const misfits = bundle.snapshot.checkPayload(call.tool, call.payload)
  if (misfits.length > 0) {
    const places = misfits.map(({ pointer, message }) => `${pointer === '' ? 'payload' : pointer} ${message}`)
    throw usage(`the payload does not fit the contract of \`${call.tool}\`: ${places.join('; ')}`)
  }
  const explanation = await bundle.snapshot.explain(call)
  console.log(values.json ? JSON.stringify(explanation, null, 2) : printExplanation(explanation))
}

interface ExplainRequest {
  readonly tool_name?: unknown
  readonly payload?: JsonObject
  readonly risk_level?: Risk
  readonly workflow_name?: string
  readonly task_label?: string
  readonly subject?: string
  readonly agent?: string
  readonly task?: { workflow?: string; label?: string; subject?: string }
  readonly time?: string
}

async function readRequest(file: string): Promise<ExplainRequest> {
  const text = file === '-' ? await standardInput() : await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) throw usage(`cannot read \`${file}\``)
  try {
    return JSON.parse(text) as ExplainRequest
  } catch (cause) {
    throw usage(`\`${file}\` is not JSON: ${(cause as Error).message}`)
  }
}

async function standardInput(): Promise<string> {
  let text = ''
  for await (const chunk of process.stdin.setEncoding('utf8')) text += String(chunk)
  return text
}

function callOf(request: ExplainRequest): Call {
  const { tool_name, payload = {}, agent = 'test/test', risk_level } = request
  if (typeof tool_name !== 'string') throw usage('the request has no `tool_name`', EXPLAIN_USAGE)
  const [tenant = '', id = ''] = agent.includes('/') ? agent.split('/') : ['test', agent]
  const claims = defined({ ...taskOf(request), riskLevel: risk_level })
  return { tool: tool_name, payload, tenant, agent: id, at: timeOf(request), history: NO_HISTORY, ...claims }
}

function taskOf({ workflow_name, task_label, subject, task }: ExplainRequest) {
  return {
    workflow: workflow_name ?? task?.workflow,
    label: task_label ?? task?.label,
    subject: subject ?? task?.subject,
  }
}

function timeOf({ time }: ExplainRequest): number {
  const at = time === undefined ? Date.now() : Date.parse(time)
  if (Number.isNaN(at)) throw usage(`\`${time ?? ''}\` is not a time`)
  return at
}
