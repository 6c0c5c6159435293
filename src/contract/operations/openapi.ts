/** The OpenAPI 3.1 document, made from the declarations in this folder. Run `npm run schemas` after a change. */
import { type ErrorCode, ERRORS } from '../errors.ts'
import type { Access, Answer, Header, Operation, RequestHeader } from '../operation.ts'
import { referTo, SCHEMAS } from '../openapi-schemas.ts'
import { LIMITS } from '../limits.ts'
import { OPERATIONS } from './operations.ts'

const ADMIN_KEY = { adminKey: [] }
const REVIEWER = [{ reviewerKey: [] }, { session: [], page: [] }]

/** The credentials of each access, one of which is enough. */
const SECURITY: Readonly<Record<Access, readonly object[]>> = {
  agent: [{ agentKey: [] }],
  reviewer: REVIEWER,
  admin: [ADMIN_KEY, ...REVIEWER],
  adminKey: [ADMIN_KEY],
  adminOrReviewer: [ADMIN_KEY, ...REVIEWER],
  page: [],
  public: [],
}

const PLANE_OF: Readonly<Record<Access, keyof typeof PLANES>> = {
  agent: 'agent',
  reviewer: 'review',
  admin: 'admin',
  adminKey: 'admin',
  adminOrReviewer: 'admin',
  page: 'public',
  public: 'public',
}

const PLANES = {
  agent: 'Agents propose calls, wait for decisions, and redeem proofs (docs/agent-api.md).',
  review: 'Reviewers read the waiting calls, and decide.',
  admin: 'Administrators issue keys, freeze, manage webhooks, inspect policies, and export evidence.',
  public: 'These operations need no key and no session.',
  webhook: 'Messages that webhooks receive.',
}

const HEADERS: Readonly<Record<RequestHeader, Header>> = {
  idempotencyKey: {
    name: 'Idempotency-Key',
    description: `1 to ${LIMITS.IDEMPOTENCY_KEY_CHARS} visible ASCII characters. A retry with the same key gets the first answer.`,
  },
  wait: {
    name: 'Prefer',
    description: `\`wait=N\` (RFC 7240) holds the poll up to N <= ${LIMITS.WAIT_SECONDS} seconds while the thread is \`pending_review\`.`,
  },
  ifMatch: { name: 'If-Match', description: 'The ETag of the thread that you looked at.' },
  unattended: {
    name: 'Countersign-Unattended',
    description:
      'Any value. Marks a request that a page sends by itself. It does not keep the session alive.',
  },
  lastEventId: {
    name: 'Last-Event-ID',
    description: 'Id of the last received event. The stream continues after it.',
  },
}

const DELIVERY_HEADERS: readonly Header[] = [
  { name: 'webhook-id', description: 'Id of the delivery, the same on every try.' },
  { name: 'webhook-timestamp', description: 'Time of the try, in seconds since 1970.' },
  {
    name: 'webhook-signature',
    description: 'Standard Webhooks 1.0.0: `v1,` and base64. Several during a rotation.',
  },
  { name: 'X-Guard-Signature', description: '`sha256=` and hex: HMAC-SHA256 of the raw body.' },
]

export function openApiDocument(version: string): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const [id, operation] of Object.entries<Operation>(OPERATIONS)) {
    const method = operation.method.toLowerCase()
    paths[operation.path] = { ...paths[operation.path], [method]: operationObject(id, operation) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Countersign',
      version,
      description:
        'Approval gateway for AI agents. Execute only on `allow`, or on `approved` with a redeemed proof.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The gateway that served this document.' }],
    tags: Object.entries(PLANES).map(([name, description]) => ({ name, description })),
    paths,
    webhooks: {
      decision: { post: webhookObject('delivery', 'WebhookBody', 'An event, for a webhook') },
      chat: {
        post: webhookObject('chatLine', 'WebhookChatBody', 'An event as a chat message'),
      },
      teams: {
        post: webhookObject('teamsCard', 'WebhookTeamsBody', 'An event as a Microsoft Teams card'),
      },
    },
    components: {
      schemas: SCHEMAS,
      securitySchemes: {
        agentKey: { type: 'http', scheme: 'bearer', description: 'csk_<tenant>_...' },
        reviewerKey: { type: 'http', scheme: 'bearer', description: 'csr_<tenant>_...' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: '__Host-countersign',
          description:
            "Set by signing in. The cookie proves nothing without `page`. Requests that change something must come from the gateway's own pages.",
        },
        page: {
          type: 'apiKey',
          in: 'header',
          name: 'Countersign-Page',
          description: 'csp_<tenant>_...: the `page_secret` from the answer to the sign-in.',
        },
        adminKey: { type: 'http', scheme: 'bearer', description: 'COUNTERSIGN_ADMIN_KEY' },
      },
    },
  }
}

function operationObject(id: string, operation: Operation): object {
  const plane = PLANE_OF[operation.access]
  return {
    operationId: id,
    summary: operation.summary,
    tags: [plane],
    security: SECURITY[operation.access],
    parameters: parametersOf({
      ...operation,
      headers: (operation.headers ?? []).map((header) => HEADERS[header]),
    }),
    ...(operation.body === undefined
      ? {}
      : {
          requestBody: {
            required: operation.bodyIsOptional !== true,
            content: { 'application/json': { schema: referTo(operation.body) } },
          },
        }),
    responses: { ...answersOf(operation), ...problemsOf(operation) },
  }
}

