import { writeFile } from 'node:fs/promises'
import { printFolded } from '../../policy/report/diagnostics.ts'
import { prepareDirectory } from '../../policy/bundle/directory.ts'
import {
  printJunit,
  printSuite,
  reportSuite,
  untestedRules,
  type SuiteReport,
} from '../../policy/bundle/test-report.ts'
import { DEFAULT_POLICIES } from './default-policies.ts'
import { command } from '../terminal/command.ts'
import { cannotWrite, EXIT, type ExitCode } from '../terminal/failure.ts'
import { parse } from '../terminal/parse.ts'
import { untilInterrupted, type Watching, watchPrepared } from './watch.ts'

export const TEST = command({
  name: 'test',
  operands: '[DIR]',
  says: `Runs the tests in the rule files, and counts for each rule how many tests fire it. Exits 4 if a test fails, or
    if no test fires a rule.`,
  flags: {
    'allow-untested': { says: 'does not fail for rules that no test fires' },
    format: { values: ['text', 'json'], default: 'text' },
    junit: { takes: 'FILE', says: 'also writes the results as JUnit XML' },
    watch: { says: 'runs again when a file of the bundle changes, until you interrupt it' },
  },
})

/**
 * `countersign test [DIR]`: runs the tests in the rule files, and counts the tests that fire each rule. Exits with 4
 * when a test fails.
 */
export async function test(args: readonly string[]): Promise<void> {
  const { values, operands } = parse(TEST, args)
  const [dir = DEFAULT_POLICIES] = operands
  const show = async (report: SuiteReport): Promise<void> => {
    console.log(values.format === 'json' ? JSON.stringify(report, null, 2) : textOf(report))
    if (values.junit !== undefined) await writeReport(values.junit, printJunit(report))
    process.exitCode = exitOf(report, values['allow-untested'])
  }
  if (values.watch) return untilInterrupted(watchSuite(dir, show))
  await show(reportSuite(await prepareDirectory(dir)))
}

/** Runs the tests of a bundle immediately, and again after each change. */
export function watchSuite(dir: string, show: (report: SuiteReport) => Promise<void>): Watching {
  return watchPrepared(dir, (bundle) => {
    const report = reportSuite(bundle)
    const text = JSON.stringify([report, bundle.ok && bundle.snapshot.revision])
    return { text, show: () => show(report) }
  })
}

function textOf(report: SuiteReport): string {
  const found = report.ok ? '' : printFolded(report.diagnostics).trimEnd()
  // no test ran, so the rules have no counts
  if (report.tests.length === 0 && !report.ok) return `not run: this bundle would not load\n\n${found}`
  const suite = printSuite(report).trimEnd()
  return found === '' ? suite : `${suite}\n\n${found}`
}

async function writeReport(file: string, text: string): Promise<void> {
  await writeFile(file, text).catch((cause: unknown) => {
    throw cannotWrite(file, cause)
  })
}

function exitOf(report: SuiteReport, allowUntested: boolean): ExitCode {
  if (report.failed > 0) return EXIT.testsFailed
  if (!report.ok) return EXIT.doesNotCheck
  return untestedRules(report).length > 0 && !allowUntested ? EXIT.testsFailed : EXIT.ok
}
