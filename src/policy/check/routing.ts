import { BUDGET_NAMES, type Budgets } from '../../domain/budget.ts'
import { RISKS, type ReviewRequirement, type Risk } from '../../domain/decision.ts'
import type { Scalar } from '../language/compiled-test.ts'
import { type KeptWords, WORDS_KEPT } from '../language/disclose.ts'
import type { Retention } from '../language/retention.ts'
import type { RoutingIr } from '../language/rule.ts'
import { isTimeZone } from '../language/time.ts'
import type { Doc, DocEntry } from '../yaml/parse.ts'
import { readKeys, readList, readMap, readText, WORD, wrongType, type Reader } from '../yaml/shape.ts'
import { type Change, noted, SEEN } from './change.ts'
import { checkLevel, type GroupUse, LEVEL_KEYS, levelOf } from './level.ts'
import { type CheckedRetention, RETENTION_KEYS, retentionFrom } from './retention.ts'
import {
  closed,
  count,
  diffOf,
  inside,
  key,
  mapOf,
  need,
  oneOf,
  readSpec,
  RISK,
  schemaOf,
  type SoFar,
  specOf,
  TEXT,
  value,
} from './spec.ts'
import type { Lists } from './working.ts'

/** The checked routing.yaml. `groups` lists its uses of groups, which are checked against the directory. */
export interface CheckedRouting {
  readonly routing: RoutingIr
  readonly lists: Lists
  readonly groups: readonly GroupUse[]
  readonly retention: CheckedRetention
}

/** The members that the keys of routing.yaml give. */
export type RoutingEntry = Omit<RoutingIr, 'levels' | 'views' | 'retention' | 'keeps'> & {
  readonly levels: Levels
  readonly retention: Partial<Retention>
  readonly keeps: Partial<KeptWords>
  readonly lists?: Lists
}
type Levels = Pick<RoutingIr, 'levels' | 'views'>

interface Around {
  readonly uses: GroupUse[]
  /** Adds the lists of files. */
  readonly withFiles: (lists: Lists) => Lists
}

const BUDGET_KEYS = specOf<Partial<Budgets>>()(
  '`budgets`',
  Object.fromEntries(
    BUDGET_NAMES.map((name) => [
      name,
      key(
        name,
        count(Number.MAX_SAFE_INTEGER),
        '',
        noted(`budgets.${name}`, (most) => String(most ?? 'none')),
      ),
    ]),
  ),
)

const KEPT = oneOf(WORDS_KEPT)
/** Whether evidence keeps words of people or agents. */
const KEEPS = value((...at) => KEPT.read(...at) !== 'none', KEPT.schema)
const shown = (kept: boolean | undefined): string => (kept === false ? 'none' : 'full')
const KEPT_KEYS = specOf<Partial<KeptWords>>()('`disclose`', {
  comments: key('comments', KEEPS, '', noted('disclose.comments', shown)),
  agent_words: key('agent_words', KEEPS, '', noted('disclose.agent_words', shown)),
})

const LEVELS = value(
  (
    reader,
    doc,
    _,
    { uses, withFiles, soFar: { lists = new Map(), timezone = 'UTC' } }: Around & SoFar<RoutingEntry>,
  ) => checkLevels(reader, doc, { uses, lists: withFiles(lists), timezone }),
  (names) => {
    const level = schemaOf(LEVEL_KEYS, names)
    return closed(RISKS, Object.fromEntries(RISKS.map((risk) => [risk, level])))
  },
)
const diffLevels = (...both: readonly [Levels, Levels]): readonly Change[] =>
  RISKS.flatMap((risk) => {
    const [one, other] = [levelOf(both[0], risk), levelOf(both[1], risk)]
    return diffOf(LEVEL_KEYS, [one, other], undefined).map(({ direction, text }) => ({
      direction,
      text: `level ${risk}: ${text}`,
    }))
  })

const LIST = { type: 'array', minItems: 1, items: { type: ['string', 'number', 'boolean'] } }

/** The keys of routing.yaml. */
export const ROUTING_KEYS = specOf<RoutingEntry, Around>()('routing.yaml', {
  unmatched: key(
    'unmatched',
    oneOf(['reject', 'review']),
    'The verdict on a call that no rule covers.',
    SEEN,
  ),
  allow_up_to: key('allowUpTo', RISK, 'The gateway holds an allowed call of a higher risk.', SEEN),
  timezone: key(
    'timezone',
    value(readTimeZone, TEXT.schema),
    'An IANA name, such as Europe/Berlin; for time.*, from and until.',
    SEEN,
  ),
  levels: { ...need('levels', LEVELS, 'Who reviews calls of each risk, and how.', diffLevels), late: true },
  retention: key(
    'retention',
    inside(RETENTION_KEYS),
    'How long the gateway keeps data after its end.',
    (...both: [Partial<Retention>, Partial<Retention>]) => diffOf(RETENTION_KEYS, both, undefined),
  ),
  disclose: key(
    'keeps',
    inside(KEPT_KEYS),
    'Whether evidence keeps comments of reviewers, and words of agents: `full` by default.',
    (...both: [Partial<KeptWords>, Partial<KeptWords>]) => diffOf(KEPT_KEYS, both, undefined),
  ),
  lists: key('lists', mapOf(WORD, readListOf, LIST), 'What rules name by `$list`.', SEEN),
  budgets: key(
    'budgets',
    inside(BUDGET_KEYS),
    'What one tenant, agent or reviewer may hold; at most what the settings of the gateway say.',
    (...both: [Partial<Budgets>, Partial<Budgets>]) => diffOf(BUDGET_KEYS, both, undefined),
  ),
})

