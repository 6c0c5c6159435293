/**
 * The calls of a tool that need a proof (docs/policy-language.md): only those that reviewers approved, which is the
 * default, or also those that policy allows.
 */
export const PROOFS = ['on_review', 'always'] as const
export type Proof = (typeof PROOFS)[number]
