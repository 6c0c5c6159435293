import type { ThreadSummary } from '../../contract/reviewer.ts'
import { AgentText } from '../text/agent-text.tsx'

interface GistProps {
  readonly of: { readonly subject?: string; readonly message?: string }
}

/** The agent's words in quotation marks, which distinguish them from the words of policy. */
export function Gist({ of: { subject, message = '' } }: GistProps) {
  const said = <AgentText text={subject ?? message} />
  return subject ? <q>{said}</q> : said
}

const WORDS: Readonly<Record<string, string>> = {
  pending_review: 'waiting',
  changes_requested: 'changes requested',
}

/** The status of the thread; a withdrawn call is not shown as rejected. */
export const statusOf = ({ status, withdrawn_at }: Pick<ThreadSummary, 'status' | 'withdrawn_at'>): string =>
  withdrawn_at === undefined ? status : 'withdrawn'

export function Status({ status }: { readonly status: string }) {
  return <span class={`status ${status}`}>{WORDS[status] ?? status}</span>
}
