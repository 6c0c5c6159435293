/**
 * The requests of docs/reference/api.md, in the order in which they run against one gateway with the starter policies.
 * test/docs/api-examples.test.ts runs each, and keeps the answers in api-answers.json.
 */
export interface ApiExample {
  readonly operation: string
  readonly path: string
  readonly key?: 'AGENT_KEY' | 'REVIEWER_KEY' | 'ADMIN_KEY'
  readonly body?: string
  readonly headers?: readonly string[]
  readonly status: number
  /** Shell variables that later examples use, each with the member of the answer that it holds. */
  readonly keep?: Readonly<Record<string, string>>
}

const TRANSFER = '{"from":"acct_ops","to":"acct_travel","amount_cents":25000,"currency":"eur"}'
const SMALLER = '{"from":"acct_ops","to":"acct_travel","amount_cents":20000,"currency":"eur"}'

export const API_EXAMPLES: readonly ApiExample[] = [
  { operation: 'live', path: '/livez', status: 200 },
  { operation: 'ready', path: '/readyz', status: 200 },
  {
    operation: 'resolve',
    path: '/api/agent/tools/resolve',
    key: 'AGENT_KEY',
    body: '{"tools":["ledger.transfer"]}',
    status: 200,
  },
  {
    operation: 'submit',
    path: '/api/agent/tasks/offsite/requests',
    key: 'AGENT_KEY',
    headers: ['Idempotency-Key: offsite-1'],
    body: `{"tool_name":"ledger.transfer","payload":${TRANSFER}}`,
    status: 200,
    keep: { THREAD: 'thread_id' },
  },
  {
    operation: 'list_threads',
    path: '/api/review/threads?status=pending_review',
    key: 'REVIEWER_KEY',
    status: 200,
  },
  { operation: 'count_threads', path: '/api/review/counts', key: 'REVIEWER_KEY', status: 200 },
  { operation: 'me', path: '/api/review/me', key: 'REVIEWER_KEY', status: 200 },
  { operation: 'list_agents', path: '/api/review/agents', key: 'REVIEWER_KEY', status: 200 },
  {
    operation: 'claim',
    path: '/api/review/threads/$THREAD/claim',
    key: 'REVIEWER_KEY',
    body: '{}',
    status: 200,
  },
  {
    operation: 'release',
    path: '/api/review/threads/$THREAD/release',
    key: 'REVIEWER_KEY',
    body: '{}',
    status: 200,
  },
  {
    operation: 'comment',
    path: '/api/review/threads/$THREAD/comments',
    key: 'REVIEWER_KEY',
    body: '{"comment":"Which trip is it for?"}',
    status: 201,
  },
  {
    operation: 'record',
    path: '/api/agent/tasks/offsite/events',
    key: 'AGENT_KEY',
    body: `{"event_type":"revision.offsite.$THREAD","event_summary":"a smaller transfer","payload":{"revision":{"revision_id":"r2","tool_name":"ledger.transfer","subject":"offsite","request_payload":${SMALLER}}}}`,
    status: 201,
  },
  { operation: 'show_thread', path: '/api/review/threads/$THREAD', key: 'REVIEWER_KEY', status: 200 },
  {
    operation: 'reveal',
    path: '/api/review/threads/$THREAD/reveal',
    key: 'REVIEWER_KEY',
    body: '{"revision":2}',
    status: 200,
  },
  {
    operation: 'vote',
    path: '/api/review/threads/$THREAD/votes',
    key: 'REVIEWER_KEY',
    body: '{"decision":"approve","revision":2,"comment":"travel budget"}',
    status: 200,
  },
  {
    operation: 'poll',
    path: '/api/agent/decisions?thread_id=$THREAD',
    key: 'AGENT_KEY',
    headers: ['Prefer: wait=20'],
    status: 200,
    keep: { TOKEN: 'approval_token' },
  },
  {
    operation: 'validate',
    path: '/api/agent/approvals/validate',
    key: 'AGENT_KEY',
    body: `{"task_id":"offsite","signature":"$TOKEN","request_payload":${SMALLER}}`,
    status: 200,
  },
  {
    operation: 'submit',
    path: '/api/agent/tasks/summit/requests',
    key: 'AGENT_KEY',
    body: `{"tool_name":"ledger.transfer","payload":${TRANSFER}}`,
    status: 200,
    keep: { OTHER: 'thread_id' },
  },
  {
    operation: 'withdraw',
    path: '/api/agent/threads/$OTHER/withdrawals',
    key: 'AGENT_KEY',
    body: '{"reason":"the user pressed stop"}',
    status: 200,
  },
  {
    operation: 'issue_reviewer_key',
    path: '/api/admin/reviewers/acme/erin/key',
    key: 'ADMIN_KEY',
    body: '{}',
    status: 201,
  },
  {
    operation: 'issue_agent_key',
    path: '/api/admin/agents/acme/support-bot/key',
    key: 'ADMIN_KEY',
    body: '{}',
    status: 201,
  },
  {
    operation: 'issue_login_link',
    path: '/api/admin/reviewers/acme/alice/login-link',
    key: 'ADMIN_KEY',
    body: '{}',
    status: 201,
  },
  { operation: 'sign_in_options', path: '/api/review/session', status: 200 },
  { operation: 'show_policies', path: '/api/admin/policies', key: 'ADMIN_KEY', status: 200 },
  {
    operation: 'explain_policies',
    path: '/api/admin/policies/explain',
    key: 'ADMIN_KEY',
    body: `{"tool_name":"ledger.transfer","payload":${TRANSFER}}`,
    status: 200,
  },
  {
    operation: 'freeze',
    path: '/api/admin/freeze',
    key: 'ADMIN_KEY',
    body: '{"tenant":"acme","agent":"ops-bot","reason":"INC-412"}',
    status: 200,
  },
  { operation: 'list_freezes', path: '/api/admin/freezes?tenant=acme', key: 'ADMIN_KEY', status: 200 },
  {
    operation: 'unfreeze',
    path: '/api/admin/unfreeze',
    key: 'ADMIN_KEY',
    body: '{"tenant":"acme","agent":"ops-bot","reason":"mended"}',
    status: 204,
  },
  {
    operation: 'add_legal_hold',
    path: '/api/admin/legal-holds',
    key: 'ADMIN_KEY',
    body: '{"tenant":"acme","agent":"ops-bot","reason":"case 17-204"}',
    status: 200,
  },
  {
    operation: 'list_legal_holds',
    path: '/api/admin/legal-holds?tenant=acme',
    key: 'ADMIN_KEY',
    status: 200,
  },
  {
    operation: 'remove_legal_hold',
    path: '/api/admin/legal-holds/remove',
    key: 'ADMIN_KEY',
    body: '{"tenant":"acme","agent":"ops-bot","reason":"settled"}',
    status: 204,
  },
  {
    operation: 'create_webhook',
    path: '/api/admin/webhooks',
    key: 'ADMIN_KEY',
    body: '{"tenant":"acme","url":"https://hooks.example.com/countersign","events":["review.pending"]}',
    status: 201,
    keep: { WEBHOOK: 'id' },
  },
  { operation: 'list_webhooks', path: '/api/admin/webhooks?tenant=acme', key: 'ADMIN_KEY', status: 200 },
  {
    operation: 'pause_webhook',
    path: '/api/admin/webhooks/$WEBHOOK/pause',
    key: 'ADMIN_KEY',
    body: '{}',
    status: 200,
  },
  {
    operation: 'ping_webhook',
    path: '/api/admin/webhooks/$WEBHOOK/ping',
    key: 'ADMIN_KEY',
    body: '{}',
    status: 200,
  },
  {
    operation: 'list_deliveries',
    path: '/api/admin/webhooks/$WEBHOOK/deliveries',
    key: 'ADMIN_KEY',
    status: 200,
  },
  { operation: 'verifier_keys', path: '/.well-known/countersign/keys', status: 200 },
]

/** The command of an example, as a reader pastes it. */
export function commandOf({ path, key, headers = [], body }: ApiExample): string {
  const sent = [
    ...(key === undefined ? [] : [`-H "Authorization: Bearer $${key}"`]),
    ...headers.map((header) => `-H '${header}'`),
    ...(body === undefined ? [] : ["-H 'content-type: application/json'", `-d ${quoted(body)}`]),
  ]
  return [`curl -sS "$COUNTERSIGN_URL${path}"`, ...sent].join(' \\\n  ')
}

/** One word of a shell in which `$NAME` is a variable. */
const quoted = (text: string): string => `'${text.replaceAll(/\$[A-Z]+/g, (name) => `'"${name}"'`)}'`
