/** The schemas of the OpenAPI document. Each named schema appears once, and other schemas refer to it. */
import { Type, type TSchema } from 'typebox'
import * as admin from './admin.ts'
import * as agent from './agent.ts'
import * as agentList from './agent-list.ts'
import * as chat from './chat.ts'
import * as checkpoint from './checkpoint.ts'
import * as display from './display.ts'
import * as precedents from './precedents.ts'
import { ERRORS } from './errors.ts'
import * as erasure from './erasure.ts'
import * as freeze from './freeze.ts'
import * as health from './health.ts'
import * as legalHold from './legal-hold.ts'
import * as reasons from './reasons.ts'
import * as reviewRequests from './review-requests.ts'
import * as reviewer from './reviewer.ts'
import * as session from './session.ts'
import * as webhook from './webhook.ts'

const Problem = Type.Object({
  type: Type.String(),
  title: Type.String(),
  status: Type.Integer(),
  code: Type.Enum(Object.keys(ERRORS)),
  detail: Type.String(),
  budget: Type.Optional(Type.String({ description: 'The exhausted budget (code `over_budget`).' })),
  errors: Type.Optional(
    Type.Array(Type.Object({ pointer: Type.String({ description: 'RFC 6901' }), message: Type.String() })),
  ),
})

/** A schema or a part of a schema, in its written form. */
type Written = Readonly<Record<string, unknown>>

const WHOLE = JSON.parse(
  JSON.stringify({
    ...schemasOf(agent),
    ...schemasOf(reviewRequests),
    ...schemasOf(reasons),
    ...schemasOf(display),
    ...schemasOf(precedents),
    ...schemasOf(reviewer),
    ...schemasOf(session),
    ...schemasOf(chat),
    ...schemasOf(webhook),
    ...schemasOf(erasure),
    ...schemasOf(freeze),
    ...schemasOf(legalHold),
    ...schemasOf(agentList),
    ...schemasOf(checkpoint),
    ...schemasOf(admin),
    Problem,
    ...schemasOf(health),
  }),
) as Readonly<Record<string, Written>>

/** Every exported schema of a module, by its name. */
function schemasOf(module: object): Record<string, TSchema> {
  return module as Record<string, TSchema>
}

const NAMES = new Map(Object.entries(WHOLE).map(([name, schema]) => [withoutDescription(schema), name]))

function withoutDescription(schema: Written): string {
  return JSON.stringify({ ...schema, description: undefined })
}

export const referTo = (name: string): Written => ({ $ref: `#/components/schemas/${name}` })

/**
 * Returns the value with references that replace the parts that equal a named schema. Such a part keeps its own
 * description.
 */
function referring(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(referring)
  if (value === null || typeof value !== 'object') return value
  const part = value as Written
  const name = NAMES.get(withoutDescription(part))
  if (name === undefined) return membersOf(part)
  const { description } = part
  return { ...referTo(name), ...(description === WHOLE[name]?.['description'] ? {} : { description }) }
}

const membersOf = (part: Written): Written =>
  Object.fromEntries(Object.entries(part).map(([key, member]) => [key, referring(member)]))

export const SCHEMAS: Readonly<Record<string, Written>> = Object.fromEntries(
  Object.entries(WHOLE).map(([name, schema]) => [name, membersOf(schema)]),
)
