import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../../contract/json.ts'
import { raisedRequirement } from '../../domain/decision.ts'
import type { ReadEvent } from '../record/read-event.ts'
import { requireThat } from '../record/require.ts'
import { type Ledger, move, openThread } from './ledger.ts'
import { requirementOf } from './requirement.ts'

/* The law of raises (docs/decisions/0004). */

interface RequirementRaised {
  readonly requirement: JsonObject
}

/** Requires a requirement that asks for more, with the times of the thread. An approval was not collected. */
export function requirementRaised(ledger: Ledger, record: ReadEvent<RequirementRaised>): void {
  const thread = openThread(ledger, record)
  const { requirement: before, votes, approval } = thread
  const after = requirementOf(record.details.requirement)
  requireThat(before.seats.length > 0, 'no reviewer was asked about it')
  requireThat(isDeepStrictEqual(raisedRequirement(before, after), after), 'it is less strict than before')
  requireThat(!isDeepStrictEqual(raisedRequirement(before, before), after), 'it asks for nothing more')
  requireThat(approval?.collected === undefined, 'its approval had been collected')
  move(thread, 'raise')
  delete thread.approval
  thread.requirement = after
  thread.votes = votes.map((vote) => ({ ...vote, raised: true }))
}
