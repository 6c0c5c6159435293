/** Maximum time for the last output, ms. */
const LAST_WORDS_MS = 1_000

/**
 * Ends this process with its exit code, even when its output is not read. Callers handle signals, and one signal must
 * be enough.
 */
export function endAfterLastWords(): void {
  setTimeout(() => process.exit(), LAST_WORDS_MS).unref()
}
