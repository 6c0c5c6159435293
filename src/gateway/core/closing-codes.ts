/** What ends a thread without a decision of reviewers: each is a stable code at the start of its message. */
export type ClosingCode = 'expired' | 'frozen' | 'withdrawn' | LapseCode

/** Why an approval no longer holds. */
export type LapseCode = 'policy_changed' | 'reviewer_removed' | 'store_changed'

export const closingMessage = (code: ClosingCode, sentence: string): string => `${code}: ${sentence}`