/** Checks routing.yaml. Defaults: `unmatched` reject, `allow_up_to` low, `timezone` UTC. Every level is required. */
export function checkRouting(
  reader: Reader,
  doc: Doc,
  withFiles = (lists: Lists): Lists => lists,
): CheckedRouting | undefined {
  const root = readMap(reader, doc, 'routing.yaml')
  if (!root) return undefined
  const uses: GroupUse[] = []
  const { entry, at } = readSpec(reader, root, ROUTING_KEYS, { uses, withFiles })
  const { levels, lists = new Map(), ...rest } = entry
  const retention = retentionFrom(rest.retention, at.retention)
  const all = withFiles(lists)
  if (!levels) return undefined
  const routing = {
    ...DEFAULTS,
    ...rest,
    ...levels,
    retention: retention.retention,
    keeps: { comments: true, agent_words: true, ...rest.keeps },
  }
  return { routing, lists: all, groups: uses, retention }
}

const DEFAULTS = { unmatched: 'reject', allowUpTo: 'low', timezone: 'UTC', budgets: {} } as const

function readTimeZone(reader: Reader, doc: Doc, what: string): string | undefined {
  const zone = readText(reader, doc, what)
  if (zone === undefined || isTimeZone(zone)) return zone
  const hint = 'use an IANA name such as `Europe/Berlin`'
  return reader.report('bad-value', doc, `\`${zone}\` is not a time zone`, hint)
}

function checkLevels(
  reader: Reader,
  doc: Doc,
  around: Omit<Parameters<typeof checkLevel>[2], 'risk'>,
): Levels | undefined {
  const map = readMap(reader, doc, '`levels`')
  if (!map) return undefined
  const keys = readKeys(reader, map, { what: '`levels`', required: RISKS })
  const found = RISKS.flatMap((risk) => {
    const level = keys[risk] && checkLevel(reader, keys[risk], { ...around, risk })
    return level ? [[risk, level] as const] : []
  })
  const levels = Object.fromEntries(found.map(([risk, { requirement }]) => [risk, requirement]))
  checkOrder(reader, levels, keys)
  if (found.length < RISKS.length) return undefined
  const views = Object.fromEntries(found.map(([risk, { view }]) => [risk, view]))
  return { levels, views } as Levels
}

/** Reports a higher level that is looser than a lower level of the same group. */
function checkOrder(
  reader: Reader,
  levels: Partial<Record<Risk, ReviewRequirement>>,
  docs: Readonly<Partial<Record<Risk, Doc>>>,
): void {
  RISKS.forEach((risk, index) => {
    for (const lower of RISKS.slice(0, index)) {
      const problem = looserThan(levels[risk], levels[lower])
      if (problem !== undefined && docs[risk])
        reader.report('level-order', docs[risk], `level ${risk} ${problem} level ${lower} of the same group`)
    }
  })
}

const DROPPED = [
  ['interactive', 'does without the sign-in of'],
  ['require_displayed', 'does without the displayed parts of'],
] as const

function looserThan(
  high: ReviewRequirement | undefined,
  low: ReviewRequirement | undefined,
): string | undefined {
  const [a, b] = [high?.seats[0], low?.seats[0]]
  if (!high || !low || !a || !b || a.group !== b.group) return undefined
  if (a.approvals < b.approvals) return 'asks for fewer approvals than'
  const dropped = DROPPED.find(([flag]) => low[flag] === true && high[flag] !== true)
  if (dropped) return dropped[1]
  return high.expires_ms > low.expires_ms ? 'waits longer than' : undefined
}

function readListOf(reader: Reader, { key, value }: DocEntry): readonly Scalar[] {
  const items = readList(reader, value, `list \`${key}\``)
  if (items?.length === 0) reader.report('bad-value', value, `list \`${key}\` is empty`)
  return (items ?? []).flatMap((item) => readLiteral(reader, item, 'lists do not contain lists') ?? [])
}

/** Reads a literal as in a test, where a leading `$$` means $. Reports a `$list`. */
export function readLiteral(reader: Reader, item: Doc, why: string): Scalar | undefined {
  const value = readScalar(reader, item)
  if (typeof value !== 'string' || !value.startsWith('$')) return value
  if (value.startsWith('$$')) return value.slice(1)
  const hint = 'write its values out, or `$$` for a text that begins with $'
  return reader.report('bad-value', item, `\`${value}\` is no value: ${why}`, hint)
}

/** Reads text, a number, true or false. */
export function readScalar(reader: Reader, doc: Doc): Scalar | undefined {
  if (doc.kind === 'text' || doc.kind === 'number' || doc.kind === 'boolean') return doc.value
  return wrongType(reader, doc, 'a value', 'text, a number or true or false')
}
