/**
 * Reasons that end a thread without a decision of reviewers. Each reason is a stable code at the start of the message.
 */
export type ClosingCode = 'expired' | 'frozen' | 'withdrawn' | LapseCode

/** Reasons why an approval is no longer valid. */
export type LapseCode = 'policy_changed' | 'reviewer_removed' | 'store_changed'

export const closingMessage = (code: ClosingCode, sentence: string): string => `${code}: ${sentence}`
