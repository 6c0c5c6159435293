/** The OpenAPI 3.1 document, made from the declarations in this folder. Run `npm run schemas` after a change. */
import { Type, type TSchema } from 'typebox'
import * as admin from './admin.ts'
import * as agent from './agent.ts'
import { ERRORS } from './errors.ts'
import { LIMITS } from './limits.ts'
import * as reviewer from './reviewer.ts'
import * as session from './session.ts'

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
  ...schemasOf(admin),
  Problem,
  Readiness,
}

/** Every exported schema of a module, by its name. */
function schemasOf(module: object): Record<string, TSchema> {
  return module as Record<string, TSchema>
}

interface Operation {
  readonly method: 'get' | 'post' | 'delete'
  readonly path: string
  readonly id: string
  readonly plane: 'agent' | 'review' | 'admin' | 'public'
  readonly summary: string
  readonly query?: string
  readonly body?: string
  readonly headers?: readonly Header[]
  /** Status -> component, or null for no JSON body. */
  readonly answers: Readonly<Record<number, string | null>>
  readonly refusals: readonly number[]
}

interface Header {
  readonly name: string
  readonly description: string
}

const IDEMPOTENCY: Header = {
  name: 'Idempotency-Key',
  description: `1 to ${LIMITS.IDEMPOTENCY_KEY_CHARS} visible ASCII characters; a retry under the same key gets the first answer.`,
}
const PREFER: Header = {
  name: 'Prefer',
  description: `\`wait=N\` (RFC 7240) holds the poll up to N <= ${LIMITS.WAIT_SECONDS} seconds while the thread is pending_review.`,
}
const LAST_EVENT_ID: Header = {
  name: 'Last-Event-ID',
  description: 'Number of the last event that was seen: what came after it follows.',
}
const IF_MATCH: Header = { name: 'If-Match', description: 'The ETag of the thread you looked at.' }

