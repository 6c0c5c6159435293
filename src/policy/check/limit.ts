import { type JsonValue, isObject } from '../../contract/json.ts'
import { listOfObjects } from './indexes.ts'
import type { MatchContext } from './match.ts'
import { checkPayloadField, reportFieldProblem } from './path.ts'
import { checkFunction } from './types.ts'
import { type RuleContext, checkId, checkReason } from './rule-context.ts'
import { fieldText, isFieldProblem, parseField } from '../language/fields.ts'
import { isNeverScope } from '../language/facts.ts'
import type { FieldIr, LimitIr } from '../language/rule.ts'
import { didYouMean } from '../text/nearest.ts'
import type { Doc, DocMap } from '../yaml/parse.ts'
import { schemaAt } from '../schema/defaults.ts'
import {
  defined,
  given,
  readDuration,
  readKeys,
  readMap,
  readOneOf,
  readRisk,
  readText,
  type Reader,
} from '../yaml/shape.ts'
import { lineOf } from '../yaml/source.ts'
import { hasReadable } from '../schema/possible.ts'
import { describeKinds } from '../schema/possible-words.ts'

const VERDICTS = ['review', 'reject'] as const
const MEASURES = ['count', 'sum'] as const
const LIMIT_KEYS = ['risk', 'mode', ...MEASURES, ...VERDICTS] as const
const REQUIRED_KEYS = ['id', 'at_most', 'within', 'per'] as const
const NO_CONDITION =
  'a limit has no conditions: it counts each call of its file; `per` and `sum` choose what it counts'
const HINTS = { when: NO_CONDITION, unless: NO_CONDITION, if: NO_CONDITION }
type LimitKeys = Readonly<Partial<Record<(typeof LIMIT_KEYS)[number] | (typeof REQUIRED_KEYS)[number], Doc>>>

/** The maximum length of a limit's id. The counter's name in the store contains the id. */
const MAX_ID = 100

/** Checks one entry of `limits:` (docs/policy-language.md). */
export function checkLimit(
  context: MatchContext,
  doc: Doc,
  { world, shadow, places }: Omit<RuleContext, 'groups'>,
): LimitIr | undefined {
  const { reader } = context
  const map = readMap(reader, doc, 'a limit')
  if (!map) return undefined
  const keys: LimitKeys = readKeys(reader, map, {
    what: 'a limit',
    required: REQUIRED_KEYS,
    optional: LIMIT_KEYS,
    hints: HINTS,
  })
  const id = given(keys.id, (at) => checkLength(reader, at, checkId(reader, at, world)))
  const ruling = checkVerdict(reader, map, keys)
  const own = given(keys.mode, (at) => readOneOf(reader, at, '`mode`', ['shadow'])) !== undefined
  const risk = given(keys.risk, (at) => readRisk(reader, at))
  const measure = checkMeasure(context, map, keys)
  const atMost = given(keys.at_most, (at) => readAmount(reader, at, '`at_most`'))
  const withinMs = given(keys.within, (at) => readDuration(reader, at, '`within`'))
  const per = given(keys.per, (at) => checkPer(context, at))
  if (id === undefined || !ruling || !measure || per === undefined) return undefined
  if (atMost === undefined || withinMs === undefined) return undefined
  places.set(id, map)
  const mode = shadow || own ? 'shadow' : 'enforced'
  const line = lineOf(reader.source, map.mark.start)
  return { id, ...ruling, mode, line, ...measure, atMost, withinMs, per, ...defined({ risk }) }
}

function checkLength(reader: Reader, at: Doc, id: string | undefined): string | undefined {
  if (id === undefined || id.length <= MAX_ID) return id
  return reader.report('bad-value', at, `the id of a limit is at most ${MAX_ID} characters long`) as undefined
}

function checkVerdict(
  reader: Reader,
  map: DocMap,
  keys: LimitKeys,
): Pick<LimitIr, 'verdict' | 'reason'> | undefined {
  const named = VERDICTS.filter((verdict) => keys[verdict] !== undefined)
  const [verdict] = named
  if (named.length !== 1)
    reader.report(
      'verdict-count',
      map,
      `a limit needs exactly one of review: and reject:, found ${named.length}`,
    )
  const reason = verdict && given(keys[verdict], (at) => checkReason(reader, at))
  return verdict && reason !== undefined ? { verdict, reason } : undefined
}

