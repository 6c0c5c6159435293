/** Every limit and duration of the wire. docs/limits.md prints this table; test/contract/limits.test.ts pins it. */
export const LIMITS = {
  /** Largest request body in bytes (413 above it). Configurable. */
  BODY_BYTES: 256 * 1024,
  /** Largest body with the files of a bundle, in bytes (413 above it). */
  BUNDLE_BYTES: 4 * 1024 * 1024,
  /** Extra bytes for approvals/validate, whose body wraps an accepted payload. */
  PROOF_BYTES: 4 * 1024,
  /** Longest target of a request: path and query. */
  TARGET_CHARS: 8_192,
  /** Most requests of one connection that wait for an earlier request. */
  PIPELINED: 8,
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
  /**
   * Bytes of contracts in one answer of tools/resolve, as JSON. The answer has at least one contract, and names the
   * omitted tools.
   */
  RESOLVED_BYTES: 256 * 1024,
  TASK_ID_CHARS: 128,
  TOOL_NAME_CHARS: 128,
  EVENT_TYPE_CHARS: 256,
  REVISION_ID_CHARS: 128,
  /** Longest name of a run, and longest reference, of an outcome. */
  RUN_CHARS: 64,
  REFERENCE_CHARS: 128,
  IDEMPOTENCY_KEY_CHARS: 255,
  COMMENT_CHARS: 4_000,
  /** Calls of one vote on several calls. */
  VOTES: 50,
  /** Parts to see of one revision, and places that a vote names. */
  PARTS: 200,
  PART_CHARS: 320,
  /** Size of all places that a vote names, in UTF-8. The parts to see have half of it at most. */
  PLACES_BYTES: 40_000,
  /** Longest reason for a withdrawal. */
  WITHDRAWAL_REASON_CHARS: 500,
  /** Longest time between the end of an agent's wait and the withdrawal of its call, in seconds. */
  WITHDRAWAL_GRACE_SECONDS: 3_600,
  /** Most comments of one thread (409 above it). */
  COMMENTS: 200,
  /** Longest search text, in characters. */
  SEARCH_CHARS: 200,
  /** Largest image that the console shows, in bytes, and its longest side in pixels. */
  IMAGE_BYTES: 512 * 1024,
  IMAGE_SIDE_PIXELS: 4_096,
  /** Time after which a claim ends. */
  CLAIM_MS: 15 * 60_000,
  /** Largest body of a sign-in, whose sender is unknown. */
  SIGN_IN_BYTES: 4_096,
  /** Lifetime of a one-time sign-in link. */
  LINK_MS: 10 * 60_000,
  /** Time for the tab that began single sign-on to complete the sign-in. */
  HAND_OVER_MS: 60_000,
  /** A session ends after this time without a request, and after its longest time in any case. Both configurable. */
  SESSION_IDLE_MS: 30 * 60_000,
  SESSION_MS: 8 * 60 * 60_000,
  /** Attempts to sign in with invalid links, and by single sign-on, per instance. */
  SIGN_INS_PER_MINUTE: 120,
  /** Most flows of single sign-on that one address begins in a minute on one instance, and most answers that wait. */
  FLOWS_PER_ADDRESS: 60,
  /** Most revisions of one thread (409 above it). */
  REVISIONS: 20,
  PROOF_REISSUES: 5,
  /** Longest `Prefer: wait`, in seconds. */
  WAIT_SECONDS: 55,
  /** Open streams of changes on one instance: for each reviewer, and in total. */
  STREAMS_PER_REVIEWER: 16,
  STREAMS: 2_000,
  /** Webhooks of one tenant. */
  WEBHOOKS: 20,
  /** Agents, tools and reviewers of one tenant that were ever frozen. The tenant as a whole can always be frozen. */
  FREEZES: 1_000,
  FREEZE_REASON_CHARS: 500,
  /** Legal holds in force of one tenant. The tenant as a whole can always be held. */
  LEGAL_HOLDS: 1_000,
  LEGAL_HOLD_REASON_CHARS: 500,
  PAGE_ITEMS: 100,
  EVIDENCE_PAGE_ITEMS: 10_000,
  /** Time in which a stored answer is replayed for a repeated Idempotency-Key; shorter for a stored allow. */
  IDEMPOTENCY_MS: 24 * 60 * 60_000,
  IDEMPOTENT_ALLOW_MS: 10 * 60_000,
  /** Lifetime of a proof unless the agent's directory entry sets another. */
  TOKEN_TTL_MS: 10 * 60_000,
  /** How long a used or expired proof is kept, to distinguish `used` and `expired` from `invalid`. */
  TOKEN_RETENTION_MS: 7 * 24 * 60 * 60_000,
  /** Time after which the gateway answers 503 to an unfinished store call. Configurable. */
  STORE_DEADLINE_MS: 2_000,
} as const
