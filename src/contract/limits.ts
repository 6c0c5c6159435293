/** Every cap and duration of the wire, in one place. docs/limits.md prints this table; test/contract/limits.test.ts pins it. */
export const LIMITS = {
  /** Largest request body in bytes (413 above it). Configurable. */
  BODY_BYTES: 256 * 1024,
  /** What approvals/validate may have beyond that, around a payload that was accepted. */
  PROOF_BYTES: 4 * 1024,
  /** Longest target of a request: path and query. */
  TARGET_CHARS: 8_192,
  /** Most requests of one connection that wait for the one in front of them. */
  PIPELINED: 100,
  /** Deepest nesting of a JSON body. */
  JSON_DEPTH: 64,
  /** Most object keys in one body, all levels together. */
  JSON_KEYS: 10_000,
  /** Most values in one body, all levels together. */
  JSON_VALUES: 50_000,
  /** Longest string in a body, in UTF-8 bytes. */
  STRING_BYTES: 64 * 1024,
  IMAGES: 16,
  SUMMARY_LINES: 100,
  TOOL_NAMES: 256,
  /** Contracts in one answer of tools/resolve, as JSON: the answer names the tools that are left. One contract is always given. */
  RESOLVED_BYTES: 256 * 1024,
  TASK_ID_CHARS: 128,
  TOOL_NAME_CHARS: 128,
  EVENT_TYPE_CHARS: 256,
  REVISION_ID_CHARS: 128,
  IDEMPOTENCY_KEY_CHARS: 255,
  COMMENT_CHARS: 4_000,
  /** Why an agent withdraws a call. */
  WITHDRAWAL_REASON_CHARS: 500,
  /** Most comments of one thread (409 above it). */
  COMMENTS: 200,
  /** Longest search text, in characters. */
  SEARCH_CHARS: 200,
  /** Largest image that the console shows, in bytes, and its longest side in pixels. */
  IMAGE_BYTES: 512 * 1024,
  IMAGE_SIDE_PIXELS: 4_096,
  /** A claim ends by itself. */
  CLAIM_MS: 15 * 60_000,
  /** What a link signs in with: nobody vouches for it yet. */
  SIGN_IN_BYTES: 4_096,
  /** A one-time sign-in link. */
  LINK_MS: 10 * 60_000,
  /** What single sign-on ends with, until the tab that began it has signed in. */
  HAND_OVER_MS: 60_000,
  /** A session ends when nothing is asked for so long, and in the end whatever happens. Both configurable. */
  SESSION_IDLE_MS: 30 * 60_000,
  SESSION_MS: 8 * 60 * 60_000,
  /** Attempts to sign in by links that are none, and by single sign-on, per instance. */
  SIGN_INS_PER_MINUTE: 120,
  /** Most revisions of one thread (409 above it). */
  REVISIONS: 20,
  /** Longest `Prefer: wait`, in seconds. */
  WAIT_SECONDS: 55,
  /** Open streams of changes, on one instance: of one reviewer, and in all. */
  STREAMS_PER_REVIEWER: 16,
  STREAMS: 2_000,
  /** Webhooks of one tenant. */
  WEBHOOKS: 20,
  /** Agents and tools of one tenant that were ever frozen; the tenant as a whole can always be. */
  FREEZES: 1_000,
  FREEZE_REASON_CHARS: 500,
  PAGE_ITEMS: 100,
  EVIDENCE_PAGE_ITEMS: 10_000,
  /** A stored answer is replayed for a repeated Idempotency-Key this long; a stored allow for a shorter time. */
  IDEMPOTENCY_MS: 24 * 60 * 60_000,
  IDEMPOTENT_ALLOW_MS: 10 * 60_000,
  /** Lifetime of an approval token unless the agent's directory entry says otherwise. */
  TOKEN_TTL_MS: 10 * 60_000,
  /** A used or expired token is remembered this long, so that `used` and `expired` can be told from `invalid`. */
  TOKEN_RETENTION_MS: 7 * 24 * 60 * 60_000,
  /** A store call that has not ended by then is answered 503. Configurable. */
  STORE_DEADLINE_MS: 2_000,
} as const
