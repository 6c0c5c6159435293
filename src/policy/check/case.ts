import type { JsonObject } from '../../contract/json.ts'
import { VERDICTS, type Risk, type Verdict } from '../../domain/decision.ts'
import { didYouMean } from '../text/nearest.ts'
import { toJson, type Doc, type DocMap } from '../yaml/parse.ts'
import {
  defined,
  given,
  PERSON_NAME,
  readKeys,
  readMap,
  readName,
  readOneOf,
  readRisk,
  readText,
  readTexts,
  TENANT_NAME,
  type Reader,
} from '../yaml/shape.ts'
import type { History } from '../language/snapshot.ts'
import type { Mark } from '../yaml/source.ts'
import { showForeign } from '../text/text.ts'
import { parseDate, WEEKDAYS, type WeekTime } from '../language/time.ts'

/** An inline test (docs/policy-language.md): one call and its expected decision. */
export interface CaseIr {
  readonly name: string
  readonly tool: string
  readonly payload: JsonObject
  readonly agent: string
  readonly tenant: string
  readonly task: { readonly workflow?: string; readonly label?: string; readonly subject?: string }
  /** Owners of the agent. Absent: those of the directory. */
  readonly owners?: readonly string[]
  readonly history: History
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
): Pick<
  CaseIr,
  'payload' | 'agent' | 'tenant' | 'task' | 'owners' | 'history' | 'used' | 'riskLevel' | 'time'
> {
  const payload = given(keys.payload, (at) => readMap(reader, at, '`payload`'))
  const {
    id: agent = 'test',
    tenant = 'test',
    owners,
    ...before
  } = given(keys.agent, (at) => checkAgent(reader, at)) ?? NAMELESS
  const time = given(keys.time, (at) => checkTime(reader, at))
  const riskLevel = given(keys.risk_level, (at) => readRisk(reader, at))
  const task = given(keys.task, (at) => checkTask(reader, at))
  const { tools: _, labels: __, ...facts } = task ?? {}
  return {
    payload: payload ? (toJson(payload) as JsonObject) : {},
    agent,
    tenant,
    task: facts,
    history: historyOf(task ?? {}, before),
    used: given(keys.used, (at) => checkUsed(reader, at)) ?? new Map(),
    ...defined({ owners, time, riskLevel }),
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

/** The tools of earlier calls that were allowed or approved, and the labels of their contracts. */
interface Before {
  readonly tools?: readonly string[]
  readonly labels?: readonly string[]
}

function historyOf(task: Before, agent: Before): History {
  const { tools: taskTools = [], labels: taskLabels = [] } = task
  const { tools: agentTools = [], labels: agentLabels = [] } = agent
  return { taskTools, taskLabels, agentTools, agentLabels }
}

function checkBefore(
  reader: Reader,
  { tools, labels }: { readonly tools?: Doc; readonly labels?: Doc },
): Before {
  return defined({
    tools: given(tools, (at) => readTexts(reader, at, '`tools`')),
    labels: given(labels, (at) => readTexts(reader, at, '`labels`')),
  })
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

interface CaseAgent extends Before {
  readonly id?: string
  readonly tenant?: string
  readonly owners?: readonly string[]
}

/** The agent of a test that names no agent. The directory does not have it. */
const NAMELESS: CaseAgent = { owners: [] }

function checkAgent(reader: Reader, doc: Doc): CaseAgent {
  if (doc.kind !== 'map') {
    const id = readName(reader, doc, '`agent`', PERSON_NAME)
    return id === undefined ? {} : { id }
  }
  const keys = readKeys(reader, doc, {
    what: '`agent`',
    optional: ['id', 'tenant', 'owners', 'tools', 'labels'],
  })
  const id = keys.id && readName(reader, keys.id, '`id`', PERSON_NAME)
  const tenant = keys.tenant && readName(reader, keys.tenant, '`tenant`', TENANT_NAME)
  const owners = given(keys.owners, (at) => readTexts(reader, at, '`owners`'))
  return {
    ...(id === undefined && NAMELESS),
    ...checkBefore(reader, keys),
    ...defined({ id, tenant, owners }),
  }
}

function checkTask(reader: Reader, doc: Doc): CaseIr['task'] & Before {
  const map = readMap(reader, doc, '`task`')
  if (!map) return {}
  const optional = ['workflow', 'label', 'subject', 'tools', 'labels'] as const
  const { tools, labels, ...keys } = readKeys(reader, map, { what: '`task`', optional })
  const entries = Object.entries(keys).flatMap(([key, at]) => {
    const text = at && readText(reader, at, `\`${key}\``)
    return text === undefined ? [] : [[key, text]]
  })
  return {
    ...(Object.fromEntries(entries) as CaseIr['task']),
    ...checkBefore(reader, defined({ tools, labels })),
  }
}

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
