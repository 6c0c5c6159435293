import { readFileSync } from 'node:fs'
import type { Access, Operation } from '../../contract/operation.ts'
import { OPERATIONS } from '../../contract/operations/operations.ts'
import { didYouMean } from '../../policy/text/nearest.ts'
import { PACKAGE_ROOT } from '../../system/package.ts'
import { createApi } from './api-client.ts'
import { NEEDS_ADMIN_KEY, reachAsAdmin, reachAsReviewer, URL_FLAG } from './credentials.ts'
import { command } from '../terminal/command.ts'
import { usage } from '../terminal/failure.ts'
import { parse } from '../terminal/parse.ts'
import { jsonOf } from '../terminal/visible-text.ts'

export const API = command({
  name: 'api',
  operands: '[OPERATION]',
  says: `Calls an operation of the admin or the review API, and prints its answer as JSON. Without an operation, lists
    all of them. docs/reference/api.md has the members of each.`,
  flags: {
    field: {
      takes: 'NAME=VALUE',
      short: 'f',
      many: true,
      says: 'a parameter or a member of the request; a list has one for each entry, an object is JSON',
    },
    url: URL_FLAG,
  },
  notes: `${NEEDS_ADMIN_KEY} An operation of reviewers needs COUNTERSIGN_REVIEWER_KEY.`,
})

const REACH: Readonly<Partial<Record<Access, typeof reachAsAdmin>>> = {
  reviewer: reachAsReviewer,
  admin: reachAsAdmin,
  adminKey: reachAsAdmin,
  adminOrReviewer: reachAsAdmin,
}

/** Time limit, in ms, which is enough to send hundreds of thousands of deliveries again. */
const TIMEOUT_MS = 60_000

/** Operations that answer with JSON; `countersign evidence` has the streams. */
const CALLABLE = new Map(
  Object.entries<Operation>(OPERATIONS).flatMap(([id, operation]) => {
    const reachAs = REACH[operation.access]
    const isStream = Object.values(operation.answers).some((one) => typeof one === 'object' && one !== null)
    return reachAs === undefined || isStream ? [] : [[id, { ...operation, reachAs }] as const]
  }),
)

export async function api(args: readonly string[]): Promise<void> {
  const { values, operands } = parse(API, args)
  const [id] = operands
  if (id === undefined)
    return console.log([...CALLABLE].map(([name, { summary }]) => `${name}  ${summary}`).join('\n'))
  const operation = CALLABLE.get(id)
  if (operation === undefined)
    throw usage(
      `there is no operation \`${id}\``,
      didYouMean(id, [...CALLABLE.keys()]) ?? '`countersign api` lists all of them',
    )
  const request = requestOf(id, values.field)
  const call = createApi(operation.reachAs(values.url))[id as keyof typeof OPERATIONS] as (
    asked: object,
  ) => Promise<unknown>
  console.log(jsonOf((await call({ ...request, timeoutMs: TIMEOUT_MS })) ?? {}))
}

interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
}
interface Described {
  readonly operationId: string
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } }
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

interface Place {
  readonly part: 'body' | 'params' | 'query'
  readonly schema: Schema
}

/** Puts each field where the OpenAPI document has its name. @throws CliFailure for a name that the operation lacks */
function requestOf(id: string, fields: readonly string[]): object {
  const places = placesOf(id)
  const request: Record<string, Record<string, unknown>> = {}
  for (const { part } of places.values()) if (part !== 'query') request[part] = {}
  for (const field of fields) {
    const [, name = field, text = ''] = /^([^=]+)=(.*)$/s.exec(field) ?? []
    const { part, schema } = places.get(name) ?? unknownName(id, name, [...places.keys()])
    const members = (request[part] ??= {})
    members[name] = valueOf(text, schema, members[name])
  }
  const named = [...places].find(
    ([name, { part }]) => part === 'params' && request[part]?.[name] === undefined,
  )
  if (named !== undefined) throw usage(`\`${id}\` needs \`${named[0]}\``, `-f ${named[0]}=...`)
  return request
}

function unknownName(id: string, name: string, names: readonly string[]): never {
  const known = names.length === 0 ? 'it takes none' : `one of ${names.join(', ')}, as NAME=VALUE`
  throw usage(`\`${id}\` takes no \`${name}\``, didYouMean(name, names) ?? known)
}

function placesOf(id: string): Map<string, Place> {
  const text = readFileSync(new URL('schemas/openapi.json', PACKAGE_ROOT), 'utf8')
  const { paths, components } = JSON.parse(text) as Document
  const resolved = ({ $ref, ...own }: Schema): Schema =>
    components.schemas[$ref?.split('/').at(-1) ?? ''] ?? own
  const operations = Object.values(paths).flatMap((path) => Object.values(path))
  const { parameters = [], requestBody } = operations.find(({ operationId }) => operationId === id) ?? {}
  const body = requestBody && resolved(requestBody.content['application/json'].schema)
  const members = Object.entries(body?.properties ?? {})
  const asked = parameters.filter((one) => one.in !== 'header')
  return new Map([
    ...members.map(([name, schema]): [string, Place] => [name, { part: 'body', schema: resolved(schema) }]),
    ...asked.map(({ name, schema, ...one }): [string, Place] => [
      name,
      { part: one.in === 'path' ? 'params' : 'query', schema: resolved(schema) },
    ]),
  ])
}

/** Text for a member of text; other types are JSON. A list grows by one. The gateway refuses what does not fit. */
function valueOf(text: string, { type, items = {} }: Schema, earlier?: unknown): unknown {
  if (type === 'array') return [...((earlier as unknown[] | undefined) ?? []), valueOf(text, items)]
  if (type === 'string' || type === undefined) return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}
