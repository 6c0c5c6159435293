import { Engine } from 'json-rules-engine'
import { RE2JS } from 're2js'
import type { JsonObject, JsonValue } from '../../src/contract/json.ts'
import {
  joinRequirements,
  RISKS,
  VERDICTS,
  type ReviewRequirement,
  type Risk,
  type Verdict,
} from '../../src/domain/decision.ts'
import { applyFunction } from '../../src/policy/language/functions.ts'
import type { FunctionName } from '../../src/policy/language/function-names.ts'
import { MISSING, UNREADABLE, SEVERAL_UNREADABLE } from '../../src/policy/language/reading.ts'
import type { PortableBundle, PortableTool } from './portable.ts'

/**
 * Runs portable rules on plain json-rules-engine: the oracle of the differential test. It shares the functions
 * (`domain(...)` and the like) with the product, and no other code that judges.
 */
export interface PortableOutcome {
  readonly verdict: Verdict
  readonly risk: Risk
  readonly policyRisk: Risk
  readonly by: readonly string[]
  readonly fired: readonly string[]
  readonly requirement?: ReviewRequirement
}

type Truth = 1 | 0 | -1
const absent = Symbol('missing')
const unreadable = Symbol('unreadable')
const several = Symbol('several unreadable')
type Value = JsonValue | typeof absent | typeof unreadable | readonly unknown[]

interface Asked {
  readonly keys: readonly (string | number)[]
  readonly function?: FunctionName
  readonly missing?: {
    readonly is?: 'nothing'
    readonly value?: JsonValue
    readonly defaults?: readonly { readonly keys: readonly (string | number)[]; readonly value: JsonValue }[]
  }
  readonly test: Test
}
interface Test {
  readonly op: string
  readonly values?: readonly JsonValue[]
  readonly value?: number
  readonly test?: Test
  readonly tests?: readonly Test[]
  readonly where?: Test
  readonly match?: Match
}
interface Match {
  readonly kind: 'all' | 'any' | 'not' | 'leaf'
  readonly items?: readonly Match[]
  readonly item?: Match
  readonly path?: readonly (string | number)[]
  readonly fn?: FunctionName
  readonly test?: Test
  readonly whenMissing?: {
    readonly kind: 'nothing' | 'value' | 'defaults'
    readonly value?: JsonValue
    readonly defaults?: readonly JsonValue[]
    readonly given?: readonly boolean[]
  }
}

// ---- reading ----

function read(fact: JsonObject, { keys, missing }: Asked, withDefaults: boolean): Value {
  let here: JsonValue = fact
  for (let n = 0; n < keys.length; n++) {
    const key = keys[n] as string | number
    if (here === null) return null
    if (typeof here !== 'object' || Array.isArray(here) !== (typeof key === 'number')) return unreadable
    const found: JsonValue | undefined = Object.hasOwn(here, key)
      ? (here as Record<string, JsonValue>)[key]
      : undefined
    const standIn: JsonValue | undefined = withDefaults
      ? missing?.defaults?.find((one) => one.keys.join('/') === keys.slice(0, n + 1).join('/'))?.value
      : undefined
    const next: JsonValue | undefined = found ?? (found === null ? null : standIn)
    if (next === undefined) return absent
    here = next
  }
  return here
}

function answer(fact: JsonObject, asked: Asked): Truth {
  let value = read(fact, asked, true)
  if (value === null && !aboutNull(asked.test) && (asked.missing?.is ?? asked.missing?.value) !== undefined)
    value = absent
  if (value === absent && asked.missing?.is === 'nothing') return -1
  if (value === absent && asked.missing?.value !== undefined) value = asked.missing.value
  return judge(asked.test, asked.function === undefined ? value : applied(asked.function, value))
}

const aboutNull = ({ op, test }: Test): boolean =>
  op === 'null' || (op === 'not' && test !== undefined && aboutNull(test))

function applied(name: FunctionName, value: Value): Value {
  if (value === absent || value === unreadable) return value
  const result = applyFunction(name, value as JsonValue)
  if (result === MISSING) return absent
  if (result === UNREADABLE) return unreadable
  return Array.isArray(result)
    ? result.map((item: unknown) => MARKS.get(item) ?? item)
    : (result as JsonValue)
}

const MARKS = new Map<unknown, symbol>([
  [UNREADABLE, unreadable],
  [SEVERAL_UNREADABLE, several],
])

// ---- judging: 1 true, 0 unknown, -1 false ----

