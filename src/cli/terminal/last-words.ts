/** Longest time for what is still to be said when all else is done, ms. */
const LAST_WORDS_MS = 1_000

/** Ends this process, with its exit code, also when nobody reads what it has said. For whoever hears signals: no second one should be needed. */
export function endAfterLastWords(): void {
  setTimeout(() => process.exit(), LAST_WORDS_MS).unref()
}
