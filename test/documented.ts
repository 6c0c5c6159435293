import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { expect } from 'vitest'

/** Checks every answer of a test against schemas/openapi.json. An unknown status or member fails the test. */

interface Operation {
  readonly responses: Readonly<
    Record<string, { description: string; content?: Record<string, { schema: { $ref?: string } }> }>
  >
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: unknown
}

const text = readFileSync(new URL('../schemas/openapi.json', import.meta.url), 'utf8')
const document = JSON.parse(text) as Document
const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
ajv.addSchema({ $id: 'api', ...(closed(document) as object) })

const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    method: method.toUpperCase(),
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+').replaceAll('.', '\\.')}$`),
    operation,
  })),
)
const compiled = new Map<string, ValidateFunction>()

/** Objects with named members, and nothing else said, have these members only. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed)
  if (value === null || typeof value !== 'object') return value
  const copy = Object.fromEntries(Object.entries(value).map(([key, member]) => [key, closed(member)]))
  const named = copy['type'] === 'object' && Object.keys((copy['properties'] as object) ?? {}).length > 0
  return named && !('additionalProperties' in copy) ? { ...copy, additionalProperties: false } : copy
}

export function checkDocumented(
  method: string,
  path: string,
  answer: { readonly status: number; readonly body: unknown },
): void {
  const route = routes.find((one) => one.method === method && one.pattern.test(path))
  // A method or path that is not ours, and the refusals that may come before any route.
  if (route === undefined || (answer.body as { code?: string } | undefined)?.code === 'internal') return
  const response = route.operation.responses[answer.status]
  const { code } = (answer.body ?? {}) as { code?: string }
  const isError = answer.status >= 400 && code !== undefined
  const named = `${response?.description}, ${isError ? route.operation.responses['default']?.description : ''}`
  expect(
    isError ? named.split(', ') : response,
    `${method} ${path} answers ${answer.status} ${code ?? ''}, which openapi.json does not name`,
  ).toEqual(isError ? expect.arrayContaining([code]) : expect.anything())
  const reference = Object.values(response?.content ?? {})[0]?.schema.$ref
  if (reference !== undefined) expectFits(reference, answer.body)
}

/** Checks bodies that the gateway sends without a request: deliveries, and changes of threads. */
export function checkComponent(
  name: 'WebhookBody' | 'WebhookChatBody' | 'WebhookTeamsBody' | 'ThreadChange',
  value: unknown,
): void {
  expectFits(`#/components/schemas/${name}`, value)
}

function expectFits(reference: string, value: unknown): void {
  const validate = compiled.get(reference) ?? ajv.compile({ $ref: `api${reference}` })
  compiled.set(reference, validate)
  const fits = validate(value)
  expect(fits ? [] : validate.errors?.map((one) => [one.instancePath, one.message, one.params])).toEqual([])
}
