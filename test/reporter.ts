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
 * Counts how many tests passed, failed and were skipped. Prints that as one plain line at the end of a run, or writes it with the files that failed
 * where `SUITE_SUMMARY` says (test/suite.mjs).
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
