import type { Reporter, TestModule } from 'vitest/node'

/** One plain line at the end of a run, for machines: how many tests passed, failed and were skipped. */
export class PlainSummary implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const states = modules.flatMap((module) =>
      [...module.children.allTests()].map((test) => test.result().state),
    )
    const count = (state: string): number => states.filter((one) => one === state).length
    console.log(`${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`)
  }
}
