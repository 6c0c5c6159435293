import { defined } from '../../contract/defined.ts'
import { createHash } from 'node:crypto'
import type { JsonObject } from '../../contract/json.ts'
import { hintForField } from './field-hint.ts'
import { isFieldProblem, parseField } from '../language/fields.ts'
import { parseSummary, type SummaryTemplate } from '../summary/template.ts'
import { toJson, type Doc } from '../yaml/parse.ts'
import { checkSchema } from '../schema/check.ts'
import { SOURCE } from './tool-source.ts'
import { readList, readMap, readOneOf, readText, TOOL_NAME, WORD, type Reader } from '../yaml/shape.ts'
import { MAX_DURATION_MS } from '../text/bounds.ts'
import { parseDuration } from '../text/text.ts'
import type { ToolSource } from '../../contract/tool-source.ts'
import type { Mark } from '../yaml/source.ts'
import type { ToolContract } from '../language/snapshot.ts'
import { DISCLOSE, type DiscloseLevels } from '../language/disclose.ts'
import { PROOFS } from '../language/proof.ts'
import { REVERSIBILITIES } from '../language/reversibility.ts'
import { noted, SEEN } from './change.ts'
import { each, has, key, list, named, need, oneOf, readSpec, RISK, specOf, TEXT, value } from './spec.ts'

/** A contract with its document, for checks that need positions. */
export interface CheckedTool {
  readonly contract: ToolContract
  readonly nameAt: Doc
  readonly sourceAt: Doc | undefined
  readonly labelsAt: readonly Doc[]
  readonly sensitiveAt: readonly Doc[]
  readonly summary?: { readonly template: SummaryTemplate; readonly at: Doc }
  readonly proofAt?: Doc
  /** True when a person has confirmed the effects of an imported tool. */
  readonly confirmed?: boolean
  readonly reader: Reader
}

/** The members that the keys of a contract give. */
type Entry = Omit<ToolContract, 'revision' | 'source'> & {
  readonly source?: NonNullable<ToolContract['source']> & { readonly confirmed?: boolean }
}

interface Around {
  /** The written `input_schema`. */
  readonly schemas: readonly JsonObject[]
}

const PATH = { type: 'string', pattern: '^payload[.[]' }
const DISCLOSED = {
  type: 'object',
  propertyNames: { pattern: PATH.pattern },
  additionalProperties: { enum: DISCLOSE },
}
const OUTCOME = { type: 'string', pattern: '^expected within [1-9][0-9]{0,8}[smhd]$' }
const INPUT_SCHEMA = value(
  (reader, doc, what) => {
    const map = readMap(reader, doc, what)
    if (map) checkSchema(reader, map)
    return map && (toJson(map) as JsonObject)
  },
  {
    allOf: [{ $ref: '#/definitions/schema' }],
    type: 'object',
    properties: { type: { const: 'object' } },
  },
)

const said = (what: string, otherwise: string) => noted(what, (one: string | undefined) => one ?? otherwise)
const listed = (items: readonly string[]): string =>
  items.length === 0 ? 'none' : items.toSorted().join(', ')

/** The keys of a tool contract. `diff` compares the schemas by their members. */
export const TOOL_KEYS = specOf<Entry, Around>()('a tool contract', {
  tool: need('name', named(TOOL_NAME), 'The name that agents send.', SEEN),
  description: need('description', TEXT, 'What the tool does.', said('description', '')),
  summary: key(
    'summary',
    value(readSummary, TEXT.schema),
    'What a call does, in one line: `Transfer {amount_cents|money:currency} to {to}`.',
    said('summary', 'none'),
  ),
  risk: need('risk', RISK, 'The baseline: rules can raise it.', said('risk', '')),
  reversibility: key(
    'reversibility',
    oneOf(REVERSIBILITIES),
    'Whether the effect of a call can be undone.',
    said('reversibility', 'not said'),
  ),
  proof: key(
    'proof',
    oneOf(PROOFS),
    '`always`: an allowed call needs a proof too, so that a repeated call runs once.',
    said('proof', 'on_review'),
  ),
  outcome: key(
    'outcomeMs',
    value(readOutcome, OUTCOME),
    'Agents report how each call ended, within this time. Otherwise History lists the call: `expected within 10m`.',
    noted('outcome', (ms?: number) => (ms === undefined ? 'not expected' : `expected within ${ms / 1_000}s`)),
  ),
  labels: key(
    'labels',
    each(named(WORD, 'a label')),
    'Words by which rules name several tools.',
    noted('labels', listed),
  ),
  sensitive: key(
    'sensitive',
    value(readSensitive, list(PATH)),
    'Never in logs, webhooks or evidence in clear.',
    noted('sensitive', listed),
  ),
  disclose: key(
    'disclose',
    value(readDisclose, DISCLOSED),
    'What evidence keeps of a field: its value (`full`), only its name (`masked`), or nothing (`none`). Without an entry: `full` for fields that rules read.',
    noted('disclose', (levels: DiscloseLevels = {}) =>
      listed(Object.entries(levels).map((one) => one.join(' '))),
    ),
  ),
  source: key(
    'source',
    SOURCE,
    'Which tool of which MCP server this is; `countersign add tool` writes it.',
    noted('source', (one: Entry['source']) => (one ? `${one.server} ${one.name}` : 'none')),
  ),
  input_schema: need('inputSchema', INPUT_SCHEMA, 'The JSON Schema of the payload.', SEEN),
})

