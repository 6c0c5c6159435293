import { readFileSync } from 'node:fs'
import { afterAll } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** Processor time of a file, s: of its worker, and of the child processes that have ended. */
    processorSeconds?: number
  }
}

/** Runs with each test file, and measures it for the table that ends a run (test/reporter.ts). */
const before = secondsSoFar()
// oxlint-disable-next-line no-empty-pattern -- vitest reads the pattern to know which fixtures a hook wants
afterAll(({}, suite) => {
  suite.meta.processorSeconds = secondsSoFar() - before
})

/**
 * Processor time of this process and of its children that have ended, s. proc(5): twelve fields after the name, four
 * times in hundredths of a second. Without /proc, only of this process.
 */
function secondsSoFar(): number {
  try {
    const fields = (readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1) ?? '').split(' ')
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100
  } catch {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000_000
  }
}
