import type { ReadEvent } from '../record/read-event.ts'
import { requireThat } from '../record/require.ts'
import { type Ledger, requireAgent, threadOf } from './ledger.ts'

interface CallEnded {
  readonly of?: number | undefined
  readonly unmatched?: boolean | undefined
}

/** Requires the record that allowed the call, of the same agent and task, and for each such record one outcome. */
export function callEnded(ledger: Ledger, record: ReadEvent<CallEnded>): void {
  const { of, unmatched } = record.details
  if (unmatched === true) {
    requireThat(of === undefined, 'it is unmatched, but names a record')
    return requireThat(record.thread === undefined, 'it is unmatched, but names a thread')
  }
  requireThat(of !== undefined, 'it names no record that allowed its call')
  const said = `record ${of} did not allow this call, or its outcome was recorded before`
  if (record.thread === undefined) {
    const allowed = ledger.expected.get(of)
    const { actor, task, tool } = record
    requireThat(allowed?.agent === actor.id && allowed.task === task && allowed.tool === tool, said)
    ledger.expected.delete(of)
    return
  }
  const thread = threadOf(ledger, record)
  requireAgent(thread, record)
  requireThat(thread.approval?.ran === of, said)
  thread.approval = { ...thread.approval, ran: 0 }
}
