import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

/**
 * What the agent API and the planes beside it promise, row by row (docs/agent-api.md): what is said, shortly, and the
 * titles of the tests that prove it. A test that is renamed or dropped is missed here.
 */
const ROWS: readonly (readonly [where: string, said: string, ...titles: string[]])[] = [
  // 1. What the service does
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
    '200 pending_review again and again in one task: every request has its own thread, in order of time',
  ],
  [
    '1',
    'fail closed: errors and timeouts never lead to execution',
    'that %s: 503 outcome_unknown, never a decision',
    'that %s: 503 store_unavailable with Retry-After, nothing changed, and a retry works',
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
    '200 pending_review when the agent claims a risk above what is allowed at once',
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
    '200 pending_review with the reasons, for as long as nobody decided',
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
    '200 invalid for a proof with %s, and nothing is consumed',
  ],
  [
    '2 ApprovalValidationResult',
    'valid; reason one of invalid, expired, used',
    '200 invalid comes before used, used before expired',
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
    '201 carries every field of a revision, and fields that nobody knows',
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
    '200 with name, description and input schema of what was asked for',
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
    '200 valid one millisecond before the expiry, expired at it, and the token is unchanged',
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
    '409 for a revision id that was seen before in the thread, also the second time round',
  ],
  [
    '3',
    'signed proof required and no token delivered: do not execute',
    '200 approved without a token for an agent with unsigned approvals',
  ],
  [
    '3',
    'a failed V2 validation never downgrades to V1',
    '200 for V2 with the thread %s and the hash %s, consumed only when both are right',
    "['V2 as if it were V1'",
  ],
  [
    '3',
    'V2 with a missing or mismatched hash or thread does not consume',
    '200 for V2 with the thread %s and the hash %s, consumed only when both are right',
  ],
  // 4. Endpoints
  [
    '4 requests',
    '400 invalid request, malformed hash, invalid policy input',
    '400 for a payload that does not fit the contract of the tool, with pointers and without its values',
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
    '200 by task id is the newest thread of the task, whatever became of the others',
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
    '409 for all but one of eight revisions with one id at once',
  ],
  [
    '4 resolve',
    'names, descriptions, schemas of the tools asked for',
    '200 with name, description and input schema of what was asked for',
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
    '200 invalid after the key was rotated, for the new key and the old; the old key is dead at once',
  ],
  [
    '5.4',
    'bound to tenant and agent',
    '200 invalid for the token of another agent and of another tenant, and nothing is consumed',
  ],
  [
    '5.4',
    'bound to tool and thread',
    '200 invalid for the token of one thread with the names of another',
    '400 for another tool than the one of the thread',
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
  ['6', 'event_type is open-ended', '201 for the event type %j: the vocabulary is open'],
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
    '409 for a thread that does not exist, is foreign, or belongs to another task',
  ],
  // 8. Limits, 9. Versioning
  [
    '8',
    'a token is single use, expires, is delivered once',
    '200 used also after the token would have expired, until it is forgotten after a week',
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
    'list the same codes with the same statuses, in the same order',
  ],
  [
    'design 3',
    '401, and 404 for what is foreign',
    '401 comes before anything is said about the body or the path',
    '401 for an agent that the directory no longer knows',
  ],
  [
    'design 3',
    '413, 415, 429, 503',
    '413 for a body that is too large, 200 at the cap',
    "'415 for %j'",
    '429 with Retry-After for an agent over its rate, others are not touched',
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
    '200 gives a retry the first answer, and one thread and one record are all there is',
    '422 for another body under the same key',
    '200 replays an allow for ten minutes only',
    '200 replays an allow only under the bundle that it was given under, a held call under any',
    '200 with another thread in another task, of another agent, and after 24 hours',
  ],
  [
    'design 3',
    'Prefer: wait',
    '200 at once when somebody votes, with Preference-Applied',
    '200 when the gateway shuts down, and it does shut down',
    'the wait ends when the caller goes away',
  ],
  ['design 3', 'advice grows with age', '200 advises to poll less often the older the thread is'],
  ['design 3', 'caps', '400 for more images, lines, characters or keys than the caps, 200 at the caps'],
  ['design 3', 'both ids, not belonging together: 404', '404 for two ids that do not belong together'],
  [
    'design 3',
    'message: reasons, then comments; stable codes',
    '200 rejected, with what the reviewer said',
    '200 changes_requested, with what the reviewer said',
    '200 rejected with `expired: ` at the deadline, whoever looks first',
  ],
  [
    'design 3',
    'collection deadline',
    '200 rejected with `expired: ` for an approval that nobody collected in time',
    '200 approved one millisecond before the collection deadline',
  ],
  [
    'design 3',
    'approved polls ask again',
    '200 rejected with `policy_changed: ` when policy now rejects the approved action, for good',
    '200 rejected with `reviewer_removed: ` when a counted voter left the directory or the group',
  ],
  [
    'design 3',
    'revision: votes void, join never looser, reject ends, allow stays, deadline anew, 20 at most',
    '201 voids earlier votes: they must be cast anew',
    '201 never asks for less than before: risk, groups and approvals stay or grow',
    '201 with the status rejected when policy rejects the revised action, for good',
    '201 keeps a thread with the people when policy would now allow the action, and says so',
    '201 starts the deadline anew, and never a longer one',
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
    'that allows is not given again after a freeze, not even after it was lifted',
  ],
  [
    'design 6',
    'freeze: an agent, a tool or a tenant; pending threads and unredeemed tokens never come back to life',
    'rejects new calls of the agent, with the reason, and leaves others alone',
    'of a tool: for every agent, and for nothing else',
    'of a tenant: for all its agents, and for no other tenant',
    'is dead even when nobody noticed before the freeze was lifted',
    'a token is refused, nothing is consumed, and the refusal says why in evidence',
    'a redemption that is overtaken by a freeze is refused, also when it was lifted at once',
  ],
  [
    'design 5',
    'list: filters and cursors',
    '200 by each filter and by all of them, with no thread that does not match',
    '200 page by page with no thread twice and none lost, whatever the size of a page: %j',
  ],
  [
    'design 5',
    'thread: everything, with ETag',
    '200 with everything a reviewer decides on, to every reviewer of the tenant',
  ],
  [
    'design 5',
    'vote order 404, 409, 412, 428, 403',
    '404 before everything else',
    '409 before 412, 428 and 403',
    '412 before 403 when revision or If-Match names another revision',
    '428 before 403 when neither is given',
  ],
  [
    'design 5',
    'not_eligible, self_review, already_voted',
    '403 not_eligible for a person who can fill no seat',
    '403 self_review for an owner, for every decision',
    '403 already_voted for a second vote on one revision, whatever it says',
  ],
  [
    'design 5',
    'quorum: distinct people, matching, first reject',
    '200 approved only by two distinct people where two are asked for',
    '200 approved only when both groups have their own person: who is in both fills one seat',
    '200 rejected by the first reject, whatever was approved before; nobody votes after it',
    'fills as many seats as any assignment of voters could',
  ],
  [
    'design 5',
    'reminders, escalation, expiry',
    'reminds, escalates and expires at the right times, once each',
    '200 after an escalation: the escalation group may fill the seat too, not a moment before',
  ],
  [
    'design 5',
    'sign-in: one-time links, single use, ten minutes, in the fragment',
    '200 for one of many who race with one link, and 401 for all others: there is one session',
    '401 from ten minutes after the link was issued, and not before',
    'a link carries its token in the fragment',
  ],
  [
    'design 5',
    'sign-in: OIDC with PKCE, groups from a claim or the directory',
    '302 to the provider with PKCE, state and nonce, and 303 back to the console with a session of the reviewer whose verified address it is',
    'a code that was used is refused, and its session is not given again',
    'another state is refused without asking the provider',
    'a nonce that was changed on the way to the provider is refused',
    'a code that was asked for with another verifier is refused',
    'stand in place of those of the directory',
    'count at the vote, and still when the agent collects, though the directory does not name them',
  ],
  [
    'design 5',
    'sessions: server-side, __Host- cookie, idle and absolute limits, revoked with the directory',
    '200 with Me and a cookie that only this host can set, no page can read, and no other site can send',
    '401 when nothing was asked for half an hour, and not while it is in use',
    '401 after eight hours, whatever was asked',
    '401 when %s in the directory',
    'signing out everywhere ends the sessions of other instances, at once on all',
  ],
  [
    'design 5',
    'Origin and Sec-Fetch-Site',
    'passes with exactly our Origin and no other word than same-origin, whatever else is said',
    '403 foreign_origin on a vote, a comment and the way out that another page asks for; nothing happens',
  ],
  [
    'design 5',
    'interactive levels',
    '403 sign_in_required for a key, after everything else; 200 for a session',
  ],
  [
    'design 6',
    'keys: shown once, hashed, revoked at once',
    '201 with the key of an agent, which works at once and is stored as a hash only',
    '204 revokes a key in use: no call that began before it commits after it',
  ],
  ['design 6', 'admin key', "'401 on %s %s without the admin key'"],
  [
    'design 6',
    'policies, evidence, health',
    '200 with the diagnostics of a failed load, while the last good bundle stays in force',
    '200 as NDJSON, from after to limit, and the reading is evidence too',
    '503 of readyz, 200 of livez, while no valid bundle was ever loaded; every evaluation is a reject',
  ],
  [
    'design 8',
    'evidence: complete, dense, receipts, commitments',
    'every decision, vote, revision, mint, redeem, refusal and expiry leaves its records, in order',
    'Countersign-Evidence is the number and the leaf hash of the exported record',
    'a sensitive value stands as a salted commitment: the same value twice does not look the same, and no digest gives it away',
    'canaries: no key, token or sensitive value in evidence, in the log, in metrics or in an answer that is not its own',
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
