import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

/**
 * The promises of the agent API and of the planes beside it, row by row (docs/agent-api.md). Each row has a short
 * summary and the titles of the tests that prove it. This test fails when such a test is renamed or dropped.
 */
const ROWS: readonly (readonly [where: string, said: string, ...titles: string[]])[] = [
  // 1. Purpose of the service
  [
    '1',
    'decides immediately or after human review',
    '200 allow without a thread, a token or advice to poll',
    '200 pending_review with a new thread and advice when to poll',
  ],
  [
    '1',
    'two approval paths: V1 without, V2 with action hash',
    '200 valid for V1: nothing but valid, and the second time used',
    '200 valid for V2 with task, thread and hash',
  ],
  [
    '1',
    'task_id groups work and may be reused',
    '200 pending_review repeatedly in one task: every request has its own thread, in order of time',
  ],
  [
    '1',
    'fail closed: errors and timeouts never lead to execution',
    'a store that %s: 503 outcome_unknown, never a decision',
    'a store that %s: 503 store_unavailable with Retry-After, nothing changed, and a retry works',
  ],
  // 2. Resources
  [
    '2 DecisionRequest',
    'no properties other than these',
    "['a property that the contract does not name'",
    '200 with every field that the contract names',
  ],
  [
    '2 DecisionRequest',
    'tool_name is the only required field',
    '200 without a payload is a call with an empty one',
    "['no tool'",
  ],
  [
    '2 DecisionRequest',
    'workflow_name, task_label, subject, preview: string',
    "['a workflow name that is no text'",
    "['a label that is no text'",
    "['a subject that is no text'",
    "['a preview that is no text'",
  ],
  [
    '2 DecisionRequest',
    'risk_level: low, medium, high, critical',
    "['an unknown risk level'",
    '200 pending_review when the agent claims a risk above the immediate limit',
  ],
  [
    '2 DecisionRequest',
    'summary, images: array of string',
    "['a summary with a number'",
    "['images that are no texts'",
  ],
  [
    '2 DecisionRequest',
    'payload: object, default empty',
    "['a payload that is a list'",
    '200 without a payload is a call with an empty one',
  ],
  ['2 ActionHash', 'exactly 64 lowercase hex characters, no prefix', '400 for an action hash of %s'],
  [
    '2 Decision',
    'status, task_id always; thread_id, message, advice',
    '200 pending_review with the reasons, until a reviewer decides',
  ],
  [
    '2 Decision',
    'approval_token and token_expires_at on approved signed decisions',
    '200 approved: a V1 read carries the token once, and no hash',
  ],
  [
    '2 Decision',
    'action_hash echoed at once and on later V2 polls, absent for V1',
    '200 echoes the action hash on allow, reject and pending_review',
    '200 returns the action hash on every later read of a V2 thread',
  ],
  [
    '2 ApprovalValidationRequest',
    'closed; task_id, signature, request_payload required',
    '200 invalid for %s',
    '200 invalid for a proof with %s, and nothing is redeemed',
  ],
  [
    '2 ApprovalValidationResult',
    'valid; reason one of invalid, expired, used',
    '200 invalid precedes used, and used precedes expired',
  ],
  [
    '2 ApprovalValidationResult',
    'task_id, thread_id, action_hash on successful V2',
    '200 valid for V2 with task, thread and hash',
  ],
  [
    '2 AgentEvent',
    'closed; event_type and event_summary required',
    "['no type'",
    "['no summary'",
    "['a property more', { event_type",
  ],
  ['2 AgentEvent', 'payload and images optional', '201 keeps the whole event as one record'],
  [
    '2 Revision',
    'additional properties are allowed',
    '201 stores every field of a revision, and unknown fields',
  ],
  ['2 Revision', 'revision_id, tool_name, subject, request_payload required', '400 for %s being %j'],
  [
    '2 Revision',
    'action_hash required when revising V2',
    '400 for a V2 thread without a hash, and for a V1 thread with one',
  ],
  [
    '2 Tool contract',
    'name, description, JSON input_schema',
    '200 with name, description and input schema of the requested tools',
  ],
  // 3. States and transitions
  [
    '3',
    'new request: allow or reject at once',
    '200 allow without a thread, a token or advice to poll',
    '200 reject by a rule, with its reason',
  ],
  [
    '3',
    'new request: pending_review with a new thread',
    '200 pending_review with a new thread and advice when to poll',
  ],
  [
    '3',
    'poll: approved, token only on the first successful approved read',
    '200 with the token in exactly one of sixteen racing polls',
    '200 approved: a V1 read carries the token once, and no hash',
    '404 for HEAD: it would burn the token; 400 for a prefetch',
  ],
  [
    '3',
    'validate: consumed once, later used',
    '200 valid for exactly one of sixteen calls at once, used for the others',
  ],
  [
    '3',
    'validate past expiry: unchanged, expired',
    '200 valid one millisecond before the expiry and expired at it; the token does not change',
  ],
  [
    '3',
    'revision of a pending or changes_requested thread: 201',
    '201 for a thread that is pending, and for one with changes requested',
  ],
  [
    '3',
    'revision: 409 if stale, duplicate or not pending',
    '409 for a thread that is approved, rejected or expired',
    '409 for a revision id that the thread already has, every time',
  ],
  [
    '3',
    'signed proof required and no token delivered: do not execute',
    '200 approved without a token for an agent with unsigned approvals',
  ],
  [
    '3',
    'a failed V2 validation never downgrades to V1',
    '200 for V2 with the thread %s and the hash %s, redeemed only when both are right',
    "['V2 as if it were V1'",
  ],
  [
    '3',
    'V2 with a missing or mismatched hash or thread does not consume',
    '200 for V2 with the thread %s and the hash %s, redeemed only when both are right',
  ],
  // 4. Endpoints
  [
    '4 requests',
    '400 invalid request, malformed hash, invalid policy input',
    "400 for a payload that does not fit the tool's contract, with pointers and without its values",
    '400 for an action hash of %s',
  ],
  [
    '4 decisions',
    'thread_id or task_id, one must be given',
    '400 without an identifier, with the code missing_identifier',
  ],
  [
    '4 decisions',
    'task_id: the newest matching thread',
    '200 by task id is the newest thread of the task, in whatever state the others are',
  ],
  [
    '4 decisions',
    '404 outside the authenticated agent context',
    '404 for the thread of another agent and of another tenant, by either id',
  ],
  ['4 validate', 'most invalid outcomes are 200 with valid false', '200 invalid for %s'],
  ['4 validate', 'request_payload is mandatory', "['a payload that is missing'", "['no payload', { task_id"],
  ['4 events', '201 accepted', '201 with the id of the event and the time of its record'],
  ['4 events', '400 invalid event or malformed revision hash', '400 for the action hash %j of a V2 thread'],
  [
    '4 events',
    '409 stale, duplicate or non-pending',
    '409 for seven of eight concurrent revisions with one id',
  ],
  [
    '4 resolve',
    'names, descriptions, schemas of the tools asked for',
    '200 with name, description and input schema of the requested tools',
    '200 with every tool that the agent may use for an empty list',
  ],
  // 5. Authentication
  [
    '5.1',
    'bearer key, tenant and agent from the key',
    '401 with WWW-Authenticate on %s %s for every kind of bad credential',
    'tenants_isolated: no plane shows, changes or redeems anything of another tenant',
  ],
  [
    '5.3',
    'rotating a key invalidates its tokens',
    '200 invalid after the key was rotated; the old key is refused at once',
  ],
  [
    '5.4',
    'bound to tenant and agent',
    '200 invalid for the token of another agent and of another tenant, and nothing is redeemed',
  ],
  [
    '5.4',
    'bound to tool and thread',
    '200 invalid for the token of one thread with the names of another',
    "400 for a tool other than the thread's",
  ],
  ['5.4', 'bound to key hash and expiry', "'is invalid when %s differs, for V1 and V2'"],
  [
    '5.4',
    'only the hash and binding are kept',
    '200 leaves one record per answer, with the hash of the token and never the token',
  ],
  [
    '5.4',
    'later threads of the task do not invalidate an older token',
    '200 valid for an older thread of a task that was reused',
    '200 by thread id finds an older thread of a task, and its token stays valid',
  ],
  // 6. Events
  ['6', 'event_type is open-ended', '201 for the event type %j, because the vocabulary is open'],
  [
    '6',
    'revision.<task_id>.<thread_id> triggers a guarded revision',
    '201 with the thread, its status and the number of the revision',
    '201 in a task whose id has dots, for exactly that task',
  ],
  // 7. Errors
  [
    '7',
    'poll: neither id 400, not found 404',
    '400 without an identifier, with the code missing_identifier',
    '404 for ?%s',
  ],
  [
    '7',
    'events: 400 and 409',
    "'400 for the event type %j in the task %s'",
    '409 for a thread that is unknown, foreign, or of another task',
  ],
  // 8. Limits, 9. Versioning
  [
    '8',
    'a token is single use, expires, is delivered once',
    "200 used even after the token's expiry, until its record is deleted after a week",
  ],
  [
    '9',
    'V1 or V2 is fixed for the thread',
    '400 for a V2 thread without a hash, and for a V1 thread with one',
  ],
  // what the contract of the agent API leaves open
  [
    'design 3',
    'problem+json with code and pointers',
    'turns into a problem document with its public words only',
    'the error table and docs/errors.md list the same codes with the same statuses, in the same order',
  ],
  [
    'design 3',
    '401, and 404 for what is foreign',
    '401 precedes every error about the body or the path',
    '401 for an agent that has left the directory',
  ],
  [
    'design 3',
    '413, 415, 429, 503',
    '413 for a body that is too large, 200 at the cap',
    "'415 for %j'",
    '429 with Retry-After for an agent over its rate, without an effect on others',
  ],
  [
    'design 3',
    'strict JSON',
    'accepts a mutated document only when JSON.parse returns an equal value',
    "'%s (%s) is answered %s'",
  ],
  [
    'design 3',
    'unknown tool, tool not permitted: 200 reject',
    '200 reject of an unknown tool, named in the message',
    '200 reject of a tool that the agent may not use, named in the message',
  ],
  [
    'design 3',
    'Idempotency-Key',
    '200 returns the first answer to a retry, with one thread and one record',
    '422 for another body under the same key',
    '200 replays an allow for ten minutes only',
    '200 replays an allow only under the same bundle, and a held call under any bundle',
    '200 with another thread in another task, for another agent, and after 24 hours',
  ],
  [
    'design 3',
    'Prefer: wait',
    '200 at once when a reviewer votes, with Preference-Applied',
    '200 when the gateway shuts down, without delaying the shutdown',
    'the wait ends when the caller disconnects',
  ],
  ['design 3', 'advice grows with age', '200 advises to poll less often the older the thread is'],
  ['design 3', 'caps', '400 for more images, lines, characters or keys than the caps, 200 at the caps'],
  ['design 3', 'both ids, not belonging together: 404', '404 for two ids that do not belong together'],
  [
    'design 3',
    'message: reasons, then comments; stable codes',
    "200 rejected, with the reviewer's comment",
    "200 changes_requested, with the reviewer's comment",
    '200 rejected with `expired: ` at the deadline, for the first caller of any kind',
  ],
  [
    'design 3',
    'collection deadline',
    '200 rejected with `expired: ` when the agent did not collect an approval in time',
    '200 approved one millisecond before the collection deadline',
  ],
  [
    'design 3',
    'approved polls ask again',
    '200 rejected with `policy_changed: ` when policy now rejects the approved action, permanently',
    '200 rejected with `reviewer_removed: ` when a counted voter left the directory or the group',
  ],
  [
    'design 3',
    'revision: votes void, join never looser, reject ends, allow stays, deadline anew, 20 at most',
    '201 voids earlier votes, which must be cast again',
    '201 never requires less than before: risk, groups and approvals stay or grow',
    '201 with status rejected when policy rejects the revised action, permanently',
    '201 keeps a thread in review when policy would now allow the action, and says so',
    '201 restarts the deadline, and never extends its length',
    '409 after 20 revisions',
  ],
  [
    'design 3',
    'validate: policy and people asked again',
    '200 invalid when policy now rejects the action, 200 valid when it does not',
    '200 invalid when a counted voter lost the seat',
  ],
  [
    'design 4',
    'token_ttl and signed_approvals of the agent',
    '200 gives the token the lifetime of the agent',
    '200 approved without a token for an agent with unsigned approvals',
  ],
  [
    'design 4',
    'a token record that is missing is invalid',
    '200 invalid for a token whose record the store does not have',
  ],
  // docs/review-api.md and docs/operations.md
  [
    'design 3',
    'a stored allow is replayed only under the same freeze epoch',
    'is not replayed after a freeze, even when that was lifted',
  ],
  [
    'design 6',
    'freeze: an agent, a tool or a tenant; pending threads and unredeemed tokens never come back to life',
    'rejects new calls of the agent with the reason, and no calls of others',
    'stops a frozen tool for every agent, and stops nothing else',
    'stops all agents of a frozen tenant, and no other tenant',
    'cancels earlier calls even when nothing read them before it was lifted',
    'refuses a token without redeeming it, and records the reason',
    'refuses a redemption that it overtakes, even when it is lifted at once',
  ],
  [
    'design 5',
    'list: filters and cursors',
    '200 by each filter and by all of them, without a thread that does not match',
    '200 in pages that repeat and omit no thread, for any page size: %j',
  ],
  [
    'design 5',
    'thread: everything, with ETag',
    '200 with everything that a reviewer decides on, for every reviewer of the tenant',
  ],
  [
    'design 5',
    'vote order 404, 409, 412, 428, 403',
    '404 precedes every other error',
    '409 precedes 412, 428 and 403',
    '412 precedes 403 when revision or If-Match names another revision',
    '428 precedes 403 when neither is given',
  ],
  [
    'design 5',
    'not_eligible, self_review, already_voted',
    '403 not_eligible for a reviewer who can fill no seat',
    '403 self_review for an owner, for every decision',
    '403 already_voted for a second vote on one revision, except for a rejection',
  ],
  [
    'design 5',
    'quorum: distinct people, matching, first reject',
    '200 approved only by two distinct reviewers when two are required',
    '200 approved only when both groups have their own reviewer: a member of both fills one seat',
    '200 rejected by the first reject after any approvals; no vote counts after it',
    'fills as many seats as any assignment of voters could',
  ],
  [
    'design 5',
    'reminders, escalation, expiry',
    'reminds, escalates and expires at the right times, once each',
    '200 after an escalation: the escalation group may also fill the seat, but not before',
  ],
  [
    'design 5',
    'sign-in: one-time links, single use, ten minutes, in the fragment',
    '200 for one of many who race with one link, and 401 for all others: only one session opens',
    '401 from ten minutes after the link was issued, and not before',
    'a link carries its token in the fragment',
  ],
  [
    'design 5',
    'sign-in: OIDC with PKCE, groups from a claim or the directory',
    '302 to the provider with PKCE, state and nonce; 303 back with a session for the verified address',
    'a code that was used is refused, and its session is not returned again',
    'another state is refused without a request to the provider',
    'a nonce that was changed on the way to the provider is refused',
    'a code that belongs to another verifier is refused',
    'groups of a claim replace those of the directory',
    'groups of a claim count at the vote and at collection, even if the directory does not list them',
  ],
  [
    'design 5',
    'sessions: server-side, __Host- cookie, idle and absolute limits, revoked with the directory',
    '200 with Me and a cookie that only this host can set, no page can read, and no other site can send',
    '401 after half an hour without a request, and not while it is in use',
    '401 after eight hours, whatever was requested',
    '401 when %s in the directory',
    'signing out everywhere ends the sessions of other instances, at once on all',
  ],
  [
    'design 5',
    'Origin and Sec-Fetch-Site',
    "a request passes with exactly the gateway's Origin and only same-origin in Sec-Fetch-Site",
    '403 foreign_origin on a vote, a comment and a sign-out from another page, without an effect',
  ],
  [
    'design 5',
    'interactive levels',
    '403 sign_in_required for a key, after every other error; 200 for a session',
  ],
  [
    'design 6',
    'keys: shown once, hashed, revoked at once',
    '201 with the key of an agent, which works at once and is stored only as a hash',
    '204 revokes a key in use: no earlier call that still runs commits after it',
  ],
  ['design 6', 'admin key', "'401 on %s %s without the admin key'"],
  [
    'design 6',
    'policies, evidence, health',
    '200 with the diagnostics of a failed load, while the last good bundle stays in force',
    '200 as NDJSON, from after to limit, and the read is evidence too',
    '503 of readyz, 200 of livez, before a valid bundle was ever loaded; every call is rejected',
  ],
  [
    'design 8',
    'evidence: complete, dense, receipts, commitments',
    'every decision, vote, revision, mint, redeem, refusal and expiry leaves its records, in order',
    'Countersign-Evidence is the number and the leaf hash of the exported record',
    'keeps the names of sensitive values only, and no digest that covers one',
    "canaries: no key, token or sensitive value in evidence, log or metrics, or in another's answer",
  ],
  [
    'design 9',
    '64 calls of one task do not conflict',
    '64 calls of one task do not conflict: as many commits as calls',
  ],
]

const root = fileURLToPath(new URL('.', import.meta.url))
const texts = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts') && path !== 'contract-rows.test.ts')
  .map((path) => readFileSync(join(root, path), 'utf8'))

describe('the rows of the contract', () => {
  it.each(ROWS)('%s: %s', (_, __, ...titles) => {
    const missing = titles.filter((title) => !texts.some((text) => text.includes(title)))
    expect(missing).toEqual([])
    expect(titles.length).toBeGreaterThan(0)
  })

  it('no test of the contract is skipped or postponed', () => {
    const skipped = texts.filter((text) => /\b(it|describe|test)\.(skip|todo|only|fails)\b/.test(text))
    expect(skipped).toEqual([])
  })
})
