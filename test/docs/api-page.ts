import { readFileSync } from 'node:fs'
import { ERRORS } from '../../src/contract/errors.ts'
import { openApiDocument } from '../../src/contract/operations/openapi.ts'
import { API_EXAMPLES, commandOf } from './api-examples.ts'

/** docs/reference/api.md: every operation of schemas/openapi.json, with the examples that api-examples.test.ts runs. */

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly items?: Schema
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly description?: string
}
interface Body {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>
}
interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}
interface Described {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Body
  readonly security: readonly Readonly<Record<string, unknown>>[]
  readonly responses: Readonly<Record<string, Body & { readonly description: string }>>
}
interface Document {
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const read = (path: string): unknown => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
const { version } = read('../../package.json') as { readonly version: string }
/** The content of schemas/openapi.json, which `npm run schemas` may write at the same time. */
const document = JSON.parse(JSON.stringify(openApiDocument(version))) as Document

export interface ApiOperation extends Described {
  readonly id: string
  readonly method: string
  readonly path: string
}

export function operations(): ApiOperation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => ({
      ...one,
      id: one.operationId,
      method: method.toUpperCase(),
      path,
    })),
  )
}

const HEADINGS: Readonly<Record<string, string>> = {
  agent: 'Agent endpoints',
  review: 'Review endpoints',
  admin: 'Admin endpoints',
  public: 'Public endpoints',
}

export function apiPage(): string {
  const answers = read('api-answers.json') as readonly unknown[]
  return [
    '# API',
    '',
    'This page lists every endpoint. `npm run schemas` makes it from `schemas/openapi.json`, which a running gateway serves',
    'at `/openapi.json`. CI runs each example; `...` replaces values that differ in each run.',
    '',
    'The examples use these variables: `COUNTERSIGN_URL`, `AGENT_KEY`, `REVIEWER_KEY`, `ADMIN_KEY`. `THREAD`, `TOKEN` and',
    '`WEBHOOK` come from earlier answers. Every refusal is a [problem with a stable code](../errors.md).',
    '',
    ...document.tags
      .filter(({ name }) => name in HEADINGS)
      .flatMap(({ name, description }) => [
        `## ${HEADINGS[name]}`,
        '',
        description.replaceAll(/\(?docs\/([\w-]+)\.md\)?/g, '([$1](../$1.md))'),
        '',
        ...operations()
          .filter(({ tags }) => tags.includes(name))
          .flatMap((one) => operationPart(one, answers)),
      ]),
  ].join('\n')
}

function operationPart(one: ApiOperation, answers: readonly unknown[]): string[] {
  const body = one.requestBody?.content?.['application/json']?.schema
  const success = Object.entries(one.responses).find(([status]) => /^[23]/.test(status))
  const answer = success?.[1].content?.['application/json']?.schema
  const refusals = Object.entries(one.responses).filter(([status]) => /^[45]/.test(status))
  return [
    `### \`${one.method} ${one.path}\``,
    '',
    `${one.summary}.`,
    '',
    `Credential: ${credentialsOf(one)}.`,
    '',
    ...(one.description === undefined ? [] : [one.description, '']),
    ...table(
      ['parameter', 'in', 'type', 'meaning'],
      (one.parameters ?? []).map((parameter) => [
        `\`${parameter.name}\`${parameter.required === true ? ' (required)' : ''}`,
        parameter.in,
        typeOf(parameter.schema),
        text(parameter.description ?? resolved(parameter.schema).description),
      ]),
    ),
    ...(body === undefined ? [] : members('Body', body)),
    ...exampleParts(one, answers),
    ...(answer === undefined ? [] : members(`Answer ${success?.[0]}`, answer)),
    ...table(
      ['Refusal', 'codes'],
      refusals.map(([status, { description }]) => [status, codesOf(status, description)]),
    ),
  ]
}

const CREDENTIALS: Readonly<Record<string, string>> = {
  agentKey: "an agent's key",
  reviewerKey: "a reviewer's key",
  'session page': "a reviewer's session",
  adminKey: 'the admin key',
}

function credentialsOf({ security }: ApiOperation): string {
  const named = security.map((one) => CREDENTIALS[Object.keys(one).join(' ')] ?? '')
  return named.length === 0 ? 'none' : named.join(', or ')
}

/** Error codes with links; a refusal without a code keeps its sentence. */
function codesOf(status: string, description: string): string {
  const codes = description.split(', ').filter((code) => code in ERRORS)
  const links = codes.map((code) => `[\`${code}\`](../errors.md#${status}-${code})`)
  return links.length === 0 ? description : links.join(', ')
}

function exampleParts(one: ApiOperation, answers: readonly unknown[]): string[] {
  const at = API_EXAMPLES.findIndex(({ operation }) => operation === one.id)
  const example = API_EXAMPLES[at]
  if (example === undefined) return []
  const answer = answers[at] === null ? [] : ['```json', JSON.stringify(answers[at], null, 1), '```', '']
  return ['```bash', commandOf(example), '```', '', ...answer]
}

function members(title: string, schema: Schema): string[] {
  const { properties = {}, required = [] } = resolved(schema)
  const rows = Object.entries(properties).map(([name, member]) => [
    `\`${name}\`${required.includes(name) ? ' (required)' : ''}`,
    typeOf(member),
    text(member.description ?? resolved(member).description),
  ])
  return rows.length === 0 ? [] : table([title, 'type', 'meaning'], rows)
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return []
  return [row(head), row(head.map(() => '---')), ...rows.map(row), '']
}

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
const CODE_OR_ANGLE = /`[^`]*`|</g
const text = (description: string | undefined): string =>
  (description ?? '')
    .replaceAll('|', '\\|')
    .replaceAll(CODE_OR_ANGLE, (found) => (found === '<' ? '&lt;' : found))
    .replaceAll('\n', ' ')

function resolved(schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1)
  return name === undefined ? schema : (document.components.schemas[name] ?? {})
}

function typeOf(schema: Schema): string {
  const one = resolved(schema)
  if (one.const !== undefined) return `\`${JSON.stringify(one.const)}\``
  if (one.enum !== undefined) return one.enum.map((value) => `\`${JSON.stringify(value)}\``).join(', ')
  const options = one.anyOf ?? one.oneOf
  if (options !== undefined) return [...new Set(options.map(typeOf))].join(', ')
  if (one.type === 'array') return `list of ${one.items === undefined ? 'anything' : typeOf(one.items)}`
  return [one.type ?? 'anything'].flat().join(', ')
}
