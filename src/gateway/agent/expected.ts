import { sha256 } from '../../domain/digest.ts'
import type { Thread } from '../../domain/thread.ts'
import type { Guard, Write } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import { purgeAt } from '../core/expiry-index.ts'
import { INDEX } from '../core/indexes.ts'
import { put, read, unchanged } from '../core/records.ts'
import type { Evaluation } from './evaluation.ts'

/** Entries of calls whose contract says `outcome: expected` (docs/policy-language.md#outcomes). */

export const callId = (agent: string, task: string, hash: string): string => `${agent}/${task}/${hash}`

/** The index of the records that allowed a call. */
export const allowsOf = (id: string): string => INDEX.allows(sha256(id))

/** The entry that the commit of an allowed call adds, so that its outcome finds it. Equal calls share an entry. */
export async function expecting(
  deps: Deps,
  { caller, submission, at }: Evaluation,
  outcomeMs: number,
): Promise<{ readonly guards: readonly Guard[]; readonly writes: readonly Write[] }> {
  const { taskId: task_id, request } = submission
  // no outcome can name a call without a hash
  const id = callId(caller.id, task_id, request.action_hash ?? deps.nextId())
  const known = await read(deps.store, caller.tenant, 'call', id)
  const call = { agent: caller.id, task_id, tool: request.tool_name, at, ended: known?.value.ended ?? [] }
  return {
    guards: [unchanged('call', id, known)],
    writes: [put('call', id, call), purgeAt('call', id, at + outcomeMs), { op: 'mark', index: allowsOf(id) }],
  }
}

/** The same for a held call that may run from now on. */
export function expectingThread(deps: Deps, { thread_id, tool }: Thread, at: number): Write[] {
  const { outcomeMs } = deps.policies.current()?.tools.get(tool) ?? {}
  return outcomeMs === undefined ? [] : [purgeAt('call', thread_id, at + outcomeMs)]
}
