import { writeFileSync } from 'node:fs'
import type { Reporter, SerializedError, TestModule } from 'vitest/node'

/** A file with failures, for `test/suite.mjs`, which runs it once more. */
interface FailedFile {
  readonly project: string
  readonly file: string
  /** Failed tests; 1 when the file itself failed. */
  readonly failed: number
}

/**
 * Counts how many tests passed, failed and were skipped. Prints that as one plain line at the end of a run. Where
 * `SUITE_SUMMARY` names a file, it writes it there with the files that failed (test/suite.mjs).
 */
export class PlainSummary implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[] = []): void {
    const count = (state: string): number => modules.reduce((sum, module) => sum + tests(module, state), 0)
    const files = modules.filter((module) => !module.ok()).map(failedFile)
    const counts = { passed: count('passed'), failed: failuresIn(files), skipped: count('skipped') }
    const path = process.env['SUITE_SUMMARY']
    // an error outside of every test belongs to no file: no second run excuses it
    if (path !== undefined)
      writeFileSync(path, JSON.stringify({ ...counts, files, isWhole: errors.length === 0 }))
    else console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`)
  }
}

const tests = (module: TestModule, state: string): number =>
  [...module.children.allTests()].filter((test) => test.result().state === state).length

const failedFile = (module: TestModule): FailedFile => ({
  project: module.project.name,
  file: module.relativeModuleId,
  failed: Math.max(1, tests(module, 'failed')),
})

const failuresIn = (files: readonly FailedFile[]): number =>
  files.reduce((sum, { failed }) => sum + failed, 0)

/** How many files the table has. */
const DEAREST = 20

/**
 * Prints the files that took most processor time. Unlike their duration, this does not depend on other work of the
 * machine. A developer who adds an expensive test sees it here.
 */
export class DearestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules.map((module) => ({ module, seconds: module.meta().processorSeconds ?? 0 }))
    const sum = files.reduce((total, { seconds }) => total + seconds, 0)
    const dearest = files.sort((a, b) => b.seconds - a.seconds).slice(0, DEAREST)
    const { user, system } = process.cpuUsage()
    const beside = Math.round((user + system) / 1_000_000)
    console.log(`Processor seconds: ${Math.round(sum)} of ${files.length} files, ${beside} of vitest itself.`)
    for (const { module, seconds } of dearest)
      console.log(`${seconds.toFixed(1).padStart(8)}  ${module.relativeModuleId} (${module.project.name})`)
  }
}
