import type { Risk } from '../../domain/decision.ts'
import type { ToolContract } from '../language/snapshot.ts'
import { MAX_REASON_CHARACTERS } from '../text/bounds.ts'
import type { Scalar } from '../language/compiled-test.ts'
import type { FieldValues } from '../schema/possible-fields.ts'
import type { Doc } from '../yaml/parse.ts'
import { type Reader, readName, readText, RULE_ID } from '../yaml/shape.ts'
import { lineOf } from '../yaml/source.ts'
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

export function checkId(reader: Reader, doc: Doc, world: World): string | undefined {
  const id = readName(reader, doc, '`id`', RULE_ID)
  if (id === undefined) return undefined
  const first = world.ids.get(id)
  if (RESERVED_IDS.includes(id)) reader.report('bad-value', doc, `\`${id}\` is a reserved id`)
  else if (first !== undefined)
    reader.report('duplicate-id', doc, `rule id \`${id}\` is also used at ${first}`)
  else world.ids.set(id, `${reader.source.path}:${lineOf(reader.source, doc.mark.start)}`)
  return id
}

export function checkReason(reader: Reader, doc: Doc): string | undefined {
  const reason = readText(reader, doc, 'a reason')?.trim()
  if (reason === undefined || reason.length <= MAX_REASON_CHARACTERS) return reason
  return reader.report(
    'bad-value',
    doc,
    `a reason is at most ${MAX_REASON_CHARACTERS} characters long`,
  ) as undefined
}
