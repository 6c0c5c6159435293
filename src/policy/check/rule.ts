import { riskAbove, VERDICTS, type Risk, type Verdict } from '../../domain/decision.ts'
import { SEEN } from './change.ts'
import { checkIndexes } from './indexes.ts'
import { checkMatch, type MatchContext } from './match.ts'
import { checkReviewers, REVIEWERS_KEYS } from './level.ts'
import { ID_ROW, MODE_ROW, reasonRow, type RuleContext, verdictIn, type World } from './rule-context.ts'
import { key, partOf, readSpec, resolve, RISK, schemaOf, type SoFar, specOf, value } from './spec.ts'
import type { RuleIr } from '../language/rule.ts'
import type { Doc } from '../yaml/parse.ts'
import { readMap, readOneOf, readRisk, readText, type Reader } from '../yaml/shape.ts'
import { lineOf } from '../yaml/source.ts'
import { endOfDate, instantOf, parseDate } from '../language/time.ts'

/** The members that the keys of a rule give. */
type Entry = Omit<RuleIr, 'verdict' | 'line'>

interface Around extends RuleContext {
  readonly file: MatchContext
  readonly verdict: Verdict | undefined
}

const userOf = ({ id }: Pick<Partial<Entry>, 'id'>): string =>
  id === undefined ? 'a rule without an id' : `rule \`${id}\``
const MATCH = value(
  (_, doc, __, { file, soFar }: Around & SoFar<Entry>) => checkMatch({ ...file, user: userOf(soFar) }, doc),
  (names) => ({ allOf: [resolve(partOf('match'), names)] }),
)
const MEANS = 'The rule means `when AND NOT unless`.'
const DATE = { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$' }
/** A day, as midnight UTC. */
const day = (read: (timezone: string, day: number) => number) =>
  value((reader, doc, what, { world }: Around) => {
    const date = readDate(reader, doc, what)
    return date === undefined ? undefined : read(world.timezone, date)
  }, DATE)

/** The keys of a rule. */
export const RULE_KEYS = specOf<Entry, Around>()(
  'a rule',
  {
    id: ID_ROW,
    allow: reasonRow('allow'),
    review: reasonRow('review'),
    reject: reasonRow('reject'),
    when: key('when', MATCH, MEANS, SEEN),
    unless: key('unless', MATCH, MEANS, SEEN),
    unknown: key(
      'unknown',
      value(readUnknown, { const: 'review' }),
      'For a reject rule: reviewers decide when the rule cannot be checked.',
      SEEN,
    ),
    risk: key(
      'risk',
      value(readRuleRisk, RISK.schema),
      'Raises the risk of the call when the rule fires.',
      SEEN,
    ),
    reviewers: key(
      'reviewers',
      value(readReviewers, (names) => schemaOf(REVIEWERS_KEYS, names)),
      'In addition to the levels of routing.yaml.',
      SEEN,
    ),
    mode: MODE_ROW,
    from: key('fromMs', day(instantOf), 'The first day of the rule.', SEEN),
    until: key('untilMs', day(endOfDate), 'The last day of the rule.', SEEN),
  },
  { if: 'did you mean `when`?' },
)

/** Checks one rule (docs/policy-language.md). */
export function checkRule(file: MatchContext, doc: Doc, rest: RuleContext): RuleIr | undefined {
  const { reader } = file
  const map = readMap(reader, doc, 'a rule')
  if (!map) return undefined
  const verdict = verdictIn(reader, map, { what: 'a rule', verdicts: VERDICTS })
  const { entry, at } = readSpec(reader, map, RULE_KEYS, { ...rest, file, verdict })
  const { id, reason, mode, ...parts } = entry
  checkIndexes(
    { ...file, user: userOf(entry) },
    {
      nodes: [parts.when, parts.unless],
      passing: [
        ...(verdict === 'allow' ? [{ node: parts.when, at: at.when }] : []),
        { node: parts.unless, at: at.unless },
      ],
    },
  )
  checkDates(reader, at, { ...parts, now: rest.world.now })
  if (id === undefined || verdict === undefined || reason === undefined) return undefined
  rest.places.set(id, map)
  const line = lineOf(reader.source, map.mark.start)
  return { id, verdict, reason, mode: rest.shadow || mode ? 'shadow' : 'enforced', line, ...parts }
}

/** Reads `unknown`, the verdict of a reject rule that cannot be checked. */
function readUnknown(reader: Reader, doc: Doc, what: string, { verdict }: Around): 'review' | undefined {
  const unknown = readOneOf(reader, doc, what, ['review'])
  if (verdict === undefined || verdict === 'reject') return unknown
  const why = verdict === 'allow' ? 'an allow rule never fires then' : 'a review rule asks reviewers then'
  return reader.report('bad-value', doc, `\`unknown\` belongs to a reject rule: ${why}`)
}

function readRuleRisk(reader: Reader, doc: Doc, _: string, { world, verdict }: Around): Risk | undefined {
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

function readReviewers(
  reader: Reader,
  doc: Doc,
  what: string,
  { groups, verdict, soFar: { unknown } }: Around & SoFar<Entry>,
): RuleIr['reviewers'] {
  const map = readMap(reader, doc, what)
  if (map && (unknown ?? verdict) === 'reject')
    reader.report('reviewers-unused', map, 'no reviewer sees a rejected call')
  return map && checkReviewers(reader, map, groups)
}

/** Reports a rule that ends before it begins, or that has ended. */
function checkDates(
  reader: Reader,
  { from, until }: { readonly from?: Doc | undefined; readonly until?: Doc | undefined },
  { fromMs, untilMs, now }: Pick<Entry, 'fromMs' | 'untilMs'> & Pick<World, 'now'>,
): void {
  if (untilMs === undefined || until?.kind !== 'text') return
  if (from?.kind === 'text' && fromMs !== undefined && fromMs >= untilMs)
    reader.report(
      'bad-value',
      until,
      `the rule ends with ${until.value}, before it begins with ${from.value}`,
    )
  else if (now !== undefined && untilMs <= now) {
    const hint = 'remove the rule, or give it a later date'
    reader.report('expired-rule', until, `the rule ended with ${until.value}: it fires for no call`, hint)
  }
}

/** Returns the date as midnight UTC. */
function readDate(reader: Reader, at: Doc, what: string): number | undefined {
  const text = readText(reader, at, what)
  const date = text === undefined ? undefined : parseDate(text)
  if (text !== undefined && date === undefined)
    reader.report('bad-value', at, `\`${text}\` is not a date`, 'write it as 2027-01-31')
  return date
}
