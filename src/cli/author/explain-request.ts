import { readFileSync } from 'node:fs'
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import { parseRequest } from '../../contract/strict-json.ts'
import type { ExplainRequest } from '../../contract/admin.ts'
import { showHidden } from '../../policy/text/text.ts'
import { usage } from '../terminal/failure.ts'
import { inputOf } from '../terminal/input.ts'
import { PACKAGE_ROOT } from '../../system/package.ts'

/**
 * The schema that the gateway applies to `POST /api/admin/policies/explain`, so that the same request works in both.
 */
const DOCUMENT = new URL('schemas/openapi.json', PACKAGE_ROOT)

/**
 * Reads the request from a file or standard input.
 *
 * @throws CliFailure that names every faulty member
 */
export async function readRequest(file: string): Promise<ExplainRequest> {
  const request = parse(file, await inputOf(file))
  const problems = problemsOf(request)
  if (problems.length > 0) throw usage(`\`${file}\` is not a request to explain: ${problems.join('; ')}`)
  return request as ExplainRequest
}

/**
 * Parses the body like the gateway, because a body that the gateway would refuse must not be explained like a decided
 * call.
 */
function parse(file: string, content: Uint8Array): unknown {
  try {
    return parseRequest(content, { longTextsIn: 'payload' })
  } catch (cause) {
    const why = showHidden((cause as Error).message).replaceAll(/\s+/g, ' ')
    throw usage(`\`${file}\` is not JSON that the gateway accepts: ${why}`)
  }
}

function problemsOf(request: unknown): readonly string[] {
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    // callOfRequest parses the time, which is the only member with a format
    validateFormats: false,
    meta: false,
    validateSchema: false,
    ownProperties: true,
  })
  ajv.addSchema(JSON.parse(readFileSync(DOCUMENT, 'utf8')) as object, 'api')
  const fits = ajv.compile({ $ref: 'api#/components/schemas/ExplainRequest' })
  return fits(request) ? [] : (fits.errors ?? []).map(describe)
}

/** Describes an error. The path of a member; a missing or additional member has its own name in the path. */
function describe({ keyword, instancePath, params, message }: ErrorObject): string {
  const { additionalProperty, missingProperty, allowedValues } = params as {
    additionalProperty?: string
    missingProperty?: string
    allowedValues?: readonly unknown[]
  }
  const member = additionalProperty ?? missingProperty
  const path = [...instancePath.split('/').slice(1), ...(member === undefined ? [] : [member])].join('.')
  const name = path === '' ? 'it' : `\`${showHidden(path).replaceAll(/\s/g, ' ')}\``
  if (keyword === 'additionalProperties') return `${name} is not a member of it`
  if (keyword === 'required') return `${name} is missing`
  if (keyword === 'enum') return `${name} must be one of ${allowedValues?.join(', ') ?? ''}`
  if (keyword === 'pattern' && path === 'agent') return `${name} must be TENANT/AGENT`
  return `${name} ${message ?? 'does not fit'}`
}
