/** The parts of a review level that only the reviewer's page uses. */
export interface LevelView {
  /** Ready-made comments, at most nine. */
  readonly comments: readonly string[]
  /** `required`: hidden values are parts to see. */
  readonly reveal: 'required' | 'optional'
  /** Present when reviewers may decide in a chat. With a time, only those who used the console within it. */
  readonly chat?: { readonly signed_in_within_ms?: number }
}
