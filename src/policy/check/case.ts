import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { VERDICTS, type Risk, type Verdict } from '../../domain/decision.ts'
import { didYouMean } from '../text/nearest.ts'
import { toJson, type Doc, type DocMap } from '../yaml/parse.ts'
import {
  defined,
  given,
  PERSON_NAME,
  readBoolean,
  readKeys,
  readMap,
  readName,
  readOneOf,
  readRisk,
  readText,
  readTexts,
  TENANT_NAME,
  type NamePattern,
  type Reader,
} from '../yaml/shape.ts'
import { type FactOfCall, factsUnder } from '../language/facts.ts'
import type { Call } from '../language/snapshot.ts'
import type { Mark } from '../yaml/source.ts'
import { showForeign } from '../text/text.ts'
import { parseDate, WEEKDAYS, type WeekTime } from '../language/time.ts'

/** An inline test (docs/policy-language.md): one call and its expected decision. */
export interface CaseIr {
  readonly name: string
  readonly tool: string
  readonly payload: JsonObject
  /** Puts the facts that the test sets into a call. */
  readonly set: (call: Call) => Call
  /** The amounts that earlier calls charged to limits, by limit id. */
  readonly used: ReadonlyMap<string, number>
  readonly riskLevel?: Risk
  readonly time?: CaseTime
  readonly verdict: Verdict
  readonly risk?: Risk
  /** The ids of all deciding rules and limits, in any order. */
  readonly by?: readonly string[]
  readonly reader: Reader
  readonly at: { readonly mark: Mark }
}

/** A weekday and hour, or a local time that is read as UTC, in ms. */
export type CaseTime = WeekTime | { readonly localMs: number }

const CASE_KEYS = [
  'tool',
  'payload',
  'agent',
  'task',
  'used',
  'risk_level',
  'time',
  'risk',
  'by',
  ...VERDICTS,
] as const

/** Checks a test case. `tool:` is needed only when the file applies to several tools. */
export function checkCase(reader: Reader, doc: Doc, tools: readonly string[]): CaseIr | undefined {
  const map = readMap(reader, doc, 'a test')
  if (!map) return undefined
  const keys = readKeys(reader, map, { what: 'a test', optional: CASE_KEYS })
  const verdicts = VERDICTS.filter((one) => keys[one] !== undefined)
  const verdict = verdicts[0]
  if (verdicts.length !== 1)
    reader.report(
      'verdict-count',
      map,
      `a test needs exactly one of allow:, review: and reject:, found ${verdicts.length}`,
    )
  const nameAt = verdict && keys[verdict]
  const name = given(nameAt, (at) => readText(reader, at, 'the name of a test'))
  const tool = checkCaseTool(reader, map, { at: keys.tool, tools })
  const call = checkCall(reader, keys)
  const risk = given(keys.risk, (at) => readRisk(reader, at))
  const by = given(keys.by, (at) => readTexts(reader, at, '`by`'))
  if (!verdict || name === undefined || tool === undefined) return undefined
  return { name, tool, verdict, ...call, ...defined({ risk, by }), reader, at: nameAt ?? map }
}

type CallKeys = Readonly<Partial<Record<(typeof CASE_KEYS)[number], Doc>>>

function checkCall(
  reader: Reader,
  keys: CallKeys,
): Pick<CaseIr, 'payload' | 'set' | 'used' | 'riskLevel' | 'time'> {
  const payload = given(keys.payload, (at) => readMap(reader, at, '`payload`'))
  const agent = checkAgent(reader, keys.agent)
  const task = given(keys.task, (at) => checkFacts(reader, at, 'task')) ?? []
  const time = given(keys.time, (at) => checkTime(reader, at))
  const riskLevel = given(keys.risk_level, (at) => readRisk(reader, at))
  return {
    payload: payload ? (toJson(payload) as JsonObject) : {},
    set: (call) => [...agent, ...task].reduce((put, { fact, value }) => fact.put(put, value), call),
    used: given(keys.used, (at) => checkUsed(reader, at)) ?? new Map(),
    ...defined({ time, riskLevel }),
  }
}

function checkCaseTool(
  reader: Reader,
  map: Doc,
  { at, tools }: { readonly at: Doc | undefined; readonly tools: readonly string[] },
): string | undefined {
  if (at === undefined) {
    if (tools.length > 1)
      reader.report('missing-key', map, 'this file applies to several tools: the test needs `tool:`')
    return tools.length === 1 ? tools[0] : undefined
  }
  const name = readText(reader, at, '`tool`')
  if (name === undefined || tools.includes(name)) return name
  reader.report(
    'unknown-tool',
    at,
    `this file does not apply to a tool named \`${showForeign(name)}\``,
    didYouMean(name, tools),
  )
  return undefined
}

