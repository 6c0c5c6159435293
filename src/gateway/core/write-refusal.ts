/**
 * The store's reasons for refusing a write, worded for callers. The words reveal the kind of reason, but no server,
 * path or amount.
 */
const PUBLIC_WORDS: readonly (readonly [said: RegExp, words: string])[] = [
  [/\bOOM\b/, 'it is out of memory'],
  [/\bREADONLY\b|\bnot a primary\b|\bno longer a primary\b/, 'it is read-only'],
  [/\bNOREPLICAS\b/, 'too few replicas follow it'],
  [/\bMISCONF\b/, 'it cannot save to its disk'],
  [/\bdisk is nearly full\b|\bENOSPC\b/, 'its disk is nearly full'],
]

/** The reason why the store refused a write, worded for callers; undefined for every other failure. */
export function publicReason(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const words = PUBLIC_WORDS.find(([said]) => said.test(error.message))?.[1]
  return words ?? publicReason(error.cause)
}
