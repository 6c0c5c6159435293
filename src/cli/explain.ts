import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { printDiagnostics } from '../policy/diagnostics.ts'
import { prepareDirectory } from '../policy/directory.ts'
import { printExplanation } from '../policy/explain.ts'
import { callOfRequest, type ExplainRequest, usedOf } from '../policy/explain-request.ts'
import { callUnder } from '../policy/limits.ts'
import type { Call } from '../policy/snapshot.ts'
import { DEFAULT_POLICIES } from './check.ts'
import { EXIT, oneOf, usage } from './failure.ts'

export const EXPLAIN_USAGE = `countersign explain [DIR] REQUEST.json [--format text|json]

  REQUEST.json is the body of an evaluation (- for standard input); beside it may stand
  "agent" (TENANT/AGENT), "task" ({workflow, label, subject, tools, labels}), "agent_history" ({tools, labels}),
  "used" ({LIMIT: amount}) and "time" (RFC 3339).`

/** `countersign explain [DIR] REQUEST.json`: the decision, and for each rule what it read and why it fired or not. */
export async function explain(args: readonly string[]): Promise<void> {
  const options = {
    format: { type: 'string', default: 'text' },
    json: { type: 'boolean', default: false },
  } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  // --json is how this was first said.
  const format = values.json ? 'json' : oneOf(values.format, ['text', 'json'], '--format')
  const [dir, file] = positionals.length > 1 ? positionals : [DEFAULT_POLICIES, positionals[0]]
  if (file === undefined) throw usage('name a request', EXPLAIN_USAGE)
  const bundle = await prepareDirectory(dir ?? DEFAULT_POLICIES)
  if (!bundle.ok) {
    console.log(printDiagnostics(bundle.diagnostics))
    process.exitCode = EXIT.doesNotCheck
    return
  }
  const request = await readRequest(file)
  const call = callOf(request)
  const misfits = bundle.snapshot.checkPayload(call.tool, call.payload)
  if (misfits.length > 0) {
    const places = misfits.map(({ pointer, message }) => `${pointer === '' ? 'payload' : pointer} ${message}`)
    throw usage(`the payload does not fit the contract of \`${call.tool}\`: ${places.join('; ')}`)
  }
  const { snapshot } = bundle
  const explanation = await snapshot.explain(await callUnder(snapshot.judge, call, usedOf(request)))
  console.log(format === 'json' ? JSON.stringify(explanation, null, 2) : printExplanation(explanation))
}

async function readRequest(file: string): Promise<Partial<ExplainRequest>> {
  const text = file === '-' ? await standardInput() : await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) throw usage(`cannot read \`${file}\``)
  try {
    return JSON.parse(text) as Partial<ExplainRequest>
  } catch (cause) {
    throw usage(`\`${file}\` is not JSON: ${(cause as Error).message}`)
  }
}

async function standardInput(): Promise<string> {
  let text = ''
  for await (const chunk of process.stdin.setEncoding('utf8')) text += String(chunk)
  return text
}

function callOf(request: Partial<ExplainRequest>): Call {
  const { tool_name } = request
  if (typeof tool_name !== 'string') throw usage('the request has no `tool_name`', EXPLAIN_USAGE)
  const call = callOfRequest({ ...request, tool_name }, Date.now())
  if (call === undefined) throw usage(`\`${String(request.time)}\` is not a time`)
  return call
}
