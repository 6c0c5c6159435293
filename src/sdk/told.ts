import type { NotExecuted, Outcome } from './outcome.ts'

/** What a model reads of its call that did not run: by `countersign mcp`, `countersign hook` and the adapters in the same words. */
export function told({ outcome, message, thread_id }: NotExecuted): string {
  if (outcome === 'timeout' && thread_id === undefined)
    return `Not executed: ${message}. Call the tool again with exactly the same arguments to go on.`
  if (outcome === 'timeout')
    return `Not executed: people have not decided yet (thread ${thread_id}). Call the tool again with exactly the same arguments to go on waiting.`
  if (outcome === 'changes_requested') return `Not executed: the reviewers ask for changes: ${message}`
  return `Not executed: ${message}`
}

/** The same for programs. */
export function factsOf({ outcome, thread_id }: NotExecuted): { readonly [name: string]: string } {
  return {
    'countersign/outcome': outcome,
    ...(thread_id === undefined ? {} : { 'countersign/thread_id': thread_id }),
  }
}

const UNDECIDED: readonly Outcome[] = ['timeout', 'gateway_error']

/** Nobody has decided, or nobody knows what was: the same call may come again, and goes on. One that was given up (`aborted`) is withdrawn. */
export function isUndecided({ outcome }: NotExecuted): boolean {
  return UNDECIDED.includes(outcome)
}
