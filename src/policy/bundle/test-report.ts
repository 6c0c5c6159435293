import type { Risk, Verdict } from '../../domain/decision.ts'
import type { Diagnostic } from '../report/diagnostics.ts'
import type { PreparedBundle } from './load.ts'
import type { RuleSummary } from '../language/snapshot.ts'
import { lineOf } from '../yaml/source.ts'
import type { CaseResult } from '../tests/run.ts'

/** The results of a bundle's tests, as plain data: `countersign test --format json` prints it. */
export interface SuiteReport {
  /** True when the check succeeded and every test passed, even if some rules have no test. */
  readonly ok: boolean
  readonly passed: number
  readonly failed: number
  /** The tests, in the order of files. Empty when the check of the bundle fails, because no test ran. */
  readonly tests: readonly TestReport[]
  readonly coverage: readonly RuleCoverage[]
  /** The findings of a bundle that cannot be loaded, including failed tests. */
  readonly diagnostics: readonly Diagnostic[]
}

export interface TestReport {
  readonly name: string
  readonly tool: string
  readonly file: string
  readonly line: number
  readonly problems: readonly string[]
  /** The decision; absent when the payload did not fit the contract. */
  readonly verdict?: Verdict
  readonly risk?: Risk
  readonly by?: readonly string[]
}

/** The number of tests in which a rule fired, on TRUE or UNKNOWN, enforced or shadow. */
export interface RuleCoverage {
  readonly id: string
  readonly file: string
  readonly line: number
  readonly tests: number
}

export function reportSuite(bundle: PreparedBundle): SuiteReport {
  const { results = [] } = bundle
  const failed = results.filter(({ problems }) => problems.length > 0).length
  return {
    ok: bundle.ok,
    passed: results.length - failed,
    failed,
    tests: results.map(reportCase),
    coverage: coverageOf(results, (bundle.ok ? bundle.snapshot.rules : bundle.rules) ?? []),
    diagnostics: bundle.ok ? [] : bundle.diagnostics,
  }
}

function reportCase({ case: one, outcome, problems }: CaseResult): TestReport {
  const { source } = one.reader
  const place = { file: source.path, line: lineOf(source, one.at.mark.start) }
  const decided = outcome && { verdict: outcome.verdict, risk: outcome.risk, by: outcome.by }
  return { name: one.name, tool: one.tool, ...place, problems, ...decided }
}

function coverageOf(results: readonly CaseResult[], rules: readonly RuleSummary[]): readonly RuleCoverage[] {
  const counts = new Map<string, number>()
  for (const { outcome } of results)
    for (const { id } of outcome?.fired ?? []) counts.set(id, (counts.get(id) ?? 0) + 1)
  return rules.map(({ id, file, line }) => ({ id, file, line, tests: counts.get(id) ?? 0 }))
}

export function untestedRules({ coverage }: SuiteReport): readonly RuleCoverage[] {
  return coverage.filter(({ tests }) => tests === 0)
}

/** Prints counts, the rules with the number of tests that fire them, and the untested rules. Ends with a newline. */
export function printSuite(report: SuiteReport): string {
  const untested = untestedRules(report)
  const width = Math.max(0, ...report.coverage.map(({ id }) => id.length))
  const lines = [
    countsOf(report),
    ...report.coverage.map(
      ({ id, file, line, tests }) => `${String(tests).padStart(4)}  ${id.padEnd(width)}  ${file}:${line}`,
    ),
    ...untested.map(({ id, file, line }) => `no test fires ${id} (${file}:${line})`),
  ]
  return `${lines.join('\n')}\n`
}

const countsOf = (report: SuiteReport): string =>
  `${report.passed} passed, ${report.failed} failed, ${untestedRules(report).length} rules untested`

/**
 * Prints the tests as JUnit XML, one suite for each rule file. Reports each error in the bundle as a test with an
 * error, so that a CI system that reads only this file fails.
 */
export function printJunit(report: SuiteReport): string {
  const files = [...new Set(report.tests.map(({ file }) => file))]
  const suites = files.map((file) =>
    junitSuite(
      file,
      report.tests.filter((test) => test.file === file),
    ),
  )
  const errors = report.diagnostics.filter(
    ({ severity, code }) => severity === 'error' && code !== 'test-failed',
  )
  if (errors.length > 0) suites.push(junitErrors(errors))
  const tests = report.tests.length + errors.length
  const head = `<testsuites tests="${tests}" failures="${report.failed}" errors="${errors.length}">`
  return `<?xml version="1.0" encoding="UTF-8"?>\n${head}\n${suites.join('')}</testsuites>\n`
}

function junitSuite(file: string, tests: readonly TestReport[]): string {
  const failed = tests.filter(({ problems }) => problems.length > 0).length
  const cases = tests.map(({ name, tool, line, problems }) => {
    const head = `    <testcase name="${xml(name)}" classname="${xml(tool)}" file="${xml(file)}" line="${line}"`
    if (problems.length === 0) return `${head}/>\n`
    return `${head}>\n      <failure message="${xml(problems.join('; '))}"/>\n    </testcase>\n`
  })
  return `  <testsuite name="${xml(file)}" tests="${tests.length}" failures="${failed}">\n${cases.join('')}  </testsuite>\n`
}

function junitErrors(errors: readonly Diagnostic[]): string {
  const cases = errors.map(
    ({ file, line, code, message }) =>
      `    <testcase name="${xml(code)}" classname="check" file="${xml(file)}" line="${line}">\n` +
      `      <error message="${xml(message)}"/>\n    </testcase>\n`,
  )
  return `  <testsuite name="check" tests="${errors.length}" errors="${errors.length}">\n${cases.join('')}  </testsuite>\n`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/**
 * Escapes text for an attribute. Control characters, which XML 1.0 forbids, become question marks. Line breaks are
 * kept.
 */
function xml(text: string): string {
  return text
    .replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
    .replaceAll(/[\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`)
    .replaceAll(/[^\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '?')
}