/**
 * Checks one tools/ file (docs/policy-language.md). The file needs `tool`, `description`, `risk` and `input_schema`.
 */
export function checkTool(reader: Reader, doc: Doc): CheckedTool | undefined {
  const root = readMap(reader, doc, 'a tool contract')
  if (!root) return undefined
  const written = root.entries.find(({ key }) => key === 'input_schema')?.value
  const schemas = written?.kind === 'map' ? [toJson(written) as JsonObject] : []
  const { entry, at } = readSpec(reader, root, TOOL_KEYS, { schemas })
  if (!at.tool || !has(entry, 'name', 'description', 'risk', 'inputSchema')) return undefined
  const { source: origin, ...rest } = { labels: [], sensitive: [], ...entry }
  const { confirmed, ...source } = origin ?? {}
  const revision = createHash('sha256').update(reader.source.text).digest('hex')
  const contract = { revision, ...rest, ...(origin && { source: source as ToolSource }) }
  const template = templateOf(rest.summary)
  return {
    contract,
    nameAt: at.tool,
    sourceAt: at.source,
    labelsAt: itemsOf(at.labels),
    sensitiveAt: [...itemsOf(at.sensitive), ...keysOf(at.disclose)],
    reader,
    ...(template && at.summary && { summary: { template, at: at.summary } }),
    ...defined({ proofAt: at.proof, confirmed }),
  }
}

function templateOf(summary = ''): SummaryTemplate | undefined {
  const parsed = parseSummary(summary)
  return parsed.ok ? parsed.template : undefined
}

function readSummary(reader: Reader, at: Doc, what: string, { schemas }: Around): string | undefined {
  const text = readText(reader, at, what)
  const parsed = text === undefined ? undefined : parseSummary(text)
  if (parsed === undefined || parsed.ok) return text
  const { problem } = parsed
  if (problem.kind === 'summary') reader.report('bad-summary', at, problem.message, problem.hint)
  else
    reader.report(problem.problem.code, at, problem.problem.message, hintForField(problem.problem, schemas))
  return undefined
}

function readSensitive(reader: Reader, doc: Doc, what: string, around: Around): readonly string[] {
  return (readList(reader, doc, what) ?? []).flatMap((item) => {
    const text = readText(reader, item, 'a field')
    return text === undefined ? [] : payloadField(reader, item, text, around)
  })
}

/** Reports text that is not a field of the payload. Returns the name of the field. */
function payloadField(
  reader: Reader,
  at: { readonly mark: Mark },
  text: string,
  { schemas }: Around,
): string {
  const field = parseField(text)
  if (isFieldProblem(field)) {
    reader.report(field.code, at, field.message, hintForField(field, schemas))
    return text
  }
  if (field.root !== 'payload' || field.fn !== undefined)
    reader.report('unknown-field', at, `\`${text}\` is not a field of the payload`)
  return field.name
}

/** Reads `disclose`: what evidence keeps of each field. */
function readDisclose(reader: Reader, doc: Doc, what: string, around: Around): DiscloseLevels | undefined {
  const levels = (readMap(reader, doc, what)?.entries ?? []).flatMap(({ key: text, keyMark, value: at }) => {
    const level = readOneOf(reader, at, `\`${text}\``, DISCLOSE)
    const field = payloadField(reader, { mark: keyMark }, text, around)
    return level === undefined ? [] : [[field, level] as const]
  })
  return levels.length > 0 ? Object.fromEntries(levels) : undefined
}

/** Reads `outcome`: the time in which agents report how a call ended, ms. */
function readOutcome(reader: Reader, doc: Doc, what: string): number | undefined {
  const text = readText(reader, doc, what)
  if (text === undefined) return undefined
  const ms = parseDuration(/^expected within (\S+)$/.exec(text)?.[1] ?? '')
  if (ms !== undefined && ms <= MAX_DURATION_MS) return ms
  const hint = 'write `expected within 10m`; the time has s, m, h or d, and is at most 31 days'
  return reader.report('bad-value', doc, `\`${text}\` is not a value for ${what}`, hint)
}

const itemsOf = (doc: Doc | undefined): readonly Doc[] => (doc?.kind === 'list' ? doc.items : [])

/** The keys of a mapping as texts with their places. */
const keysOf = (doc: Doc | undefined): readonly Doc[] =>
  doc?.kind === 'map'
    ? doc.entries.map(({ key, keyMark }) => ({ kind: 'text', value: key, mark: keyMark }))
    : []
