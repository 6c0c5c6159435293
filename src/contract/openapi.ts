/** The OpenAPI 3.1 document, made from the declarations in this folder. Run `npm run schemas` after a change. */
import { Type, type TSchema } from 'typebox'
import * as admin from './admin.ts'
import * as agent from './agent.ts'
import { ERRORS } from './errors.ts'
import type { Operation } from './operation.ts'
import * as checkpoint from './checkpoint.ts'
import * as freeze from './freeze.ts'
import { ADMIN_OPERATIONS } from './operations-admin.ts'
import { AGENT_OPERATIONS } from './operations-agent.ts'
import { REVIEW_OPERATIONS } from './operations-review.ts'
import { FREEZE_OPERATIONS } from './operations-freeze.ts'
import { WEBHOOK_OPERATIONS } from './operations-webhook.ts'
import * as reviewer from './reviewer.ts'
import * as session from './session.ts'
import * as webhook from './webhook.ts'

const Problem = Type.Object({
  type: Type.String(),
  title: Type.String(),
  status: Type.Integer(),
  code: Type.Enum(Object.keys(ERRORS)),
  detail: Type.String(),
  errors: Type.Optional(
    Type.Array(Type.Object({ pointer: Type.String({ description: 'RFC 6901' }), message: Type.String() })),
  ),
})

const Readiness = Type.Object({ ready: Type.Boolean(), store: Type.String(), policies: Type.String() })

const COMPONENTS: Record<string, TSchema> = {
  ...schemasOf(agent),
  ...schemasOf(reviewer),
  ...schemasOf(session),
  ...schemasOf(webhook),
  ...schemasOf(freeze),
  ...schemasOf(checkpoint),
  ...schemasOf(admin),
  Problem,
  Readiness,
}

/** Every exported schema of a module, by its name. */
function schemasOf(module: object): Record<string, TSchema> {
  return module as Record<string, TSchema>
}

const OPERATIONS: readonly Operation[] = [
  ...AGENT_OPERATIONS,
  ...REVIEW_OPERATIONS,
  ...ADMIN_OPERATIONS,
  ...FREEZE_OPERATIONS,
  ...WEBHOOK_OPERATIONS,
]

const SECURITY = {
  agent: [{ agentKey: [] }],
  review: [{ reviewerKey: [] }, { session: [] }],
  admin: [{ adminKey: [] }, { reviewerKey: [] }, { session: [] }],
  public: [],
}
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })

export function openApiDocument(version: string): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of OPERATIONS) {
    paths[operation.path] = { ...paths[operation.path], [operation.method]: operationObject(operation) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Countersign',
      version,
      description:
        'Approval gateway for AI agents. Execute only on `allow`, or on `approved` with a redeemed token.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    paths,
    components: {
      schemas: COMPONENTS,
      securitySchemes: {
        agentKey: { type: 'http', scheme: 'bearer', description: 'csk_<tenant>_...' },
        reviewerKey: { type: 'http', scheme: 'bearer', description: 'csr_<tenant>_...' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: '__Host-countersign',
          description: 'Set by signing in. What changes something must come from our own pages.',
        },
        adminKey: { type: 'http', scheme: 'bearer', description: 'COUNTERSIGN_ADMIN_KEY' },
      },
    },
  }
}

function operationObject(operation: Operation): object {
  return {
    operationId: operation.id,
    summary: operation.summary,
    tags: [operation.plane],
    security: SECURITY[operation.plane],
    parameters: parametersOf(operation),
    ...(operation.body === undefined
      ? {}
      : {
          requestBody: { required: true, content: { 'application/json': { schema: ref(operation.body) } } },
        }),
    responses: { ...answersOf(operation), ...refusalsOf(operation) },
  }
}

function parametersOf(operation: Operation): object[] {
  const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
  const path = names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
  const headers = (operation.headers ?? []).map((header) => ({
    ...header,
    in: 'header',
    schema: { type: 'string' },
  }))
  return [...path, ...queryOf(operation.query), ...headers]
}

function queryOf(name: string | undefined): object[] {
  const schema =
    name === undefined ? undefined : (COMPONENTS[name] as { properties?: object; required?: string[] })
  return Object.entries(schema?.properties ?? {}).map(([member, of]) => ({
    name: member,
    in: 'query',
    required: schema?.required?.includes(member) === true,
    schema: of as object,
  }))
}

function answersOf(operation: Operation): Record<string, object> {
  const content = (name: string | null) =>
    name === null ? {} : { content: { 'application/json': { schema: ref(name) } } }
  const given = (operation.answerHeaders ?? []).map(({ name, description }) => [
    name,
    { description, schema: { type: 'string' } },
  ])
  const headers = given.length === 0 ? {} : { headers: Object.fromEntries(given) as object }
  const entries = Object.entries(operation.answers)
  return Object.fromEntries(
    entries.map(([status, name]) => [
      status,
      { description: operation.summary, ...headers, ...content(name) },
    ]),
  )
}

/** What a cookie vouches for is refused when a foreign page asks for it, whatever it is. */
function allRefusals({ plane, refusals }: Operation): readonly number[] {
  return plane === 'review' ? [...new Set([...refusals, 403])].sort((a, b) => a - b) : refusals
}

function refusalsOf(operation: Operation): Record<string, object> {
  const content = { 'application/problem+json': { schema: ref('Problem') } }
  return Object.fromEntries(
    allRefusals(operation).map((status) => {
      const codes = Object.entries(ERRORS).filter(([, error]) => error.status === status)
      return [status, { description: codes.map(([code]) => code).join(', '), content }]
    }),
  )
}
