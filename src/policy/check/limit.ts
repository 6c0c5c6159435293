import { type JsonValue, isObject } from '../../contract/json.ts'
import { listOfObjects } from './indexes.ts'
import type { MatchContext } from './match.ts'
import { checkPayloadField, reportFieldProblem } from './path.ts'
import { checkFunction } from './types.ts'
import { instead, SEEN } from './change.ts'
import { DURATION, has, key, need, oneOf, partOf, readSpec, RISK, specOf, value } from './spec.ts'
import { ID_ROW, MODE_ROW, reasonRow, type RuleContext, verdictIn } from './rule-context.ts'
import { RISKS, type Risk } from '../../domain/decision.ts'
import { duration } from '../language/time.ts'
import { fieldText, isFieldProblem, parseField } from '../language/fields.ts'
import { isNeverScope } from '../language/facts.ts'
import type { FieldIr, LimitIr } from '../language/rule.ts'
import { didYouMean } from '../text/nearest.ts'
import type { Doc } from '../yaml/parse.ts'
import { schemaAt } from '../schema/defaults.ts'
import { readMap, readText, type Reader } from '../yaml/shape.ts'
import { lineOf } from '../yaml/source.ts'
import { hasReadable } from '../schema/possible.ts'
import { describeKinds } from '../schema/possible-words.ts'

const NO_CONDITION =
  'a limit has no conditions: it counts each call of its file; `per` and `sum` choose what it counts'

/** The maximum length of a limit's id. The counter's name in the store contains the id. */
const MAX_ID = 100

/** The members that the keys of a limit give. */
interface Entry extends Pick<
  LimitIr,
  'id' | 'reason' | 'mode' | 'risk' | 'sum' | 'atMost' | 'withinMs' | 'per'
> {
  readonly count?: 'calls'
}

interface Around extends Omit<RuleContext, 'groups'> {
  readonly context: MatchContext
}

const measured = (field: LimitIr['per'] | undefined): string =>
  typeof field === 'object' ? fieldText(field) : (field ?? 'calls')
const rankOf = (risk: Risk | undefined): number => (risk === undefined ? -1 : RISKS.indexOf(risk))
const ID = value(
  (reader, doc, what, around: Around) => checkLength(reader, doc, ID_ROW.read(reader, doc, what, around)),
  ID_ROW.schema,
)
const PER = value((_, doc, __, { context }: Around) => checkPer(context, doc), partOf('per'))
const SUM = value((_, doc, __, { context }: Around) => checkSum(context, doc), partOf('sum'))
const AMOUNT = value(readAmount, { type: 'number', minimum: 0 })

/** The keys of a limit. */
export const LIMIT_KEYS = specOf<Entry, Around>()(
  'a limit',
  {
    id: need('id', ID, ID_ROW.doc, SEEN),
    review: reasonRow('review'),
    reject: reasonRow('reject'),
    risk: key(
      'risk',
      RISK,
      'Raises the risk of the call when the limit is reached.',
      instead('risk', (risk) => risk ?? 'of the call', rankOf),
    ),
    mode: MODE_ROW,
    count: key('count', oneOf(['calls']), 'Counts calls.', SEEN),
    sum: key('sum', SUM, 'Sums a field.', instead('counts', measured)),
    at_most: need(
      'atMost',
      AMOUNT,
      'The most calls, or the largest sum.',
      instead('at most', String, (most: number) => -most),
    ),
    within: need(
      'withinMs',
      DURATION,
      'The time in which they count: `24h`.',
      instead('within', duration, Number),
    ),
    per: need('per', PER, 'The field whose values are counted separately.', instead('per', measured)),
  },
  { when: NO_CONDITION, unless: NO_CONDITION, if: NO_CONDITION },
)

/** Checks one entry of `limits:` (docs/policy-language.md). */
export function checkLimit(
  context: MatchContext,
  doc: Doc,
  rest: Omit<RuleContext, 'groups'>,
): LimitIr | undefined {
  const { reader } = context
  const map = readMap(reader, doc, 'a limit')
  if (!map) return undefined
  const verdict = verdictIn(reader, map, { what: 'a limit', verdicts: ['review', 'reject'] })
  const { entry, at } = readSpec(reader, map, LIMIT_KEYS, { ...rest, context })
  if ((at.count === undefined) === (at.sum === undefined))
    return reader.report('missing-key', map, 'a limit needs exactly one of `count:` and `sum:`')
  if (!verdict || !has(entry, 'id', 'reason', 'atMost', 'withinMs', 'per')) return undefined
  const { mode, count, ...parts } = entry
  if ((count ?? parts.sum) === undefined) return undefined
  rest.places.set(parts.id, map)
  const line = lineOf(reader.source, map.mark.start)
  return { verdict, mode: rest.shadow || mode ? 'shadow' : 'enforced', line, ...parts }
}

function checkLength(reader: Reader, at: Doc, id: string | undefined): string | undefined {
  if (id === undefined || id.length <= MAX_ID) return id
  return reader.report('bad-value', at, `the id of a limit is at most ${MAX_ID} characters long`)
}

/** Reads the field that a limit adds up. */
function checkSum(context: MatchContext, sum: Doc): FieldIr | undefined {
  const { reader } = context
  const field = checkField(context, sum, { what: '`sum`' })
  if (!field) return undefined
  if (field.root !== 'payload' || field.fn !== undefined)
    return reader.report('bad-value', sum, '`sum` adds up a field of the payload')
  const loose = context.tools.find((tool) => !isAmount(schemaAt(tool.inputSchema, field.path)))
  if (loose === undefined) return field
  const hint = `write \`{ type: integer, minimum: 0 }\` for it in the contract of \`${loose.name}\``
  return reader.report('bad-value', sum, `\`${field.name}\` must be an integer that is never negative`, hint)
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
  return reader.report('bad-value', doc, `${what} must be a whole number, 0 or more`)
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
  return context.reader.report('bad-value', doc, `${several} not one value per call`, hint)
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
