/** The clauses of SQL that a rule can ask for. */
export const CLAUSES = ['where', 'limit', 'recursive'] as const
export type Clause = (typeof CLAUSES)[number]
