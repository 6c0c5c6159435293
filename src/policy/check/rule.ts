import { riskAbove, VERDICTS, type Risk, type Verdict } from '../../domain/decision.ts'
import { checkIndexes } from './indexes.ts'
import { checkMatch, type MatchContext } from './match.ts'
import { checkReviewers, type GroupUse } from './level.ts'
import { checkId, checkReason, type RuleContext, type World } from './rule-context.ts'
import type { RuleIr } from '../language/rule.ts'
import type { Doc, DocMap } from '../yaml/parse.ts'
import {
  defined,
  given,
  readKeys,
  readMap,
  readOneOf,
  readRisk,
  readText,
  type Reader,
} from '../yaml/shape.ts'
import { lineOf } from '../yaml/source.ts'
import { endOfDate, parseDate, startOfDate } from '../language/time.ts'

const RULE_KEYS = [
  'when',
  'unless',
  'unknown',
  'risk',
  'reviewers',
  'mode',
  'from',
  'until',
  ...VERDICTS,
] as const
/** Hints for keys that other languages of policy have. */
const HINTS = { if: 'did you mean `when`?' }
type RuleKeys = Readonly<Partial<Record<(typeof RULE_KEYS)[number] | 'id', Doc>>>

/** Checks one rule (docs/policy-language.md). */
export function checkRule(
  file: MatchContext,
  doc: Doc,
  { world, shadow, groups, places }: RuleContext,
): RuleIr | undefined {
  const { reader } = file
  const map = readMap(reader, doc, 'a rule')
  if (!map) return undefined
  const keys: RuleKeys = readKeys(reader, map, {
    what: 'a rule',
    required: ['id'],
    optional: RULE_KEYS,
    hints: HINTS,
  })
  const id = given(keys.id, (at) => checkId(reader, at, world))
  const context = { ...file, user: id === undefined ? 'a rule without an id' : `rule \`${id}\`` }
  const ruling = checkVerdict(reader, map, keys)
  const own = given(keys.mode, (at) => readOneOf(reader, at, '`mode`', ['shadow'])) !== undefined
  const mode = shadow || own ? 'shadow' : 'enforced'
  const when = given(keys.when, (at) => checkMatch(context, at))
  const unless = given(keys.unless, (at) => checkMatch(context, at))
  checkIndexes(context, {
    nodes: [when, unless],
    passing: [
      ...(ruling?.verdict === 'allow' ? [{ node: when, at: keys.when }] : []),
      { node: unless, at: keys.unless },
    ],
  })
  const unknown = given(keys.unknown, (at) => checkUnknown(reader, at, ruling?.verdict))
  const risk = given(keys.risk, (at) => checkRisk(reader, at, { world, verdict: ruling?.verdict }))
  const reviewers = given(keys.reviewers, (at) =>
    checkPeople(reader, at, { groups, verdict: unknown ?? ruling?.verdict }),
  )
  const dates = checkDates(reader, keys, world)
  if (id === undefined || !ruling) return undefined
  places.set(id, map)
  const line = lineOf(reader.source, map.mark.start)
  return { id, ...ruling, mode, line, ...dates, ...defined({ when, unless, unknown, risk, reviewers }) }
}

function checkVerdict(
  reader: Reader,
  map: DocMap,
  keys: RuleKeys,
): Pick<RuleIr, 'verdict' | 'reason'> | undefined {
  const named = VERDICTS.filter((verdict) => keys[verdict] !== undefined)
  const [verdict] = named
  if (named.length !== 1) {
    reader.report(
      'verdict-count',
      map,
      `a rule needs exactly one of allow:, review: and reject:, found ${named.length}`,
    )
  }
  const reason = verdict && given(keys[verdict], (at) => checkReason(reader, at))
  return verdict && reason !== undefined ? { verdict, reason } : undefined
}

/** Reads `unknown`, the verdict of a reject rule that cannot be checked. */
function checkUnknown(reader: Reader, doc: Doc, verdict: Verdict | undefined): 'review' | undefined {
  const unknown = readOneOf(reader, doc, '`unknown`', ['review'])
  if (verdict === undefined || verdict === 'reject') return unknown
  const why = verdict === 'allow' ? 'an allow rule never fires then' : 'a review rule asks reviewers then'
  return reader.report('bad-value', doc, `\`unknown\` belongs to a reject rule: ${why}`) as undefined
}

function checkRisk(
  reader: Reader,
  doc: Doc,
  { world, verdict }: { readonly world: World; readonly verdict: Verdict | undefined },
): Risk | undefined {
  const risk = readRisk(reader, doc)
  if (risk && verdict === 'allow' && riskAbove(risk, world.allowUpTo)) {
    reader.report(
      'allow-above-limit',
      doc,
      `risk ${risk} is above allow_up_to: this rule never allows`,
      'write `review:`',
    )
  }
  return risk
}

function checkPeople(
  reader: Reader,
  doc: Doc,
  { groups, verdict }: { readonly groups: GroupUse[]; readonly verdict: Verdict | undefined },
): RuleIr['reviewers'] {
  const map = readMap(reader, doc, '`reviewers`')
  if (map && verdict === 'reject') reader.report('reviewers-unused', map, 'no reviewer sees a rejected call')
  return map && checkReviewers(reader, map, groups)
}

/** Reads `from`, the first day of the rule, and `until`, its last day. */
function checkDates(
  reader: Reader,
  keys: RuleKeys,
  { timezone, now }: World,
): Pick<RuleIr, 'fromMs' | 'untilMs'> {
  const from = given(keys.from, (at) => readDate(reader, at, '`from`'))
  const until = given(keys.until, (at) => readDate(reader, at, '`until`'))
  const fromMs = from && startOfDate(timezone, from.day)
  const untilMs = until && endOfDate(timezone, until.day)
  if (from && until && from.day > until.day) {
    reader.report(
      'bad-value',
      until.at,
      `the rule ends with ${until.text}, before it begins with ${from.text}`,
    )
  } else if (until && untilMs !== undefined && now !== undefined && untilMs <= now) {
    const hint = 'remove the rule, or give it a later date'
    reader.report('expired-rule', until.at, `the rule ended with ${until.text}: it fires for no call`, hint)
  }
  return defined({ fromMs, untilMs })
}

interface ReadDate {
  readonly at: Doc
  readonly text: string
  /** The date as midnight UTC. */
  readonly day: number
}

function readDate(reader: Reader, at: Doc, what: string): ReadDate | undefined {
  const text = readText(reader, at, what)
  const day = text === undefined ? undefined : parseDate(text)
  if (text !== undefined && day === undefined)
    reader.report('bad-value', at, `\`${text}\` is not a date`, 'write it as 2027-01-31')
  return text === undefined || day === undefined ? undefined : { at, text, day }
}
