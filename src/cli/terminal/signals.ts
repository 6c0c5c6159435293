/**
 * Signals that ask a process to end: from its parent, its terminal (Ctrl-C), or the end of the terminal. Without a
 * listener, each signal ends the process at once.
 */
export const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