interface Parameters {
  readonly path: string
  readonly query?: string
  readonly headers: readonly Header[]
}

function parametersOf(operation: Parameters): object[] {
  const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
  const path = names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
  const headers = operation.headers.map((header) => ({
    ...header,
    in: 'header',
    schema: { type: 'string' },
  }))
  return [...path, ...queryOf(operation.query), ...headers]
}

function queryOf(name: string | undefined): object[] {
  const schema =
    name === undefined ? undefined : (SCHEMAS[name] as { properties?: object; required?: string[] })
  return Object.entries(schema?.properties ?? {}).map(([member, of]) => ({
    name: member,
    in: 'query',
    required: schema?.required?.includes(member) === true,
    schema: of as object,
  }))
}

function answersOf(operation: Operation): Record<string, object> {
  const given = (operation.answerHeaders ?? []).map(({ name, description }) => [
    name,
    { description, schema: { type: 'string' } },
  ])
  const headers = given.length === 0 ? {} : { headers: Object.fromEntries(given) as object }
  const entries = Object.entries(operation.answers)
  return Object.fromEntries(
    entries.map(([status, answer]) => [
      status,
      { description: operation.summary, ...headers, ...contentOf(answer) },
    ]),
  )
}

function contentOf(answer: Answer): object {
  if (answer === null) return {}
  if (typeof answer === 'string') return { content: { 'application/json': { schema: referTo(answer) } } }
  const { media, description } = answer
  return { content: { [media]: { schema: { description } } } }
}

/** The entry of `webhooks` for a message (docs/webhooks.md). */
function webhookObject(id: string, body: string, summary: string): object {
  return {
    operationId: id,
    summary,
    description:
      'Delivered at least once, with the same id on every try. Check the signature on the raw body before you parse it (docs/webhooks.md).',
    tags: ['webhook'],
    security: [],
    parameters: parametersOf({ path: '', headers: DELIVERY_HEADERS }),
    requestBody: { required: true, content: { 'application/json': { schema: referTo(body) } } },
    responses: {
      '2XX': { description: 'Delivered.' },
      410: { description: 'The webhook gets no more deliveries until an administrator resumes it.' },
      default: { description: 'The gateway tries again later, and respects `Retry-After`.' },
    },
  }
}

const OF_BODIES: readonly ErrorCode[] = ['invalid_json', 'body_too_large', 'unsupported_media_type']

/** Codes for every caller, because each request takes a place. */
const OF_PLACES: readonly ErrorCode[] = ['rate_limited', 'overloaded', 'shutting_down']
const OF_REVIEWERS: readonly ErrorCode[] = [
  'unauthenticated',
  'foreign_origin',
  'store_unavailable',
  'not_ready',
  ...OF_PLACES,
]

const OF_CALLERS: Readonly<Record<Access, readonly ErrorCode[]>> = {
  agent: ['unauthenticated', 'store_unavailable', ...OF_PLACES],
  reviewer: OF_REVIEWERS,
  admin: ['not_permitted', ...OF_REVIEWERS],
  adminKey: ['not_permitted', ...OF_REVIEWERS],
  adminOrReviewer: OF_REVIEWERS,
  page: ['foreign_origin', ...OF_PLACES],
  public: OF_PLACES,
}

/**
 * The error codes of an operation: its own, and those that follow from its access, path, body and query. The gateway
 * reads a body even if the operation has none. The gateway refuses a session's cookie on requests from foreign pages,
 * and gives every caller a share of the queue.
 */
export function refusalsOf({
  method,
  path,
  access,
  admission,
  body,
  query,
  lenient = false,
  refusals,
}: Operation): readonly ErrorCode[] {
  const callers = admission === 'none' ? [] : OF_CALLERS[access]
  const bodies = method === 'GET' || lenient ? [] : OF_BODIES
  const isChecked = body !== undefined || query !== undefined || path.includes('{taskID}')
  const forms: readonly ErrorCode[] = isChecked && !lenient ? ['invalid_request'] : []
  const all = new Set([...callers, ...bodies, ...forms, ...refusals])
  return CODES.filter((code) => all.has(code))
}

const CODES = Object.keys(ERRORS) as readonly ErrorCode[]

/** Codes that every request can get: requests that cannot be read or are incomplete, and the gateway's own errors. */
const OF_ANY_REQUEST: readonly ErrorCode[] = [
  'invalid_request',
  'request_timeout',
  'expectation_failed',
  'header_too_large',
  'internal',
]

function problemsOf(operation: Operation): Record<string, object> {
  const content = { 'application/problem+json': { schema: referTo('Problem') } }
  const of = (codes: readonly ErrorCode[]): object => ({ description: codes.join(', '), content })
  const codes = refusalsOf(operation)
  const statuses = new Set(codes.map((code) => ERRORS[code].status))
  const named = [...statuses].map((status) => [
    status,
    of(codes.filter((code) => ERRORS[code].status === status)),
  ])
  return { ...Object.fromEntries(named), default: of(OF_ANY_REQUEST) }
}
