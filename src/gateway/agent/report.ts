import { agentNamed } from '../../domain/evidence.ts'
import type { AgentEvent, EventReceipt } from '../../contract/agent.ts'
import { defined } from '../../contract/defined.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { Deps } from '../core/deps.ts'
import { isoTime, record } from '../core/event-record.ts'
import { type Caller, keyGuard } from '../core/caller.ts'
import { standingOf } from '../auth/standing.ts'
import { type Committed, transact, storeCall } from '../core/transact.ts'
import { refuseWithoutRoom } from '../core/budgets.ts'
import { INDEX } from '../core/indexes.ts'
import { keepsWords } from '../core/kept-words.ts'

/**
 * Stores an agent's complete report about its own work (docs/agent-api.md) as one evidence record.
 *
 * @throws GatewayError `unauthenticated`, `store_unavailable`, `outcome_unknown`
 */
export async function report(
  deps: Deps,
  caller: Caller,
  taskId: string,
  event: AgentEvent,
): Promise<Committed<EventReceipt>> {
  standingOf(deps, caller)
  if (!(await hasThread(deps, caller, taskId))) refuseWithoutRoom(deps)
  const event_id = `evt_${deps.nextId()}`
  return transact(deps, caller.tenant, async () => {
    const now = deps.store.now()
    return {
      answer: { event_id, recorded_at: isoTime(now) },
      guards: [keyGuard(caller)],
      counted: true,
      evidence: [
        record(
          now,
          agentNamed(caller.id),
          { tenant: caller.tenant, task_id: taskId },
          {
            type: 'agent.event',
            details: { event_id },
            disclosed: keepsWords(deps, 'agent_words') ? reported(event) : {},
          },
        ),
      ],
    }
  })
}

const reported = ({ event_type, event_summary, payload, images }: AgentEvent) =>
  defined({ event_type, event_summary, payload: payload as JsonObject | undefined, images })

/**
 * True when the task has a thread. The gateway accepts reports of such a task even while it refuses new calls. Called
 * only then.
 */
async function hasThread(deps: Deps, { tenant, id }: Caller, taskId: string): Promise<boolean> {
  if (deps.store.shortOfRoom() === undefined) return true
  const found = await storeCall(() => deps.store.range(tenant, INDEX.task(id, taskId), { limit: 1 }))
  return found.length > 0
}
