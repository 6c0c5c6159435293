export const REVERSIBILITIES = ['read_only', 'reversible', 'external', 'irreversible'] as const
