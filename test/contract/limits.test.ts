import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../src/contract/limits.ts'

/**
 * The meaning of each limit. `npx vitest run test/contract/limits.test.ts -u` makes the table in docs/limits.md from
 * this and the values.
 */
const MEANING: Readonly<Record<keyof typeof LIMITS, readonly [unit: string, meaning: string, over: string]>> =
  {
    BODY_BYTES: ['bytes', 'request body (`body_limit`)', '413'],
    BUNDLE_BYTES: ['bytes', 'files of a bundle in a body of the admin API', '413'],
    PROOF_BYTES: [
      'bytes',
      'beyond `BODY_BYTES`, the JSON around the payload in approvals/validate',
      '`valid: false`',
    ],
    TARGET_CHARS: ['characters', 'path and query of a request', '400'],
    PIPELINED: [
      'requests',
      'on one connection, sent before an earlier one was answered',
      '429 after the answers before it, and the connection ends',
    ],
    JSON_DEPTH: ['levels', 'nesting of a body', '400'],
    JSON_KEYS: ['keys', 'object keys in a body, all levels together', '400'],
    JSON_VALUES: ['values', 'values in a body, all levels together', '400'],
    STRING_BYTES: [
      'bytes',
      'one string in a body, in UTF-8. In a payload, a larger `maxLength` of the contract raises it',
      '400',
    ],
    IMAGES: ['items', '`images` of a request or an event', '400'],
    SUMMARY_LINES: ['items', '`summary`', '400'],
    TOOL_NAMES: ['items', '`tools` of tools/resolve', '400'],
    RESOLVED_BYTES: ['bytes', 'contracts in one answer of tools/resolve', '`more` names the rest'],
    TASK_ID_CHARS: ['characters', 'task id', '400'],
    TOOL_NAME_CHARS: ['characters', 'tool name', '400'],
    EVENT_TYPE_CHARS: ['characters', '`event_type`', '400'],
    REVISION_ID_CHARS: ['characters', '`revision_id`', '400'],
    RUN_CHARS: ['characters', '`run` of an outcome', '400'],
    REFERENCE_CHARS: ['characters', '`reference` of an outcome', '400'],
    IDEMPOTENCY_KEY_CHARS: ['characters', '`Idempotency-Key`', '400'],
    COMMENT_CHARS: ['characters', 'comment of a vote or on a thread', '400'],
    VOTES: ['calls', 'of one vote on several calls', '400'],
    PARTS: ['places', 'parts to see of one revision; places that a vote names', '400'],
    PART_CHARS: ['characters', 'the name of a place in a vote', '400'],
    PLACES_BYTES: ['bytes', 'all places that a vote names; the parts to see have half of it', '400'],
    WITHDRAWAL_REASON_CHARS: ['characters', 'the reason of a withdrawal', '400'],
    WITHDRAWAL_GRACE_SECONDS: ['seconds', 'the time in which an agent may resume a call that it left', '400'],
    COMMENTS: ['comments', 'on one thread', '409'],
    SEARCH_CHARS: ['characters', 'search text', '400'],
    IMAGE_BYTES: ['bytes', 'an image that the console shows', 'shown as text'],
    IMAGE_SIDE_PIXELS: ['pixels', 'the longest side of such an image', 'shown as text'],
    CLAIM_MS: ['ms', 'a claim of a thread', 'the claim ends'],
    SIGN_IN_BYTES: ['bytes', 'the body of a sign-in by link', '413'],
    LINK_MS: ['ms', 'lifetime of a one-time sign-in link', '401'],
    HAND_OVER_MS: ['ms', 'from the identity provider’s answer to the session of the tab that asked', '401'],
    SESSION_IDLE_MS: ['ms', 'a session without a request (`session_idle`)', '401'],
    SESSION_MS: ['ms', 'lifetime of a session (`session_lifetime`)', '401'],
    SIGN_INS_PER_MINUTE: [
      'attempts',
      'to sign in by invalid links, requests for tokens, and answers of no flow: each within a minute, on one instance',
      '429; a first answer of a flow waits',
    ],
    FLOWS_PER_ADDRESS: [
      'flows',
      'of single sign-on that one address begins within a minute, on one instance; also its answers that wait',
      '429',
    ],
    REVISIONS: ['revisions', 'of one thread, the first included', '409'],
    PROOF_REISSUES: ['proofs', 'of one thread that replace a lost one', '409'],
    WAIT_SECONDS: ['s', '`Prefer: wait`', 'shortened'],
    STREAMS_PER_REVIEWER: ['streams', 'of changes, open for one reviewer on one instance', '429'],
    STREAMS: ['streams', 'of changes, open on one instance', '429'],
    WEBHOOKS: ['webhooks', 'of one tenant', '409'],
    FREEZES: ['names', 'of agents, tools and reviewers of one tenant that were ever frozen', '409'],
    FREEZE_REASON_CHARS: ['characters', 'the reason of a freeze', '400'],
    LEGAL_HOLDS: ['legal holds', 'in force of one tenant', '409'],
    LEGAL_HOLD_REASON_CHARS: ['characters', 'the reason of a legal hold', '400'],
    PAGE_ITEMS: ['items', 'one page of threads', '400'],
    EVIDENCE_PAGE_ITEMS: ['records', 'one read of evidence', 'shortened'],
    IDEMPOTENCY_MS: ['ms', 'a stored answer is replayed', 'evaluated afresh'],
    IDEMPOTENT_ALLOW_MS: ['ms', 'a stored allow is replayed, under the same bundle', 'evaluated afresh'],
    TOKEN_TTL_MS: ['ms', 'lifetime of a proof (`token_ttl` of the agent)', '`expired`'],
    TOKEN_RETENTION_MS: ['ms', 'the store remembers a used or expired proof', '`invalid`'],
    STORE_DEADLINE_MS: ['ms', 'one call of the store (`store_deadline`)', '503'],
  }

function table(): string {
  const rows = Object.entries(LIMITS).map(([name, value]) => {
    const [unit, meaning, over] = MEANING[name as keyof typeof LIMITS]
    return `| \`${name}\` | ${value.toLocaleString('en-US')} ${unit} | ${meaning} | ${over} |`
  })
  return [
    '# Limits',
    '',
    'This page lists every limit and duration of the HTTP API, from src/contract/limits.ts. The gateway accepts a value up to',
    "the limit. The last column shows the gateway's answer beyond the limit.",
    '',
    '| name | limit | scope | beyond it |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}

describe('limits', () => {
  it('limits match the table in docs/limits.md: a change is a change of the contract', async () => {
    await expect(table()).toMatchFileSnapshot('../../docs/limits.md')
  })
})
