import type { Risk, Verdict } from '../../domain/decision.ts'
import type { ToolContract } from '../language/snapshot.ts'
import { MAX_REASON_CHARACTERS } from '../text/bounds.ts'
import type { Scalar } from '../language/compiled-test.ts'
import type { FieldValues } from '../schema/possible-fields.ts'
import type { Doc, DocMap } from '../yaml/parse.ts'
import { type Reader, readName, readText, RULE_ID } from '../yaml/shape.ts'
import { lineOf } from '../yaml/source.ts'
import { SEEN } from './change.ts'
import { key, need, oneOf, value } from './spec.ts'
import type { GroupUse } from './level.ts'

/** The names that rule files refer to. */
export interface World {
  readonly tools: ReadonlyMap<string, ToolContract>
  /** Tools whose contracts have errors. The check reports those errors, and not the rules that name these tools. */
  readonly refused: ReadonlySet<string>
  readonly lists: ReadonlyMap<string, readonly Scalar[]>
  /** True when routing.yaml has errors or is missing, so that its lists are unknown. */
  readonly listsUnknown: boolean
  readonly timezone: string
  readonly allowUpTo: Risk
  /** The ids of rules and limits so far, each with its position. */
  readonly ids: Map<string, string>
  readonly fieldValues: FieldValues
  /** The time of the load, in ms since 1970; undefined when unknown. */
  readonly now: number | undefined
}

export interface RuleContext {
  readonly world: World
  /** True when the whole file is in shadow mode. */
  readonly shadow: boolean
  readonly groups: GroupUse[]
  /** The position of each rule and limit, by id, for findings that involve all rules. */
  readonly places: Map<string, Doc>
}

/** Ids that decisions use when no rule decides. */
const RESERVED_IDS = ['unmatched']

function checkId(reader: Reader, doc: Doc, world: World): string | undefined {
  const id = readName(reader, doc, '`id`', RULE_ID)
  if (id === undefined) return undefined
  const first = world.ids.get(id)
  if (RESERVED_IDS.includes(id)) reader.report('bad-value', doc, `\`${id}\` is a reserved id`)
  else if (first !== undefined)
    reader.report('duplicate-id', doc, `rule id \`${id}\` is also used at ${first}`)
  else world.ids.set(id, `${reader.source.path}:${lineOf(reader.source, doc.mark.start)}`)
  return id
}

function checkReason(reader: Reader, doc: Doc): string | undefined {
  const reason = readText(reader, doc, 'a reason')?.trim()
  if (reason === undefined || reason.length <= MAX_REASON_CHARACTERS) return reason
  return reader.report('bad-value', doc, `a reason is at most ${MAX_REASON_CHARACTERS} characters long`)
}

/** The meaning of a verdict, for editors. */
const MEANING: Readonly<Record<Verdict, string>> = {
  allow: 'The call may run.',
  review: 'People decide.',
  reject: 'The call never runs.',
}
const REASON = value((reader, doc) => checkReason(reader, doc), {
  type: 'string',
  minLength: 1,
  maxLength: MAX_REASON_CHARACTERS,
})
const ID = value((reader, doc, _, { world }: Pick<RuleContext, 'world'>) => checkId(reader, doc, world), {
  type: 'string',
  pattern: RULE_ID.pattern.source,
})

export const ID_ROW = need('id', ID, 'Kebab-case, unique in the bundle.', SEEN)
export const MODE_ROW = key('mode', oneOf(['shadow']), 'Counted, not enforced.', SEEN)
export const reasonRow = (verdict: Verdict) =>
  key('reason', REASON, `${MEANING[verdict]} The reason is shown to agents and reviewers.`, SEEN)

/** Returns the verdict of a mapping that has one. */
export function verdictIn<V extends Verdict>(
  reader: Reader,
  map: DocMap,
  { what, verdicts }: { readonly what: string; readonly verdicts: readonly V[] },
): V | undefined {
  const named = verdicts.filter((verdict) => map.entries.some(({ key: name }) => name === verdict))
  if (named.length === 1) return named[0]
  const all = verdicts.map((verdict) => `${verdict}:`)
  const among = `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`
  reader.report('verdict-count', map, `${what} needs exactly one of ${among}, found ${named.length}`)
  return named[0]
}
