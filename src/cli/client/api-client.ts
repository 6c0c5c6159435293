import { readFileSync } from 'node:fs'
import type { FieldError, Problem } from '../../contract/errors.ts'
import { type Answered, type Asked, type Media, type Operation, pathTo } from '../../contract/operation.ts'
import { OPERATIONS } from '../../contract/operations/operations.ts'
import type { Reach } from './credentials.ts'
import { PACKAGE_ROOT } from '../../system/package.ts'
import { CliFailure, usage } from '../terminal/failure.ts'
import { visible } from '../terminal/visible-text.ts'

/** The public API of a running gateway, one function for each operation. */
export type Api = {
  readonly [Id in keyof Table]: (
    ...asked: object extends Asked<Table[Id]> ? [asked?: Options] : [asked: Asked<Table[Id]> & Options]
  ) => Promise<ResultOf<Table[Id]>>
}

type Table = typeof OPERATIONS

interface Options {
  /** For slow operations. */
  readonly timeoutMs?: number
}

/** The result: a JSON body, a stream of bytes, or nothing for an empty answer. */
type ResultOf<O extends Operation> = O['answers'][keyof O['answers']] extends Media
  ? AsyncIterable<Uint8Array>
  : Answered<O>

interface Call extends Options {
  readonly params?: object
  readonly query?: object
  readonly body?: object
}

const NO_CONTENT = 204
const TIMEOUT_MS = 15_000
/** Time limit for an export, ms, which is the maximum time of a page. */
const STREAM_TIMEOUT_MS = 600_000

/**
 * Creates the API.
 *
 * @throws CliFailure for an invalid address. The functions throw CliFailure for a refusal, a missing answer, and an
 * unexpected answer.
 */
export function createApi({ url, key }: Reach): Api {
  const base = baseOf(url)
  const call = async (operation: Operation, asked: Call = {}): Promise<unknown> => {
    const { method, answers } = operation
    const [answer = null] = Object.values(answers)
    const isStream = answer !== null && typeof answer === 'object'
    const { body, timeoutMs = isStream ? STREAM_TIMEOUT_MS : TIMEOUT_MS } = asked
    const init: RequestInit = {
      method,
      headers: {
        authorization: `Bearer ${checkedKey(key)}`,
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      // a redirected POST becomes a GET, whose answer belongs to another request
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
      ...(body ? { body: JSON.stringify(body) } : {}),
    }
    const response = await fetch(base + pathTo(operation, asked), init).catch((cause: unknown) => {
      throw silent(url, { method, timeoutMs }, cause)
    })
    if (!response.ok) throw await refusal(response, url)
    return isStream ? bytesOf(response, answer, url) : bodyOf(response, answer, url)
  }
  const operations = Object.entries<Operation>(OPERATIONS)
  return Object.fromEntries(
    operations.map(([id, operation]) => [id, (asked?: Call) => call(operation, asked)]),
  ) as unknown as Api
}

/** The checked body. Other programs may answer every request with 200 and JSON, without any effect. */
async function bodyOf(response: Response, component: string | null, url: string): Promise<unknown> {
  if (component === null) {
    // a bare 200 does not prove that a key was revoked
    if (response.status !== NO_CONTENT) throw foreign(response, url)
    return undefined
  }
  const answer = objectIn(await textOf(response, url))
  const isOurs = answer !== undefined && requiredOf(component).some((member) => Object.hasOwn(answer, member))
  if (!isOurs) throw foreign(response, url)
  return answer
}

function bytesOf(response: Response, { media }: Media, url: string): AsyncIterable<Uint8Array> {
  const [type] = (response.headers.get('content-type') ?? '').split(';')
  if (type !== media) throw foreign(response, url)
  return streamOf(response, url)
}

interface Document {
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly required?: readonly string[] }>>
  }
}

/** The required members of the gateway's answer. */
function requiredOf(component: string): readonly string[] {
  const text = readFileSync(new URL('schemas/openapi.json', PACKAGE_ROOT), 'utf8')
  const { components } = JSON.parse(text) as Document
  return components.schemas[component]?.required ?? []
}

/**
 * The base address with its path, which a proxy may need, as in the SDK and the Python client. Refuses credentials in
 * the address, because they would appear in every message and fetch does not accept them.
 */
export function baseOf(url: string): string {
  const {
    protocol = '',
    username = '',
    password = '',
    search = '',
    hash = '',
  } = URL.canParse(url) ? new URL(url) : {}
  if (!/^https?:$/.test(protocol) || `${username}${password}${search}${hash}` !== '')
    throw usage(
      'the address of the gateway is not an http or https address, or holds credentials or a query',
      'such as http://127.0.0.1:8787, in --url or COUNTERSIGN_URL',
    )
  return url.trim().replace(/\/+$/, '')
}

