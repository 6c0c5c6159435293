/** The member `v` of every record. */
export const EVIDENCE_VERSION = 1

/** The actor of a record. */
export interface Actor {
  readonly kind: 'agent' | 'reviewer' | 'admin' | 'gateway'
  readonly id: string
  /**
   * The first characters of the key's SHA-256 (`key_hash` of `key.issued`). Present for an agent or reviewer with an
   * API key.
   */
  readonly key?: string
}

export const TIMER: Actor = { kind: 'gateway', id: 'timer' }
export const BY_FREEZING: Actor = { kind: 'gateway', id: 'freeze' }
export const ADMIN: Actor = { kind: 'admin', id: 'admin' }
export const agentNamed = (id: string): Actor => ({ kind: 'agent', id })
export const reviewerNamed = (id: string): Actor => ({ kind: 'reviewer', id })

/** Characters of `Actor.key`. */
export const KEY_NAME_CHARS = 16

/**
 * The tenant of records that belong to no tenant. Administrators act there, and reviewers with the admin role of any
 * tenant.
 */
export const SYSTEM = '_system'

/** Bundle revision in records of rejections without policy: no bundle is in force, or the call was frozen. */
export const NO_BUNDLE = 'none'

/** The deciding rule of a call that a freeze rejected. */
export const BY_FREEZE = 'frozen'
