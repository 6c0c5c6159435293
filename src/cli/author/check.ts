import { relative, resolve } from 'node:path'
import { printDiagnosticsJson, printFolded, type Diagnostic } from '../../policy/report/diagnostics.ts'
import { printDiagnosticsGithub } from '../../policy/report/github.ts'
import { printDiagnosticsSarif } from '../../policy/report/sarif.ts'
import { prepareDirectory } from '../../policy/bundle/directory.ts'
import type { PreparedBundle } from '../../policy/bundle/load.ts'
import { packageVersion } from '../../system/package.ts'
import { command } from '../terminal/command.ts'
import { EXIT } from '../terminal/failure.ts'
import { parse } from '../terminal/parse.ts'
import { DEFAULT_POLICIES } from './default-policies.ts'
import { untilInterrupted, type View, watchPrepared } from './watch.ts'

export const CHECK = command({
  name: 'check',
  operands: '[DIR]',
  says: 'Reports every finding in the policy bundle. Exits 3 if the bundle would not load; warnings alone exit 0.',
  flags: {
    format: {
      values: ['text', 'json', 'github', 'sarif'],
      default: 'text',
      says: `github writes workflow annotations, sarif a SARIF 2.1.0 log; both name files relative to the working
        directory. text is in colour on a terminal, unless NO_COLOR is set`,
    },
    watch: { says: 'checks again when a file of the bundle changes, until you interrupt it' },
  },
})

/** The output for findings: a terminal with colours, or any other output. */
interface Output {
  readonly isTTY?: boolean
  hasColors?(): boolean
}

type Format = (bundle: PreparedBundle, found: readonly Diagnostic[], root: string) => string

const FORMATS: Readonly<Record<(typeof CHECK.flags.format.values)[number], Format>> = {
  text: (bundle, found) => {
    const printed = printFolded(found, { color: wantsColor(process.stdout) })
    return `${verdictOn(bundle)}\n${printed === '' ? '' : `\n${printed}`}`
  },
  json: (_, found) => printDiagnosticsJson(found),
  github: (bundle, found, root) => `${verdictOn(bundle)}\n${printDiagnosticsGithub(found, root)}`,
  sarif: (_, found, root) => printDiagnosticsSarif(found, { root, version: packageVersion() }),
}

/** `countersign check [DIR]`: prints every finding, sorted by place. Exits with 3 when the bundle cannot be loaded. */
export async function check(args: readonly string[]): Promise<void> {
  const { values, operands } = parse(CHECK, args)
  const [directory = DEFAULT_POLICIES] = operands
  const format = FORMATS[values.format]
  const viewOf = (bundle: PreparedBundle): View => {
    const text = format(bundle, foundIn(bundle), fromHere(directory))
    return { text, show: () => say(text, bundle) }
  }
  if (values.watch) await untilInterrupted(watchPrepared(directory, viewOf))
  else await viewOf(await prepareDirectory(directory)).show()
}

function foundIn(bundle: PreparedBundle): readonly Diagnostic[] {
  return bundle.ok ? bundle.snapshot.diagnostics : bundle.diagnostics
}

function say(text: string, { ok }: PreparedBundle): void {
  process.stdout.write(text)
  process.exitCode = ok ? EXIT.ok : EXIT.doesNotCheck
}

/** True when the output has colours: on a terminal that supports them, unless NO_COLOR is set. */
export function wantsColor(output: Output): boolean {
  return output.isTTY === true && output.hasColors?.() === true
}

/**
 * The directory relative to the working directory, with forward slashes. The result is empty for the working directory
 * itself.
 */
function fromHere(directory: string): string {
  return relative('', resolve(directory)).replaceAll('\\', '/')
}

function verdictOn(bundle: PreparedBundle): string {
  if (!bundle.ok) {
    const errors = bundle.diagnostics.filter((one) => one.severity === 'error').length
    return `${count(errors, 'error')}: this bundle would not load`
  }
  const { tools, rules, revision, diagnostics } = bundle.snapshot
  const found = [
    count(tools.size, 'tool'),
    count(rules.length, 'rule'),
    `${count(bundle.results.length, 'test')} passed`,
  ]
  const verdict = diagnostics.length === 0 ? 'fine' : `no errors, ${count(diagnostics.length, 'warning')}`
  return `${verdict}: ${found.join(', ')}, revision ${revision.slice(0, 12)}`
}

const count = (number: number, thing: string): string => `${number} ${thing}${number === 1 ? '' : 's'}`