/** Text with more marks in a row than may be compared. */
const hasStack = (text: string): boolean => /[\p{M}\uff9e\uff9f]{65}/u.test(text)
const yes = (truth: boolean): Truth => (truth ? 1 : -1)
const opposite = (truth: Truth): Truth => (0 - truth) as Truth
const COMPARE: Record<string, (a: number, b: number) => boolean> = {
  over: (a, b) => a > b,
  at_least: (a, b) => a >= b,
  under: (a, b) => a < b,
  at_most: (a, b) => a <= b,
}
const TEXT: Record<string, (text: string, wanted: string) => boolean> = {
  starts_with: (text, wanted) => text.startsWith(wanted),
  ends_with: (text, wanted) => text.endsWith(wanted),
  like: (text, wanted) =>
    new RegExp(`^${wanted.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^]*')}$`).test(text),
  matches: (text, wanted) => RE2JS.compile(wanted).matcher(text).find(),
  contains: (text, wanted) => text.includes(wanted),
  from: (text, wanted) => text >= wanted,
  until: (text, wanted) => text <= wanted,
}
/** True for a day that calendars have. */
const isDay = (text: string): boolean => {
  const at = /^(?!00)\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text)
}

function judge(test: Test, value: Value): Truth {
  const { op } = test
  if (op === 'missing' || op === 'present')
    return value === unreadable || value === null ? 0 : yes((value === absent) === (op === 'missing'))
  if (op === 'null') return value === unreadable || value === absent ? 0 : yes(value === null)
  if (op === 'not') return opposite(judge(test.test as Test, value))
  if (op === 'and') return Math.min(...(test.tests ?? []).map((one) => judge(one, value))) as Truth
  if (op === 'match') return isEntry(value) ? judgeMatch(test.match as Match, value) : 0
  if (op === 'is') return judgeIs(test.values ?? [], value)
  if (op in COMPARE)
    return typeof value === 'number'
      ? yes((COMPARE[op] as never as (a: number, b: number) => boolean)(value, test.value as number))
      : 0
  if (typeof value === 'string') return hasStack(value) ? 0 : judgeText(test, value.normalize('NFC'))
  if (!Array.isArray(value)) return 0
  if (op === 'contains') return some(value, (item) => judgeIs(test.values ?? [], item))
  return judgeList(test, value)
}

function judgeIs(values: readonly JsonValue[], value: Value): Truth {
  if (!['string', 'number', 'boolean'].includes(typeof value)) return 0
  if (!values.some((one) => typeof one === typeof value)) return 0
  if (typeof value === 'string' && hasStack(value)) return 0
  return yes(values.includes(typeof value === 'string' ? value.normalize('NFC') : (value as JsonValue)))
}

const isEntry = (value: Value): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function judgeMatch(match: Match, entry: JsonObject): Truth {
  const { kind, items = [], item, path = [], fn, test, whenMissing: when } = match
  if (kind === 'not') return opposite(judgeMatch(item as Match, entry))
  if (kind !== 'leaf') {
    const truths = items.map((one) => judgeMatch(one, entry))
    return (kind === 'all' ? Math.min(...truths) : Math.max(...truths)) as Truth
  }
  const given = (when?.given ?? []).flatMap((is, depth) =>
    is ? [{ keys: path.slice(0, depth + 1), value: when?.defaults?.[depth] as JsonValue }] : [],
  )
  const missing = when?.kind === 'nothing' ? { is: when.kind } : { value: when?.value as JsonValue }
  return answer(entry, {
    keys: path,
    test: test as Test,
    ...(fn && { function: fn }),
    ...(when && { missing: when.kind === 'defaults' ? { defaults: given } : missing }),
  })
}

function judgeText({ op, values }: Test, text: string): Truth {
  const wanted = (values ?? []).filter((one) => typeof one === 'string')
  if (!(op in TEXT) || wanted.length === 0) return 0
  if ((op === 'from' || op === 'until') && !isDay(text)) return 0
  return yes(wanted.some((one) => TEXT[op]?.(text, one)))
}

