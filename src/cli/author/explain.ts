import type { CompiledSnapshot } from '../../policy/evaluate/compile.ts'
import { printDiagnostics } from '../../policy/report/diagnostics.ts'
import { prepareDirectory } from '../../policy/bundle/directory.ts'
import { printExplanation } from '../../policy/evaluate/explain.ts'
import { explainRequest } from '../../policy/evaluate/explain-request.ts'
import { DEFAULT_POLICIES } from './default-policies.ts'
import { goneFrom, headingIn, readRecordedCall } from './explain-record.ts'
import { readRequest } from './explain-request.ts'
import { command } from '../terminal/command.ts'
import { EXIT, usage } from '../terminal/failure.ts'
import { parse } from '../terminal/parse.ts'
import { sayBeside } from './compare-bundles.ts'
import { jsonOf, visible } from '../terminal/visible-text.ts'

export const EXPLAIN = command({
  name: 'explain',
  operands: '[DIR] REQUEST.json',
  says: `Shows how a bundle decides one call, rule by rule. REQUEST.json is the body of an evaluation (- for standard
    input). It may also have the members below. With --record, it is the line of a decision from
    \`countersign evidence export --disclosures\`.`,
  flags: {
    format: { values: ['text', 'json'], default: 'text' },
    record: { says: 'explains a call from its record of evidence' },
  },
  notes: `  "agent"            TENANT/AGENT. An agent that the directory does not have, or does not permit to use the tool, is
                     rejected. Without this member, the tool counts as permitted
  "task"             {workflow, label, subject, tools, labels}
  "agent_history"    {tools, labels}
  "used"             {LIMIT: amount}
  "time"             RFC 3339`,
})

/**
 * `countersign explain [DIR] REQUEST.json`: prints the decision and, for each rule, the values that it read and the
 * reason why it fired or not.
 */
export async function explain(args: readonly string[]): Promise<void> {
  const { values, operands } = parse(EXPLAIN, args)
  const { format } = values
  const [file = '', dir = DEFAULT_POLICIES] = operands.toReversed()
  const bundle = await prepareDirectory(dir)
  if (!bundle.ok) {
    sayBeside(format)(printDiagnostics(bundle.diagnostics))
    process.exitCode = EXIT.doesNotCheck
    return
  }
  if (values.record) return explainRecord(bundle.snapshot, file, format)
  const explanation = await explainRequest(bundle.snapshot, await readRequest(file), {
    now: Date.now(),
    refusal: (message, hint) => usage(visible(message), hint),
  })
  console.log(format === 'json' ? jsonOf(explanation) : visible(printExplanation(explanation)))
}

/** Explains a recorded call, and names the values that evidence does not have. The bundle takes them as missing. */
async function explainRecord(
  snapshot: CompiledSnapshot,
  file: string,
  format: 'text' | 'json',
): Promise<void> {
  const recorded = await readRecordedCall(file)
  const explanation = await snapshot.explain(recorded.call)
  const gone = goneFrom(explanation, recorded)
  const heading = headingIn(snapshot, recorded, explanation.outcome)
  if (format === 'json') return console.log(jsonOf({ ...explanation, heading, gone }))
  if (heading !== undefined) console.log(visible(heading))
  console.log(visible(printExplanation(explanation)))
  if (gone.length > 0)
    console.log(
      `Evidence does not have these values, which were never kept, expired or were erased: ${visible(gone.join(', '))}. The explanation takes them as missing.`,
    )
}
