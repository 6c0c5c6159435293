import { parseArgs } from 'node:util'
import { printDiagnostics, printDiagnosticsJson } from '../policy/diagnostics.ts'
import { prepareDirectory } from '../policy/directory.ts'
import type { PreparedBundle } from '../policy/load.ts'
import { EXIT } from './failure.ts'

export const DEFAULT_POLICIES = './policies'

export const CHECK_USAGE = `countersign check [DIR] [--format text|json]

  Every finding in the policy bundle at once. Exits 3 when the bundle would not be loaded.`

/** `countersign check [DIR]`: every finding at once, sorted by place. Exit 3 when the bundle would not be loaded. */
export async function check(args: readonly string[]): Promise<void> {
  const options = { format: { type: 'string', default: 'text' } } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  const bundle = await prepareDirectory(positionals[0] ?? DEFAULT_POLICIES)
  const found = bundle.ok ? bundle.snapshot.diagnostics : bundle.diagnostics
  if (values.format === 'json') console.log(printDiagnosticsJson(found))
  else {
    if (found.length > 0) console.log(printDiagnostics(found))
    console.log(verdictOn(bundle))
  }
  if (!bundle.ok) process.exitCode = EXIT.doesNotCheck
}

function verdictOn(bundle: PreparedBundle): string {
  if (!bundle.ok) {
    const errors = bundle.diagnostics.filter((one) => one.severity === 'error').length
    return `${count(errors, 'error')}: this bundle would not be loaded`
  }
  const { tools, rules, revision, diagnostics } = bundle.snapshot
  const found = [
    count(tools.size, 'tool'),
    count(rules.length, 'rule'),
    `${count(bundle.results.length, 'test')} passed`,
    count(diagnostics.length, 'warning'),
  ]
  return `fine: ${found.join(', ')}, revision ${revision.slice(0, 12)}`
}

const count = (number: number, thing: string): string => `${number} ${thing}${number === 1 ? '' : 's'}`