function judgeList({ op, test, where }: Test, list: readonly unknown[]): Truth {
  const inner = test as Test
  const each = (item: Value): Truth => judge(inner, item)
  if (op === 'count') {
    const truths = list.map((item) => (where === undefined ? 1 : judge(where, item as Value)))
    const least = truths.filter((truth) => truth === 1).length
    const most = truths.filter((truth) => truth !== -1).length
    const answers = new Set<Truth>()
    for (let n = least; n <= most; n++) answers.add(judge(inner, n))
    return list.includes(several) || answers.size > 1 ? 0 : ([...answers][0] as Truth)
  }
  if (op === 'some') return some(list, each)
  if (op === 'none') return opposite(some(list, each))
  if (op === 'every')
    return list.length === 0 ? 0 : (Math.min(...list.map((item) => each(elementOf(item)))) as Truth)
  return 0
}

function some(list: readonly unknown[], each: (item: Value) => Truth): Truth {
  return Math.max(-1, ...list.map((item) => each(elementOf(item)))) as Truth
}

function elementOf(item: unknown): Value {
  return item === several ? unreadable : (item as Value)
}

// ---- running ----

/**
 * Returns a function that decides one fact by the rules of a tool. It has an engine of its own: overlapping runs may
 * not share a plain one.
 */
export function portableRunner(
  bundle: PortableBundle,
  name: string,
): (fact: JsonObject, riskLevel?: Risk) => Promise<PortableOutcome> {
  const tool = bundle.tools.find((one) => one.tool === name) as PortableTool
  const engine = new Engine()
  for (const operator of [
    'equal',
    'notEqual',
    'in',
    'notIn',
    'contains',
    'doesNotContain',
    'lessThan',
    'lessThanInclusive',
    'greaterThan',
    'greaterThanInclusive',
  ])
    engine.removeOperator(operator)
  engine.addOperator('always', () => true)
  engine.addOperator('before', (fact: { at: number }, at: number) => fact.at < at)
  engine.addOperator('is_true', (fact: JsonObject, asked: Asked) => answer(fact, asked) === 1)
  engine.addOperator('is_not_false', (fact: JsonObject, asked: Asked) => answer(fact, asked) !== -1)
  for (const rule of tool.rules) engine.addRule(rule as never)
  return async (call, riskLevel) => {
    const { events } = await engine.run({ call })
    return conclude(bundle, {
      baseline: tool.risk as Risk,
      riskLevel,
      events: events as unknown as PortableEvent[],
    })
  }
}

interface PortableEvent {
  readonly type: Verdict | 'match'
  readonly params: {
    readonly id: string
    readonly mode: string
    readonly risk?: Risk
    readonly reviewers?: ReviewRequirement
  }
}

const top = <T>(order: readonly T[], ...found: readonly T[]): T =>
  order[Math.max(...found.map((one) => order.indexOf(one)))] as T

function conclude(
  { routing }: PortableBundle,
  {
    baseline,
    riskLevel,
    events,
  }: { baseline: Risk; riskLevel: Risk | undefined; events: readonly PortableEvent[] },
): PortableOutcome {
  const { unmatched, allow_up_to, levels } = routing as unknown as {
    unmatched: Verdict
    allow_up_to: Risk
    levels: Record<Risk, ReviewRequirement>
  }
  const fired = events.filter(({ type }) => type !== 'match')
  const enforced = fired.filter(({ params }) => params.mode === 'enforced')
  const matched = events.length > fired.length
  const policyRisk = top(RISKS, baseline, ...enforced.flatMap(({ params }) => params.risk ?? []))
  const risk = top(RISKS, policyRisk, riskLevel ?? 'low')
  const voices = enforced.map(({ type, params }) => ({ type: type as Verdict, id: params.id }))
  if (!matched) voices.push({ type: unmatched, id: 'unmatched' })
  const ruled = top(VERDICTS, ...voices.map(({ type }) => type))
  const by = voices.filter(({ type }) => type === ruled).map(({ id }) => id)
  const capped = ruled === 'allow' && RISKS.indexOf(risk) > RISKS.indexOf(allow_up_to)
  const outcome = {
    verdict: capped ? 'review' : ruled,
    risk,
    policyRisk,
    by: (capped ? [...by, 'allow_up_to'] : by).sort(),
    fired: fired.map(({ params }) => params.id).sort(),
  } as const
  if (outcome.verdict !== 'review') return outcome
  const asked = enforced
    .filter(({ type }) => type === ruled)
    .flatMap(({ params }) => params.reviewers ?? [])
    .map((reviewers) => ({ ...reviewers, expires_ms: reviewers.expires_ms ?? Infinity }))
  return { ...outcome, requirement: [levels[risk], ...asked].reduce(joinRequirements, levels[policyRisk]) }
}
