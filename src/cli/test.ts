import { parseArgs } from 'node:util'
import { printDiagnostics } from '../policy/diagnostics.ts'
import { prepareDirectory } from '../policy/directory.ts'
import type { CaseResult } from '../policy/suite.ts'
import { DEFAULT_POLICIES } from './check.ts'
import { EXIT } from './failure.ts'

export const TEST_USAGE = `countersign test [DIR] [--allow-untested]

  Runs the tests inside the rule files. Exits 4 when one fails, or when a rule is fired by none and --allow-untested is not given.`

/** `countersign test [DIR]`: the tests inside the rule files, and the rules that none of them fires. Exit 4 when one fails. */
export async function test(args: readonly string[]): Promise<void> {
  const options = { 'allow-untested': { type: 'boolean', default: false } } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  const bundle = await prepareDirectory(positionals[0] ?? DEFAULT_POLICIES)
  if (bundle.results === undefined) {
    console.log(printDiagnostics(bundle.ok ? [] : bundle.diagnostics))
    process.exitCode = EXIT.doesNotCheck
    return
  }
  const failed = bundle.results.filter(({ problems }) => problems.length > 0)
  if (!bundle.ok) console.log(printDiagnostics(bundle.diagnostics))
  const untested = bundle.ok ? rulesNotIn(bundle.results, bundle.snapshot.rules) : []
  for (const rule of untested) console.log(`no test fires ${rule.id} (${rule.file}:${rule.line})`)
  console.log(
    `${bundle.results.length - failed.length} passed, ${failed.length} failed, ${untested.length} rules untested`,
  )
  const missing = untested.length > 0 && !values['allow-untested']
  if (failed.length > 0 || missing) process.exitCode = EXIT.testsFailed
  else if (!bundle.ok) process.exitCode = EXIT.doesNotCheck
}

function rulesNotIn<R extends { id: string }>(results: readonly CaseResult[], rules: readonly R[]): R[] {
  const fired = new Set(results.flatMap(({ outcome }) => outcome?.fired.map((rule) => rule.id) ?? []))
  return rules.filter((rule) => !fired.has(rule.id))
}
