/** The member `v` of every record. */
export const EVIDENCE_VERSION = 1

/** Who did it. */
export interface Actor {
  readonly kind: 'agent' | 'reviewer' | 'admin' | 'gateway'
  readonly id: string
  /** Of an agent or reviewer with an API key: the first characters of its SHA-256 (`key_hash` of `key.issued`). */
  readonly key?: string
}

/** Characters of `Actor.key`. */
export const KEY_NAME_CHARS = 16

/** Tenant of what belongs to no tenant: administrators act there, and reviewers of any tenant who have the role. */
export const SYSTEM = '_system'

/** Bundle revision in records of what no policy decided: none is in force, or the call was frozen. Nothing but a rejection. */
export const NO_BUNDLE = 'none'

/** What stands among the deciding rules of a call that a freeze rejected. */
export const BY_FREEZE = 'frozen'