/** Reads `count: calls` or `sum: FIELD`. */
function checkMeasure(
  context: MatchContext,
  map: DocMap,
  { count, sum }: LimitKeys,
): { readonly sum?: FieldIr } | undefined {
  const { reader } = context
  if ((count === undefined) === (sum === undefined)) {
    reader.report('missing-key', map, 'a limit needs exactly one of `count:` and `sum:`')
    return undefined
  }
  if (count !== undefined)
    return readOneOf(reader, count, '`count`', ['calls']) === undefined ? undefined : {}
  const field = sum && checkField(context, sum, { what: '`sum`' })
  if (!field || !sum) return undefined
  if (field.root !== 'payload' || field.fn !== undefined) {
    reader.report('bad-value', sum, '`sum` adds up a field of the payload')
    return undefined
  }
  const loose = context.tools.find((tool) => !isAmount(schemaAt(tool.inputSchema, field.path)))
  if (loose === undefined) return { sum: field }
  const hint = `write \`{ type: integer, minimum: 0 }\` for it in the contract of \`${loose.name}\``
  reader.report('bad-value', sum, `\`${field.name}\` must be an integer that is never negative`, hint)
  return undefined
}

function isAmount(schema: JsonValue | undefined): boolean {
  if (!isObject(schema)) return false
  const { type, minimum, exclusiveMinimum } = schema
  const least = Math.max(
    typeof minimum === 'number' ? minimum : -Infinity,
    typeof exclusiveMinimum === 'number' ? exclusiveMinimum : -Infinity,
  )
  return type === 'integer' && least >= 0
}

function readAmount(reader: Reader, doc: Doc, what: string): number | undefined {
  if (doc.kind === 'number' && Number.isSafeInteger(doc.value) && doc.value >= 0) return doc.value
  return reader.report('bad-value', doc, `${what} must be a whole number, 0 or more`) as undefined
}

const PEOPLE = ['user', 'customer', 'person', 'account']
const PERSON_HINT =
  'write `agent`, or the field that names the person, such as `payload.user` or `task.subject`'
const SCOPES = ['agent', 'tenant', 'task'] as const

function checkPer(context: MatchContext, doc: Doc): LimitIr['per'] | undefined {
  const text = doc.kind === 'text' ? doc.value : ''
  const scope = SCOPES.find((one) => one === text)
  if (scope !== undefined) return scope
  const field = checkField(context, doc, {
    what: '`per`',
    hint: PEOPLE.includes(text) ? PERSON_HINT : didYouMean(text, SCOPES),
  })
  if (!field) return undefined
  const several = isNeverScope(field.root) ? `\`${field.name}\` is` : severalValues(context, field)
  if (several === undefined) return field
  const hint = 'one of agent, tenant, task, or a field with one value'
  return context.reader.report('bad-value', doc, `${several} not one value per call`, hint) as undefined
}

/**
 * Returns the reason why a field cannot name a counter; undefined when it is text, a number or a boolean for each tool.
 */
function severalValues({ tools, fieldValues }: MatchContext, field: FieldIr): string | undefined {
  for (const tool of tools) {
    const values = fieldValues.of(tool, field)
    const { texts, numbers, booleans } = values
    const single = texts !== undefined || numbers !== undefined || booleans.length > 0
    if (!single && hasReadable(values))
      return `\`${fieldText(field)}\` of \`${tool.name}\` is ${describeKinds(values)},`
  }
  return undefined
}

function checkField(
  context: MatchContext,
  doc: Doc,
  { what, hint }: { readonly what: string; readonly hint?: string | undefined },
): FieldIr | undefined {
  const text = readText(context.reader, doc, what)
  if (text === undefined) return undefined
  const field = parseField(text)
  if (isFieldProblem(field)) {
    return reportFieldProblem(context, doc, hint === undefined ? field : { ...field, hint })
  }
  checkPayloadField(context, field, { at: doc, presence: false })
  const list = listOfObjects(context, field)
  if (list !== undefined) {
    const message = `\`${field.name}\` reads one entry of \`${list}\`, so the limit does not see the others`
    context.reader.report('entry-by-index', doc, message, 'let the tool send the value in a field of its own')
  }
  checkFunction(context, field, doc)
  return field
}
