import { readFileSync } from 'node:fs'

/**
 * Signals that ask a process to end. They come from its parent, from Ctrl-C, or from the end of the terminal. Without a
 * listener, each signal ends the process immediately.
 */
export const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The bit of SIGHUP in a mask of /proc. */
const HANG_UP = 1n
const MASK = /^SigIgn:\t([0-9a-f]+)$/m

/**
 * True when SIGHUP does not concern this process. Either no terminal is attached whose end it could report, as under
 * `nohup`, or the parent ignores the signal. Node replaces an ignored signal before any script runs, so the process
 * cannot read its own mask.
 */
export function ignoresHangUp(
  isTerminal = [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY),
  statusOfParent = (): string => readFileSync(`/proc/${process.ppid}/status`, 'utf8'),
): boolean {
  if (!isTerminal) return true
  try {
    return (BigInt(`0x${MASK.exec(statusOfParent())?.[1] ?? '0'}`) & HANG_UP) !== 0n
  } catch {
    return false // a system without /proc, or a parent that has ended
  }
}
