/**
 * Signals that ask a process to end. They come from its parent, from Ctrl-C, or from the end of the terminal. Without a
 * listener, each signal ends the process immediately.
 */
export const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
