import {
  type Retention,
  RETENTION,
  RETENTION_KINDS,
  type RetentionKind,
  retentionOf,
  type RetentionRow,
} from '../language/retention.ts'
import { duration } from '../language/time.ts'
import { MAX_RETENTION_MS } from '../text/bounds.ts'
import type { Doc } from '../yaml/parse.ts'
import { readDuration, type Reader } from '../yaml/shape.ts'
import { noted } from './change.ts'
import { DURATION, key, specOf, value } from './spec.ts'
import { factOf } from '../language/facts.ts'
import { fieldsOf } from '../language/history.ts'
import type { LimitIr, RuleIr } from '../language/rule.ts'

/** The `retention` of routing.yaml, and the place of each written value. */
export interface CheckedRetention {
  readonly retention: Retention
  readonly threadsAt: Doc | undefined
  readonly tasksAt?: Doc | undefined
}

/** The keys of `retention` in routing.yaml. Each time has a default and a least value. */
export const RETENTION_KEYS = specOf<Partial<Retention>>()(
  '`retention`',
  Object.fromEntries(
    RETENTION_KINDS.map((kind) => {
      const { default: otherwise, least, stays, why = '' }: RetentionRow = RETENTION[kind]
      const read = (reader: Reader, doc: Doc, what: string): number | undefined => {
        const ms = readDuration(reader, doc, what, MAX_RETENTION_MS)
        if (ms !== undefined && ms < least)
          reader.report('bad-value', doc, `${stays} for at least ${duration(least)}${why}`)
        return ms
      }
      const bounds = `at least ${duration(least)}, at most 3660d, ${duration(otherwise)} by default`
      const diff = noted(`retention.${kind}`, (ms: number = otherwise) => duration(ms))
      return [kind, key(`${kind}_ms`, value(read, DURATION.schema), `How long ${stays}: ${bounds}.`, diff)]
    }),
  ),
)

/** Adds the defaults. */
export function retentionFrom(given: Partial<Retention> = {}, doc: Doc | undefined): CheckedRetention {
  const placeOf = (kind: RetentionKind): Doc | undefined =>
    doc?.kind === 'map' ? doc.entries.find(({ key }) => key === kind)?.value : undefined
  return {
    retention: { ...retentionOf((kind) => RETENTION[kind].default), ...given },
    threadsAt: placeOf('threads'),
    tasksAt: placeOf('tasks'),
  }
}

interface FileWithRules {
  readonly reader: Reader
  readonly file: {
    readonly limits: readonly LimitIr[]
    readonly rules: readonly RuleIr[]
  }
}

/** Warns of a written retention of tasks below the default, when a rule reads the history that it ends. */
export function checkRetentionOfTasks(
  reader: Reader,
  { retention: { tasks_ms }, tasksAt }: CheckedRetention,
  files: readonly FileWithRules[],
): void {
  if (!tasksAt || tasks_ms >= RETENTION.tasks.default) return
  const reads = (rule: RuleIr): boolean =>
    fieldsOf(rule).some(({ root }) => factOf(root)?.recorded === 'as task history')
  const [first, ...more] = files.flatMap(({ reader: { source }, file }) =>
    file.rules.filter(reads).map(({ id }) => `rule \`${id}\` of ${source.path}`),
  )
  if (first === undefined) return
  const others = more.length === 0 ? '' : ` and ${more.length} more`
  reader.report(
    'history-ends',
    tasksAt,
    `a task is new again ${duration(tasks_ms)} after its last call, for ${first}${others}`,
    `write \`tasks: ${duration(RETENTION.tasks.default)}\` or more, or read \`agent.tools\` or \`agent.labels\``,
  )
}

/**
 * Reports a written retention that is shorter than the window of a limit. Reviewers could not look at the held calls
 * that the limit counts. The histories of tasks and agents outlive their threads.
 */
export function checkRetentionOfLimits(
  reader: Reader,
  { retention, threadsAt }: CheckedRetention,
  files: readonly FileWithRules[],
): void {
  const { threads_ms } = retention
  const limits = files.flatMap(({ reader: { source }, file }) =>
    file.limits.map(({ id, withinMs }) => ({
      id,
      withinMs,
      path: source.path,
    })),
  )
  const [longest] = limits.toSorted((a, b) => b.withinMs - a.withinMs)
  if (!threadsAt || !longest || longest.withinMs <= threads_ms) return
  const { id, withinMs, path } = longest
  reader.report(
    'bad-value',
    threadsAt,
    `threads stay for ${duration(threads_ms)}, but limit \`${id}\` of ${path} counts the calls of ${duration(withinMs)}`,
    `write at least \`threads: ${duration(withinMs)}\`, because reviewers look at the calls that a limit counted`,
  )
}
