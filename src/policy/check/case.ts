import { defined } from '../../contract/defined.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { VERDICTS, type Risk, type Verdict } from '../../domain/decision.ts'
import { MAX_REASON_CHARACTERS } from '../text/bounds.ts'
import { didYouMean } from '../text/nearest.ts'
import { toJson, type Doc, type DocMap } from '../yaml/parse.ts'
import {
  PERSON_NAME,
  readBoolean,
  readKeys,
  readMap,
  readName,
  readOneOf,
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
import { SEEN } from './change.ts'
import { verdictIn } from './rule-context.ts'
import { closed, has, key, list, partOf, readSpec, RISK, specOf, value } from './spec.ts'

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

/** The members that the keys of a test give. */
interface Entry extends Pick<CaseIr, 'name' | 'payload' | 'used' | 'riskLevel' | 'time' | 'risk' | 'by'> {
  readonly agent: readonly Setting[]
  readonly task: readonly Setting[]
  readonly tool: string
}

interface Around {
  /** The names of the tools of the file. */
  readonly tools: readonly string[]
}

const NAME = value((reader, doc) => readText(reader, doc, 'the name of a test'), {
  type: 'string',
  minLength: 1,
  maxLength: MAX_REASON_CHARACTERS,
})
const nameRow = key('name', NAME, 'What the test shows.', SEEN)
const PAYLOAD = value((reader, doc, what) => {
  const map = readMap(reader, doc, what)
  return map && (toJson(map) as JsonObject)
}, partOf('payload'))
/** The facts of a test. It may name agents and tenants that the pattern of a fact does not know. */
const factsOf = (place: 'agent' | 'task'): JsonObject =>
  closed(
    [],
    Object.fromEntries(
      [...factsUnder(place)].map(([name, { schema }]) => [
        name,
        defined({ ...schema, pattern: undefined }) as JsonObject,
      ]),
    ),
  )
const ANY_TEXT = { type: 'string' }
const AGENT = value(checkAgent, { anyOf: [ANY_TEXT, factsOf('agent')] })
const TASK = value((reader, doc) => checkFacts(reader, doc, 'task'), factsOf('task'))
const USED = value(checkUsed, { type: 'object', additionalProperties: { type: 'number', minimum: 0 } })
const HOUR = { type: 'integer', minimum: 0, maximum: 23 }
const TIME = value(checkTime, {
  anyOf: [
    { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}$' },
    closed([], { weekday: { enum: WEEKDAYS }, hour: HOUR }),
  ],
})

/** The keys of a test. */
export const CASE_KEYS = specOf<Entry, Around>()('a test', {
  allow: nameRow,
  review: nameRow,
  reject: nameRow,
  payload: key('payload', PAYLOAD, 'The payload; empty by default.', SEEN),
  agent: key('agent', AGENT, 'The id of the agent, or facts about it.', SEEN),
  task: key('task', TASK, 'Facts about the task.', SEEN),
  used: key('used', USED, 'Earlier charges, by limit id.', SEEN),
  risk_level: key('riskLevel', RISK, 'What the agent claims.', SEEN),
  time: key('time', TIME, 'The local time of the call.', SEEN),
  tool: key('tool', value(checkCaseTool, partOf('tool')), 'The tool, where the file has several.', SEEN),
  risk: key('risk', RISK, 'The expected risk.', SEEN),
  by: key('by', value(readTexts, list(ANY_TEXT)), 'Exactly the deciding ids.', SEEN),
})

const DEFAULTS = { task: [], payload: {}, used: new Map<string, number>() }

/** Checks a test case. `tool:` is needed only when the file applies to several tools. */
export function checkCase(reader: Reader, doc: Doc, tools: Around['tools']): CaseIr | undefined {
  const map = readMap(reader, doc, 'a test')
  if (!map) return undefined
  const verdict = verdictIn(reader, map, { what: 'a test', verdicts: VERDICTS })
  const { entry, at } = readSpec(reader, map, CASE_KEYS, { tools })
  const { agent, task, ...rest } = { ...DEFAULTS, agent: unnamedAgent(), ...entry }
  if (!at.tool && tools.length > 1)
    reader.report('missing-key', map, 'this file applies to several tools: the test needs `tool:`')
  const tool = at.tool || tools.length > 1 ? rest.tool : tools[0]
  if (!verdict || tool === undefined || !has(rest, 'name')) return undefined
  const set = (call: Call): Call =>
    [...agent, ...task].reduce((put, { fact, value: fixed }) => fact.put(put, fixed), call)
  return { ...rest, tool, verdict, set, reader, at: at[verdict] ?? map }
}

function checkCaseTool(reader: Reader, at: Doc, what: string, { tools }: Around): string | undefined {
  const name = readText(reader, at, what)
  if (name === undefined || tools.includes(name)) return name
  return reader.report(
    'unknown-tool',
    at,
    `this file does not apply to a tool named \`${showForeign(name)}\``,
    didYouMean(name, tools),
  )
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
function checkAgent(reader: Reader, doc: Doc): readonly Setting[] {
  if (doc.kind !== 'map') {
    const id = readName(reader, doc, '`agent`', PERSON_NAME)
    return id === undefined ? [] : settings('agent', { id })
  }
  const isNamed = doc.entries.some(({ key: name }) => name === 'id')
  return [...(isNamed ? [] : unnamedAgent()), ...checkFacts(reader, doc, 'agent')]
}

const unnamedAgent = (): Setting[] => settings('agent', { owners: [] })

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
  return reader.report('bad-value', doc, `\`${text}\` is not a time`, hint)
}

function checkWeekTime(reader: Reader, map: DocMap): CaseTime | undefined {
  const keys = readKeys(reader, map, { what: '`time`', optional: ['weekday', 'hour'] })
  const weekday = keys.weekday ? readOneOf(reader, keys.weekday, '`weekday`', WEEKDAYS) : 'mon'
  const hour = keys.hour === undefined ? 12 : keys.hour.kind === 'number' ? keys.hour.value : Number.NaN
  if (Number.isInteger(hour) && hour >= 0 && hour <= 23) return weekday && { weekday, hour }
  return reader.report('bad-value', keys.hour ?? map, '`hour` must be a whole number from 0 to 23')
}
