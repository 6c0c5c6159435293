import { LIMITS } from '../../src/contract/limits.ts'
import { type Endpoint, ENDPOINTS, type Schema, resolved, sampleOf, textPlaces } from '../samples.ts'

/** Input that costs a careless program more than its length, for every place of the API that takes text. */

/** Text of about this many bytes. */
export type Generator = (bytes: number) => string

const filled = (unit: string, bytes: number): string =>
  unit.repeat(Math.floor(bytes / Buffer.byteLength(unit)))
const keys = (bytes: number): string =>
  Array.from({ length: Math.floor(bytes / 10) }, (_, i) => `"k${i % 9_000}":1`).join(',')

/**
 * Each text stresses one part: sorting, backtracking, arithmetic, recursion, hashing, segments, or a reader that begins
 * anew at each character.
 */
export const GENERATORS: Readonly<Record<string, Generator>> = {
  'combining marks': (bytes) => `a${filled('\u0345\u0334', bytes - 1)}`,
  'nested quantifiers': (bytes) => `${filled('a', bytes - 1)}!`,
  digits: (bytes) => filled('9', bytes),
  'deep JSON': (bytes) => filled('[', bytes / 2) + filled(']', bytes / 2),
  'many keys': (bytes) => `{${keys(bytes - 2)}}`,
  'paths with ..': (bytes) => `/${filled('a/../', bytes - 1)}`,
  'comments in SQL': (bytes) => `select 1 ${filled('/*-- \n', bytes - 9)}`,
  'mail with quotes and comments': (bytes) => `${filled('"(a@', bytes - 6)}@a.com`,
}

/** Generators of JSON that is no text: a free payload holds it as JSON. */
const AS_JSON: readonly string[] = ['digits', 'deep JSON', 'many keys']

/** One place of one operation, and how to put a string there. */
export interface Cell {
  readonly endpoint: Endpoint
  readonly name: string
  /** The request for a string of so many bytes; `raw` puts JSON there as it is. */
  request(generator: string, share: number): HostileRequest
}

export interface HostileRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

const NAMED = {
  tool_name: 'worst',
  tenant: 'acme',
  url: 'https://example.com/',
  event_type: 'tool.done',
  payload: {},
  request_payload: {},
}
const IN_PATH: Readonly<Record<string, string>> = {
  taskID: 'task',
  thread_id: 'thr_00000000000000000000000000',
  tenant: 'acme',
}
/** Bytes that fit into a header or target, whatever the limits of Node. */
const LINE_BYTES = 7_000
const MARK = '@@here@@'

function cellsOf(endpoint: Endpoint): Cell[] {
  const lines = endpoint.parameters.map(({ name, in: where }) => ({
    endpoint,
    name: `${where} ${name}`,
    request: (generator: string, share: number) =>
      lineRequest(endpoint, { name, where }, textOf(generator, (LINE_BYTES * share) / 3)),
  }))
  const { body } = endpoint
  if (body === undefined) return lines
  return [...lines, ...bodyPlaces(body).map((way) => bodyCell(endpoint, body, way))]
}

export function textOf(generator: string, bytes: number): string {
  const make = GENERATORS[generator]
  if (make === undefined) throw new Error(`no generator ${generator}`)
  return make(Math.floor(bytes))
}

/** Texts, and what a free object holds. */
function bodyPlaces(body: Schema): string[] {
  const free = Object.entries(resolved(body).properties ?? {})
    .filter(([, member]) => resolved(member).additionalProperties === true)
    .flatMap(([name]) => PAYLOAD_PLACES.map((place) => `${name}.${place}`))
  return [...textPlaces(body).map((way) => way.join('.')), ...free]
}

/** Members of the tool `worst`, each read by rules of another kind. */
const PAYLOAD_PLACES = ['text', 'list', 'pattern', 'mail', 'link', 'unique', 'free', 'limited', 'raised']
/** These are lists of texts: as many as the body takes. */
const LISTS = ['list', 'unique', '0']

function bodyCell(endpoint: Endpoint, schema: Schema, place: string): Cell {
  const way = place.split('.')
  const isFree = way.at(-1) === 'free'
  return {
    endpoint,
    name: `body ${place}`,
    request: (generator, share) => {
      const body = JSON.stringify(placed(sampleOf(schema, namedFor(schema)), way))
      const text = contentOf(generator, share, {
        isFree,
        isList: LISTS.includes(way.at(-1) ?? ''),
        isRaised: way.at(-1) === 'raised',
      })
      return {
        ...lineRequest(endpoint, undefined, ''),
        body: body.replace(`"${MARK}"`, () => text),
      }
    },
  }
}

export const namedFor = (schema: Schema): Record<string, unknown> =>
  Object.fromEntries(Object.entries(NAMED).filter(([name]) => name in (resolved(schema).properties ?? {})))

