import type { Code, NotExecuted, RefusalDetails } from './errors.ts'

/** Adds what the thrower did not know. */
export function withDetails(error: NotExecuted, details: RefusalDetails): NotExecuted {
  const missing = Object.entries(details).filter(([name]) => error[name as keyof NotExecuted] === undefined)
  return Object.assign(error, Object.fromEntries(missing))
}

/** The text for the model of a program in which an equal call continues the wait, such as `countersign mcp`. */
export function refusalText({ code, reason, message, thread_id }: NotExecuted): string {
  if (code !== 'still_pending') return message
  if (thread_id === undefined)
    return `Not executed: ${reason}. Call the tool again with exactly the same arguments to continue.`
  return `Not executed: people have not decided yet (thread ${thread_id}). Call the tool again with exactly the same arguments to continue waiting.`
}

/** The same information for programs. */
export function refusalFacts({ code, thread_id }: NotExecuted): { readonly [name: string]: string } {
  return {
    'countersign/code': code,
    ...(thread_id === undefined ? {} : { 'countersign/thread_id': thread_id }),
  }
}

const UNDECIDED: readonly Code[] = [
  'still_pending',
  'outcome_unknown',
  'gateway_unavailable',
  'gateway_untrusted',
  'gateway_refused',
]

/**
 * True when the decision on the call is unknown. The same call may be repeated and then resumes. An `aborted` call is
 * withdrawn and does not resume.
 */
export function isUndecided({ code }: NotExecuted): boolean {
  return UNDECIDED.includes(code)
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
