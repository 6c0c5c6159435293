/** Who is calling, as proved by a key. Nothing here ever comes from anywhere else. */
export interface Caller {
  readonly tenant: string
  readonly id: string
  /** How: by a key, or in a session that began with a one-time link or at the identity provider. */
  readonly via: 'key' | 'link' | 'oidc'
  readonly keyHash: string
  /** Of the key's record: every commit under the key guards it. */
  readonly keyRevision: number
}