const OPERATIONS: readonly Operation[] = [
  {
    method: 'post',
    path: '/api/agent/tasks/{taskID}/requests',
    id: 'submit',
    plane: 'agent',
    summary: 'Evaluate a proposed tool call',
    body: 'DecisionRequest',
    headers: [IDEMPOTENCY],
    answers: { 200: 'Decision' },
    refusals: [400, 401, 413, 415, 422, 429, 503],
  },
  {
    method: 'get',
    path: '/api/agent/decisions',
    id: 'poll',
    plane: 'agent',
    summary: 'Read the decision on a thread; the first approved read carries the approval token',
    query: 'PollQuery',
    headers: [PREFER],
    answers: { 200: 'Decision' },
    refusals: [400, 401, 404, 429, 503],
  },
  {
    method: 'post',
    path: '/api/agent/approvals/validate',
    id: 'validate',
    plane: 'agent',
    summary: 'Redeem an approval token exactly once; inspect `valid`, the status alone is never approval',
    body: 'ApprovalValidationRequest',
    answers: { 200: 'ApprovalValidationResult' },
    refusals: [401, 429, 503],
  },
  {
    method: 'post',
    path: '/api/agent/tasks/{taskID}/events',
    id: 'record',
    plane: 'agent',
    summary: 'Log evidence, or submit a revision of the action under review',
    body: 'AgentEvent',
    answers: { 201: 'EventReceipt' },
    refusals: [400, 401, 409, 413, 415, 429, 503],
  },
  {
    method: 'post',
    path: '/api/agent/tools/resolve',
    id: 'resolve',
    plane: 'agent',
    summary: 'The contracts of the tools that this agent may use',
    body: 'ResolveRequest',
    answers: { 200: 'ResolveResult' },
    refusals: [400, 401, 413, 415, 429],
  },
  {
    method: 'get',
    path: '/api/review/me',
    id: 'me',
    plane: 'review',
    summary: 'Who I am and what I may decide',
    answers: { 200: 'Me' },
    refusals: [401],
  },
  {
    method: 'get',
    path: '/api/review/threads',
    id: 'listThreads',
    plane: 'review',
    summary: 'Threads of the tenant: waiting ones oldest first, others newest first',
    query: 'ThreadsQuery',
    answers: { 200: 'ThreadList' },
    refusals: [400, 401, 503],
  },
  {
    method: 'get',
    path: '/api/review/threads/{thread_id}',
    id: 'showThread',
    plane: 'review',
    summary: 'Everything a reviewer decides on; the ETag names the revision that is shown',
    answers: { 200: 'ThreadView' },
    refusals: [401, 404, 503],
  },
  {
    method: 'post',
    path: '/api/review/threads/{thread_id}/votes',
    id: 'vote',
    plane: 'review',
    summary: 'Approve, reject or request changes',
    body: 'VoteRequest',
    headers: [IF_MATCH],
    answers: { 200: 'ThreadView' },
    refusals: [400, 401, 403, 404, 409, 412, 413, 415, 428, 503],
  },
  {
    method: 'post',
    path: '/api/review/threads/{thread_id}/comments',
    id: 'comment',
    plane: 'review',
    summary: 'Say something about a thread; changes no decision',
    body: 'CommentRequest',
    answers: { 201: 'ThreadView' },
    refusals: [400, 401, 403, 404, 409, 413, 415, 503],
  },
  {
    method: 'post',
    path: '/api/review/threads/{thread_id}/claim',
    id: 'claim',
    plane: 'review',
    summary: 'Tell the others that I am looking at it; ends by itself',
    body: 'ClaimRequest',
    answers: { 200: 'ThreadView' },
    refusals: [400, 401, 403, 404, 409, 413, 415, 503],
  },
  {
    method: 'post',
    path: '/api/review/threads/{thread_id}/release',
    id: 'release',
    plane: 'review',
    summary: 'End my claim',
    answers: { 200: 'ThreadView' },
    refusals: [401, 403, 404, 503],
  },
  {
    method: 'post',
    path: '/api/review/threads/{thread_id}/reveal',
    id: 'reveal',
    plane: 'review',
    summary: 'The payload of a revision with its sensitive values; recorded',
    body: 'RevealRequest',
    answers: { 200: 'Revealed' },
    refusals: [400, 401, 403, 404, 413, 415, 503],
  },
  {
    method: 'get',
    path: '/api/review/threads/{thread_id}/images/{revision}/{index}',
    id: 'image',
    plane: 'review',
    summary: 'A checked image of a revision, counted from 0',
    answers: { 200: null },
    refusals: [401, 404, 503],
  },
  {
    method: 'get',
    path: '/api/review/counts',
    id: 'countThreads',
    plane: 'review',
    summary: 'How many threads wait',
    answers: { 200: 'ThreadCounts' },
    refusals: [401, 503],
  },
  {
    method: 'get',
    path: '/api/review/agents',
    id: 'listAgents',
    plane: 'review',
    summary: 'The agents of the tenant and who answers for them',
    answers: { 200: 'AgentList' },
    refusals: [401, 503],
  },
  {
    method: 'get',
    path: '/api/review/stream',
    id: 'stream',
    plane: 'review',
    summary:
      'Server-sent events: `thread` (ThreadChange) for each change, `reset` when too much was missed, `signed_out` at the end of the session',
    headers: [LAST_EVENT_ID],
    answers: { 200: null },
    refusals: [400, 401, 429, 503],
  },
  {
    method: 'get',
    path: '/api/review/session',
    id: 'signInOptions',
    plane: 'public',
    summary: 'How one signs in here',
    answers: { 200: 'SignInOptions' },
    refusals: [503],
  },
  {
    method: 'post',
    path: '/api/review/session',
    id: 'signIn',
    plane: 'public',
    summary: 'Sign in by a one-time link',
    body: 'SignIn',
    answers: { 200: 'Me' },
    refusals: [400, 401, 403, 413, 415, 429, 503],
  },
  {
    method: 'delete',
    path: '/api/review/session',
    id: 'signOut',
    plane: 'review',
    summary: 'Sign out, here or everywhere',
    query: 'SignOutQuery',
    answers: { 204: null },
    refusals: [400, 401, 403, 503],
  },
  {
    method: 'get',
    path: '/api/review/oidc/start',
    id: 'startSingleSignOn',
    plane: 'public',
    summary: 'Go to the identity provider (OpenID Connect, code flow with PKCE)',
    answers: { 302: null },
    refusals: [404, 429, 503],
  },
  {
    method: 'get',
    path: '/api/review/oidc/callback',
    id: 'endSingleSignOn',
    plane: 'public',
    summary:
      'Where the identity provider sends people back to: signed in, or with a reason to the sign-in page',
    answers: { 303: null },
    refusals: [404, 429, 503],
  },
  {
    method: 'post',
    path: '/api/admin/reviewers/{tenant}/{id}/login-link',
    id: 'issueLoginLink',
    plane: 'admin',
    summary: 'A link that signs the reviewer in once, within ten minutes',
    answers: { 201: 'LoginLink' },
    refusals: [401, 403, 404, 503],
  },
  {
    method: 'delete',
    path: '/api/admin/reviewers/{tenant}/{id}/sessions',
    id: 'endSessions',
    plane: 'admin',
    summary: 'Sign the reviewer out everywhere',
    answers: { 204: null },
    refusals: [401, 403, 404, 503],
  },
  ...(['agent', 'reviewer'] as const).flatMap((kind): Operation[] => [
    {
      method: 'post',
      path: `/api/admin/${kind}s/{tenant}/{id}/key`,
      id: `issue_${kind}_key`,
      plane: 'admin',
      summary:
        kind === 'agent' ? 'Issue or rotate the key of an agent' : 'Issue or rotate the key of a reviewer',
      answers: { 201: 'IssuedKey' },
      refusals: [401, 403, 404, 503],
    },
    {
      method: 'delete',
      path: `/api/admin/${kind}s/{tenant}/{id}/key`,
      id: `revoke_${kind}_key`,
      plane: 'admin',
      summary: 'Revoke the key',
      answers: { 204: null },
      refusals: [401, 403, 404, 503],
    },
  ]),
  {
    method: 'get',
    path: '/api/admin/policies',
    id: 'showPolicies',
    plane: 'admin',
    summary: 'The bundle in force and the diagnostics of the last load',
    answers: { 200: 'PoliciesView' },
    refusals: [401, 403],
  },
  {
    method: 'post',
    path: '/api/admin/policies/explain',
    id: 'explainPolicies',
    plane: 'admin',
    summary: 'How the bundle in force decides a request, rule by rule; executes and records nothing',
    body: 'ExplainRequest',
    answers: { 200: 'ExplanationView' },
    refusals: [400, 401, 403, 404, 413, 415, 503],
  },
  {
    method: 'get',
    path: '/api/admin/evidence',
    id: 'exportEvidence',
    plane: 'admin',
    summary: 'Evidence of a tenant as NDJSON: number, leaf_hash, commit_id, record',
    query: 'EvidenceQuery',
    answers: { 200: null },
    refusals: [400, 401, 403, 404, 503],
  },
  {
    method: 'get',
    path: '/livez',
    id: 'live',
    plane: 'public',
    summary: 'The process answers',
    answers: { 200: null },
    refusals: [],
  },
  {
    method: 'get',
    path: '/readyz',
    id: 'ready',
    plane: 'public',
    summary: 'Store and policy can decide',
    answers: { 200: 'Readiness', 503: 'Readiness' },
    refusals: [],
  },
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
  const entries = Object.entries(operation.answers)
  return Object.fromEntries(
    entries.map(([status, name]) => [status, { description: operation.summary, ...content(name) }]),
  )
}

function refusalsOf(operation: Operation): Record<string, object> {
  const content = { 'application/problem+json': { schema: ref('Problem') } }
  return Object.fromEntries(
    operation.refusals.map((status) => {
      const codes = Object.entries(ERRORS).filter(([, error]) => error.status === status)
      return [status, { description: codes.map(([code]) => code).join(', '), content }]
    }),
  )
}