/** The checked key. Refuses text that a header cannot contain, because fetch's error would show the text. */
function checkedKey(key: string): string {
  if (!/^[\t -~]+$/.test(key.trim()))
    throw usage('the key contains invalid characters', 'check the variable that holds it')
  return key.trim()
}

interface Unanswered {
  readonly method: string
  readonly timeoutMs: number
}

/** Errors without a connection, so that no request was sent. Errors without a code come from fetch's own refusal. */
const UNREACHED =
  /^(|ECONNREFUSED|ENOTFOUND|EAI_\w+|E(HOST|NET)UNREACH|UND_ERR_CONNECT_TIMEOUT|EPROTO|ERR_SSL_\w+)$/
const DISTRUSTED = /CERT|SIGNATURE/

/**
 * The failure for a missing answer. For an unreachable gateway, the hint names a remedy on its side; for an untrusted
 * gateway, a remedy on this side. In other cases the outcome is unknown.
 */
function silent(url: string, { method, timeoutMs }: Unanswered, error: unknown): CliFailure {
  const { code = '', message, name } = ((error as Error).cause ?? error) as NodeJS.ErrnoException
  const why = name === 'TimeoutError' ? `within ${timeoutMs / 1_000} s` : `(${code || message})`
  return new CliFailure(`no answer from the gateway at ${url} ${why}`, {
    hint: hintFor(method, code),
    cause: error,
  })
}

function hintFor(method: string, code: string): string {
  if (DISTRUSTED.test(code))
    return 'this machine does not accept its certificate: set NODE_EXTRA_CA_CERTS to a file with the authority that signed it'
  if (method !== 'GET' && !UNREACHED.test(code))
    return 'the request may have succeeded: check before you repeat it'
  return 'start it with `countersign serve`, or name another with --url or COUNTERSIGN_URL'
}

function textOf(response: Response, url: string): Promise<string> {
  return response.text().catch((cause: unknown) => {
    throw brokenOff(url, cause)
  })
}

const brokenOff = (url: string, cause: unknown, hint?: string): CliFailure =>
  new CliFailure(`the answer of the gateway at ${url} ended early`, { cause, hint })

/** Undefined unless the text is a JSON object. */
function objectIn(text: string): object | undefined {
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

const foreign = ({ status, headers }: Response, url: string): CliFailure => {
  const location = headers.get('location')
  const said = location === null ? `status ${status}` : `status ${status}, to ${visible(location)}`
  return new CliFailure(
    `the program that answers at ${url} is not a gateway, or is a proxy in front of one: ${said}`,
    {
      hint: 'name the gateway with --url or COUNTERSIGN_URL',
    },
  )
}

/** The failure for a problem document (RFC 9457). Members of a wrong type are ignored. */
async function refusal(response: Response, url: string): Promise<CliFailure> {
  const problem = objectIn(await textOf(response, url)) as Partial<Record<keyof Problem, unknown>> | undefined
  const { code, title = code, detail = title, errors = [] } = problem ?? {}
  if (![code, title, detail].every(isText) || !Array.isArray(errors) || !errors.every(isPlace))
    return foreign(response, url)
  const [known, named, detailed] = [code, title, detail] as [string, string, string]
  const places = errors.map(({ pointer, message }) => `  ${pointer} ${message}`)
  // some refusals have no detail beyond their title
  const said = detailed.toLowerCase() === named.toLowerCase() ? named : `${named}: ${detailed}`
  const hint = HINTS.get(known)
  return new CliFailure([said, ...places].join('\n'), { hint, code: known })
}

const isText = (value: unknown): value is string => typeof value === 'string'

function isPlace(one: unknown): one is FieldError {
  const { pointer, message } = (one ?? {}) as Partial<Record<keyof FieldError, unknown>>
  return isText(pointer) && isText(message)
}

const HINTS: ReadonlyMap<string, string> = new Map([
  ['unauthenticated', 'the key is missing, revoked, or of another kind (admin, reviewer, agent)'],
  [
    'sign_in_required',
    'sign in to the console: an administrator prints a link with `countersign login-link TENANT/NAME`',
  ],
  ['stale_revision', 'the agent has revised its call: `countersign review show` it again'],
])

async function* streamOf({ body }: Response, url: string): AsyncGenerator<Uint8Array> {
  try {
    if (body !== null) for await (const chunk of body) yield chunk
  } catch (cause) {
    // fails, because an interrupted output must not look complete
    throw brokenOff(url, cause, 'the printed output is incomplete: discard it, and try again')
  }
}
