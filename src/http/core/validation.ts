import { pointerStep } from '../../contract/json.ts'
import { readFileSync } from 'node:fs'
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import type { ComponentName, Components } from '../../contract/components.ts'
import { type FieldError, GatewayError } from '../../contract/errors.ts'
import { PACKAGE_ROOT } from '../../system/package.ts'

/**
 * The running gateway validates requests with the document that it publishes (schemas/openapi.json, generated from
 * src/contract). Validation does not coerce, remove or fill in values.
 */
const DOCUMENT = new URL('schemas/openapi.json', PACKAGE_ROOT)
const MAX_ERRORS = 20

export interface Schemas {
  /** The text of the OpenAPI document, as served. */
  readonly document: string
  /**
   * Returns the value with the type of this component.
   *
   * @throws GatewayError `invalid_request` with JSON Pointers below `prefix`
   */
  parse<Name extends ComponentName>(name: Name, value: unknown, prefix?: string): Components[Name]
  /** Returns the value like `parse`, but undefined for a value that does not fit. */
  fits<Name extends ComponentName>(name: Name, value: unknown): Components[Name] | undefined
}

let loaded: Schemas | undefined

/** The schemas of this package. A process reads them once, and compiles each when it first needs it. */
export const packageSchemas = (): Schemas => (loaded ??= loadSchemas())

function loadSchemas(): Schemas {
  const document = readFileSync(DOCUMENT, 'utf8')
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    coerceTypes: false,
    removeAdditional: false,
    useDefaults: false,
    validateFormats: false,
    // skips the meta-schema, which would take 50 ms to compile at every start; a test checks the document
    meta: false,
    validateSchema: false,
  })
  ajv.addSchema(JSON.parse(document) as object, 'api')
  const compiled = new Map<string, ValidateFunction>()
  const validator = (name: ComponentName): ValidateFunction => {
    const known = compiled.get(name)
    if (known) return known
    const validate = ajv.compile({ $ref: `api#/components/schemas/${name}` })
    compiled.set(name, validate)
    return validate
  }
  return {
    document,
    parse: <Name extends ComponentName>(name: Name, value: unknown, prefix = '') => {
      const validate = validator(name)
      if (validate(value)) return value as Components[Name]
      throw new GatewayError('invalid_request', 'the request does not fit the contract', {
        errors: fieldErrors(validate.errors ?? [], prefix),
      })
    },
    fits: <Name extends ComponentName>(name: Name, value: unknown) =>
      validator(name)(value) ? (value as Components[Name]) : undefined,
  }
}

function fieldErrors(errors: readonly ErrorObject[], prefix: string): FieldError[] {
  return errors.slice(0, MAX_ERRORS).map((error) => ({
    pointer: prefix + error.instancePath + memberOf(error),
    message: messageOf(error),
  }))
}

/** For a missing or additional member, the pointer refers to that member. */
function memberOf(error: ErrorObject): string {
  const { additionalProperty, missingProperty } = error.params as Record<string, string | undefined>
  const member = additionalProperty ?? missingProperty
  return member === undefined ? '' : pointerStep(member)
}

function messageOf(error: ErrorObject): string {
  const params = error.params as Record<string, unknown>
  if (error.keyword === 'additionalProperties') return 'is not a property of the contract'
  if (error.keyword === 'required') return 'is required'
  if (error.keyword === 'enum') return `must be one of ${(params['allowedValues'] as unknown[]).join(', ')}`
  return error.message ?? 'does not fit'
}
