/** What asks a process to end: whoever started it, its terminal (Ctrl-C), or the end of that. A process without listeners is ended by each at once. */
export const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
