import type { Reporter, TestCase, TestModule } from 'vitest/node'
import { descendants, type Process, signalled } from '../processes.ts'

/**
 * Ends a run in which a test file hangs, and reports the file and the test. A time limit ends a test that waits
 * forever, but not a test that blocks its thread. It does not end a worker that waits in native code, or that waits for
 * a thread of its own when it ends. Such a run would never end, and no line would name the cause.
 */

/** The state of a file that has begun and has not ended. */
interface Open {
  readonly file: string
  readonly since: number
  running: string | undefined
  last: string | undefined
  readonly failures: string[]
}

export interface Limits {
  /** Longest time of one file, ms. */
  readonly fileMs: number
  readonly now: () => number
}

/** Files under way, and what to say of those that take too long. */
export class Overdue {
  readonly #open = new Map<string, Open>()
  readonly #limits: Limits

  constructor(limits: Limits) {
    this.#limits = limits
  }

  begun(id: string, file: string): void {
    this.#open.set(id, { file, since: this.#limits.now(), running: undefined, last: undefined, failures: [] })
  }

  testBegun(id: string, name: string): void {
    const open = this.#open.get(id)
    if (open) open.running = name
  }

  testEnded(id: string, name: string, failure?: string): void {
    const open = this.#open.get(id)
    if (open === undefined) return
    open.last = name
    if (open.running === name) open.running = undefined
    if (failure !== undefined) open.failures.push(`${name}: ${failure}`)
  }

  ended(id: string): void {
    this.#open.delete(id)
  }

  /** One paragraph for each file that takes too long; empty while none does. */
  report(): readonly string[] {
    const { fileMs, now } = this.#limits
    return [...this.#open.values()]
      .filter(({ since }) => now() - since > fileMs)
      .map(({ file, since, running, last, failures }) =>
        [
          `${file} has not ended in ${Math.round((now() - since) / 1_000)} s.`,
          `  running: ${running ?? 'no test that is known of'}`,
          `  ended last: ${last ?? 'none'}`,
          ...failures.map((failure) => `  failed: ${failure}`),
        ].join('\n'),
      )
  }
}

/** Vitest's reporter for it. */
export class OverdueReporter implements Reporter {
  readonly #overdue: Overdue
  readonly #everyMs: number
  #timer: NodeJS.Timeout | undefined

  constructor(limits: Omit<Limits, 'now'>) {
    this.#overdue = new Overdue({ ...limits, now: () => performance.now() })
    this.#everyMs = Math.ceil(limits.fileMs / 20)
  }

  onTestRunStart(): void {
    this.#timer = setInterval(() => this.#look(), this.#everyMs)
  }

  onTestRunEnd(): void {
    clearInterval(this.#timer)
  }

  onTestModuleQueued({ id, relativeModuleId, project }: TestModule): void {
    this.#overdue.begun(id, `${project.name} ${relativeModuleId}`)
  }

  onTestModuleEnd({ id }: TestModule): void {
    this.#overdue.ended(id)
  }

  onTestCaseReady({ module, fullName }: TestCase): void {
    this.#overdue.testBegun(module.id, fullName)
  }

  onTestCaseResult(test: TestCase): void {
    const { state, errors } = test.result()
    this.#overdue.testEnded(
      test.module.id,
      test.fullName,
      state === 'failed' ? (errors[0]?.message ?? 'without a word') : undefined,
    )
  }

  #look(): void {
    const report = this.#overdue.report()
    if (report.length === 0) return
    const below = descendants(process.pid)
    console.error(['', ...report, '', 'Processes of this run:', ...below.map(described)].join('\n'))
    for (const { id } of below.toReversed()) signalled(id, 'SIGKILL')
    process.exit(1)
  }
}

const described = ({ id, parent, state, waitsIn, seconds, command }: Process): string =>
  `  ${id} (of ${parent}) ${state} ${waitsIn}, ${seconds.toFixed(0)} s of processor time: ${command.slice(0, 300)}`
