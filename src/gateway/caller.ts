/** Who is calling, as proved by a key. Nothing here ever comes from anywhere else. */
export interface Caller {
  readonly tenant: string
  readonly id: string
  readonly keyHash: string
  /** Of the key's record: every commit under the key guards it. */
  readonly keyRevision: number
}
