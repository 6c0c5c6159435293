import { riskAbove, VERDICTS, type Risk, type Verdict } from '../../domain/decision.ts'
import { checkMatch, type MatchContext } from './match.ts'
import { checkReviewers, type GroupUse } from './routing.ts'
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
import { endOfDate, parseDate } from '../language/time.ts'

const RULE_KEYS = ['when', 'unless', 'risk', 'reviewers', 'mode', 'until', ...VERDICTS] as const
type RuleKeys = Readonly<Partial<Record<(typeof RULE_KEYS)[number] | 'id', Doc>>>

/** Checks one rule (docs/policy-language.md). */
export function checkRule(
  context: MatchContext,
  doc: Doc,
  { world, shadow, groups, places }: RuleContext,
): RuleIr | undefined {
  const { reader } = context
  const map = readMap(reader, doc, 'a rule')
  if (!map) return undefined
  const keys: RuleKeys = readKeys(reader, map, { what: 'a rule', required: ['id'], optional: RULE_KEYS })
  const id = given(keys.id, (at) => checkId(reader, at, world))
  const ruling = checkVerdict(reader, map, keys)
  const own = given(keys.mode, (at) => readOneOf(reader, at, '`mode`', ['shadow'])) !== undefined
  const mode = shadow || own ? 'shadow' : 'enforced'
  const when = given(keys.when, (at) => checkMatch(context, at))
  const unless = given(keys.unless, (at) => checkMatch(context, at))
  const risk = given(keys.risk, (at) => checkRisk(reader, at, { world, verdict: ruling?.verdict }))
  const reviewers = given(keys.reviewers, (at) =>
    checkPeople(reader, at, { groups, verdict: ruling?.verdict }),
  )
  const untilMs = given(keys.until, (at) =>
    checkUntil(reader, at, { world, tightens: mode === 'enforced' && ruling?.verdict !== 'allow' }),
  )
  if (id === undefined || !ruling) return undefined
  places.set(id, map)
  const line = lineOf(reader.source, map.mark.start)
  return { id, ...ruling, mode, line, ...defined({ when, unless, risk, reviewers, untilMs }) }
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

/** Returns the first instant after the date. Only rules that loosen decisions or are not enforced may expire. */
function checkUntil(
  reader: Reader,
  doc: Doc,
  { world, tightens }: { readonly world: World; readonly tightens: boolean },
): number | undefined {
  if (tightens) {
    const hint = 'a review or reject rule that ends would loosen the policy silently'
    reader.report('until-on-tightening', doc, 'only allow and shadow rules may end by date', hint)
  }
  const text = readText(reader, doc, '`until`')
  const date = text === undefined ? undefined : parseDate(text)
  if (text !== undefined && date === undefined) {
    reader.report('bad-value', doc, `\`${text}\` is not a date`, 'write it as 2027-01-31')
  }
  if (date === undefined) return undefined
  const untilMs = endOfDate(world.timezone, date)
  if (world.now !== undefined && untilMs <= world.now && !tightens) {
    const hint = 'remove the rule, or give it a later date'
    reader.report('expired-rule', doc, `the rule ended with ${text}: it fires for no call`, hint)
  }
  return untilMs
}