/** Reads `{ refund-daily-sum: 99000 }`. */
function checkUsed(reader: Reader, doc: Doc): ReadonlyMap<string, number> {
  const used = new Map<string, number>()
  for (const { key, value } of readMap(reader, doc, '`used`')?.entries ?? []) {
    if (value.kind === 'number' && Number.isSafeInteger(value.value) && value.value >= 0)
      used.set(key, value.value)
    else reader.report('bad-value', value, 'the used amount of a limit is a whole number, 0 or more')
  }
  return used
}

/** The value of one fact. */
interface Setting {
  readonly fact: FactOfCall
  readonly value: JsonValue
}

/** Reads the agent of a test. The directory does not have an agent without a name, so it has no owners. */
function checkAgent(reader: Reader, doc: Doc | undefined): readonly Setting[] {
  if (doc !== undefined && doc.kind !== 'map') {
    const id = readName(reader, doc, '`agent`', PERSON_NAME)
    return id === undefined ? [] : settings('agent', { id })
  }
  const isNamed = doc?.entries.some(({ key }) => key === 'id') === true
  return [
    ...(isNamed ? [] : settings('agent', { owners: [] })),
    ...(doc === undefined ? [] : checkFacts(reader, doc, 'agent')),
  ]
}

const settings = (place: 'agent' | 'task', values: JsonObject): Setting[] =>
  [...factsUnder(place)].flatMap(([key, fact]) => {
    const value = values[key]
    return value === undefined ? [] : [{ fact, value }]
  })

/** Reads the facts of a test under `agent` or `task`. */
function checkFacts(reader: Reader, doc: Doc, place: 'agent' | 'task'): readonly Setting[] {
  const map = readMap(reader, doc, `\`${place}\``)
  if (!map) return []
  const facts = factsUnder(place)
  const keys = readKeys(reader, map, { what: `\`${place}\``, optional: [...facts.keys()] })
  return [...facts].flatMap(([key, fact]) => {
    const at = keys[key]
    const value = at && readFact(reader, at, `${place}.${key}`, fact)
    return value === undefined ? [] : [{ fact, value }]
  })
}

function readFact(reader: Reader, at: Doc, name: string, { schema }: FactOfCall): JsonValue | undefined {
  const what = `\`${name.slice(name.indexOf('.') + 1)}\``
  const rule = NAMES[name]
  if (rule !== undefined) return readName(reader, at, what, rule)
  if (schema['type'] === 'array') return readTexts(reader, at, what)
  return schema['type'] === 'boolean' ? readBoolean(reader, at, what) : readText(reader, at, what)
}

const NAMES: Readonly<Record<string, NamePattern>> = { 'agent.id': PERSON_NAME, 'agent.tenant': TENANT_NAME }

/** Reads `{ weekday: sat, hour: 23 }`, or a local date and time such as `2027-01-31T23:00`. */
function checkTime(reader: Reader, doc: Doc): CaseTime | undefined {
  if (doc.kind === 'map') return checkWeekTime(reader, doc)
  const text = readText(reader, doc, '`time`')
  if (text === undefined) return undefined
  const match = /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):([0-5]\d)$/.exec(text)
  const date = match ? parseDate(match[1] ?? '') : undefined
  if (match && date !== undefined)
    return { localMs: date + (Number(match[2]) * 60 + Number(match[3])) * 60_000 }
  const hint = 'write `{ weekday: sat, hour: 23 }` or 2027-01-31T23:00'
  return reader.report('bad-value', doc, `\`${text}\` is not a time`, hint) as undefined
}

function checkWeekTime(reader: Reader, map: DocMap): CaseTime | undefined {
  const keys = readKeys(reader, map, { what: '`time`', optional: ['weekday', 'hour'] })
  const weekday = keys.weekday ? readOneOf(reader, keys.weekday, '`weekday`', WEEKDAYS) : 'mon'
  const hour = keys.hour === undefined ? 12 : keys.hour.kind === 'number' ? keys.hour.value : Number.NaN
  if (Number.isInteger(hour) && hour >= 0 && hour <= 23) return weekday && { weekday, hour }
  return reader.report(
    'bad-value',
    keys.hour ?? map,
    '`hour` must be a whole number from 0 to 23',
  ) as undefined
}