/** At most what the body, or one text of it, may have. */
function contentOf(
  generator: string,
  share: number,
  { isFree, isList, isRaised }: { isFree: boolean; isList: boolean; isRaised: boolean },
): string {
  const room = Math.floor((LIMITS.BODY_BYTES - 1_024) * share)
  if (isFree && AS_JSON.includes(generator)) return textOf(generator, room)
  if (isRaised) return JSON.stringify(fitting(generator, Math.floor(room * UNESCAPED)))
  const one = JSON.stringify(
    fitting(generator, Math.floor((LIMITS.STRING_BYTES - 16) * (isList ? 1 : share))),
  )
  if (!isList && !isFree) return one
  const count = Math.max(1, Math.floor(room / (Buffer.byteLength(one) + 1)))
  const list = Array.from({ length: count }, () => one).join(',')
  return isFree ? `[${list}]` : list
}

/** Share of its room in a body that a string fills, so that it fits with its escapes. */
const UNESCAPED = 0.75

/** Escapes make a string longer in JSON than it is. */
function fitting(generator: string, bytes: number): string {
  return textOf(generator, bytes)
}

function placed(sample: unknown, way: readonly string[]): unknown {
  const [step, ...rest] = way
  if (step === undefined) return MARK
  if (step === '0') return [MARK]
  const members = sample as Readonly<Record<string, unknown>>
  if (['list', 'unique'].includes(step)) return { ...members, [step]: [MARK] }
  return { ...members, [step]: placed(members[step] ?? {}, rest) }
}

function lineRequest(
  { path, method, parameters }: Endpoint,
  put: { readonly name: string; readonly where: string } | undefined,
  text: string,
): HostileRequest {
  const at = (where: string, name: string): string | undefined =>
    put?.where === where && put.name === name ? encodeURIComponent(text) : undefined
  const query = parameters.flatMap(({ name, in: where }) => {
    const value =
      where === 'query' ? (at(where, name) ?? (name === 'tenant' ? 'acme' : undefined)) : undefined
    return value === undefined ? [] : [`${name}=${value}`]
  })
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => at('path', name) ?? IN_PATH[name] ?? 'a')
  const headers = put?.where === 'header' ? { [put.name]: text.replaceAll(/[^ -~]/g, '?') } : {}
  return {
    method,
    path: `${filled}${query.length > 0 ? `?${query.join('&')}` : ''}`,
    headers,
    body: undefined,
  }
}

/** A tool whose rules read every member by every function and test. */
export const WORST_TOOL = `tool: worst
description: Takes text of every kind.
risk: low
labels: [text]
input_schema:
  type: object
  additionalProperties: true
  properties:
    text: { type: string }
    list: { type: array, items: { type: string } }
    pattern: { type: string, pattern: '^(a+)+$' }
    mail: { type: string, format: email }
    link: { type: string, format: uri }
    unique: { type: array, uniqueItems: true, items: { type: string } }
    free: {}
    limited: { type: string }
    raised: { type: string, maxLength: 262144 }
`
const TESTS = [
  '{ matches: "^(a+)+$" }',
  '{ matches: "(a|aa)*b" }',
  '{ like: "*a*b*c*" }',
  '{ contains: aab }',
  '{ starts_with: b }',
  '{ is: b }',
]
const FUNCTIONS = ['domain', 'host', 'path', 'sql_verbs']
const readings = (name: string, wrap: (test: string) => string): string[] => [
  ...TESTS.map((test) => `payload.${name}: ${wrap(test)}`),
  ...FUNCTIONS.map((fn) =>
    fn === 'sql_verbs'
      ? `${fn}(payload.${name}): { some: drop }`
      : `${fn}(payload.${name}): ${wrap('{ is: "/a" }').replaceAll('/a', fn === 'path' ? '/a' : 'a.io')}`,
  ),
]
const LINES = [
  ...readings('text', (test) => test),
  ...readings('raised', (test) => test),
  ...readings('list', (test) => `{ some: ${test} }`).filter((line) => !line.includes('(a|aa)')),
  ...TESTS.map((test) => `task.subject: ${test}`),
  ...TESTS.map((test) => `payload.limited: ${test}`),
]
export const WORST_RULES = `tool: worst
missing_means:
${['text', 'list', 'limited', 'raised'].map((name) => `  payload.${name}: nothing`).join('\n')}
rules:
${LINES.map((line, i) => `  - id: worst-${i}\n    reject: Look.\n    when: { ${line} }`).join('\n')}
limits:
  - { id: worst-limit, review: Many., count: calls, at_most: 1000000, within: 1h, per: payload.limited }
`

export const CELLS: readonly Cell[] = ENDPOINTS.filter(({ id }) => id !== 'stream').flatMap(cellsOf)
