import { TIMER } from '../../domain/evidence.ts'
import { mayCover } from '../../domain/legal-hold.ts'
import { type StoredEvent, TilesUnavailable, type Write } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import { type EvidenceRecord, record } from '../core/event-record.ts'
import { ALL, purgeAt } from '../core/expiry-index.ts'
import { INDEX } from '../core/indexes.ts'
import { type KnownLegalHolds, legalHoldsNow } from '../core/legal-holds.ts'
import { filesAfter } from '../core/record-files.ts'
import { put, read, type Records, remove, unchanged, type Versioned } from '../core/records.ts'
import type { Plan } from '../core/transact.ts'
import { thinCheckpoints } from './checkpoints.ts'
import { planForgetting } from './forget-tasks.ts'
import { timeOf } from './publish-tiles.ts'

/*
 * Deletes disclosures when their retention ends, and checkpoints that are no longer needed, once a day. A record of
 * evidence first says up to which number, once a day. Then small commits delete them, so that a process that ends in
 * between loses nothing: the next one continues. One instance works at a time, under the lease of the tenant's entry in
 * `INDEX.purge`.
 */

/** Records of one commit. */
const TOGETHER = 200
/** Pause between two commits, because decisions come first. */
const PAUSE_MS = 50
/** Time until the next look, ms. */
const EVERY_MS = 24 * 3_600_000
/** Time until the next look while no bundle is in force, ms. */
const WAIT_MS = 60_000

type State = Records['disclosed']
const NEVER: State = { up_to: 0, done: 0 }

/** Deletes some disclosures, or records which ones expire, and plans the next step. */
export async function forgetDisclosures(deps: Deps, tenant: string): Promise<Plan<void>> {
  const retention = deps.policies.current()?.retention
  const now = deps.store.now()
  if (retention === undefined)
    return { answer: undefined, writes: [purgeAt('disclosures', ALL, now + WAIT_MS)] }
  const known = await read(deps.store, tenant, 'disclosed', ALL)
  const { up_to, done } = known?.value ?? NEVER
  if (done < up_to) return deleteSome(deps, tenant, known, retention.tasks_ms)
  const last = await lastBefore(deps, tenant, { after: up_to, time: now - retention.disclosures_ms })
  const thinned = await thinCheckpoints(deps, tenant)
  if (last <= up_to)
    return { answer: undefined, writes: [...thinned, purgeAt('disclosures', ALL, now + EVERY_MS)] }
  return {
    answer: undefined,
    guards: [unchanged('disclosed', ALL, known)],
    writes: [...thinned, put('disclosed', ALL, { up_to: last, done }), purgeAt('disclosures', ALL, now)],
    evidence: [record(now, TIMER, { tenant }, { type: 'disclosures.expired', details: { up_to: last } })],
  }
}

async function deleteSome(
  deps: Deps,
  tenant: string,
  known: Versioned<State> | undefined,
  tasks_ms: number,
): Promise<Plan<void>> {
  const { up_to, done } = known?.value ?? NEVER
  const last = Math.min(up_to, done + TOGETHER)
  const rewritten = await deps.store.range(tenant, INDEX.erased, { max: last, limit: TOGETHER })
  const holds = await legalHoldsNow(deps, tenant)
  const held = new Set<number>()
  const inStore = (await deps.store.firstEvent(tenant)) - 1
  const isAnyHeld = holds.all.holds.length > 0
  // only a hold asks what a record is about that may be only in tiles
  const after = isAnyHeld ? done : Math.max(done, inStore)
  const events = after < last ? await deps.store.events(tenant, after, last - after) : []
  if (isAnyHeld) for (const event of events) if (await isHeld(deps, holds, event)) held.add(event.number)
  const newest = events.at(-1)
  const ending = events.filter(({ number }) => number > inStore)
  const forgotten = Array.from({ length: last - done }, (_, i) => done + i + 1).flatMap((number): Write[] =>
    held.has(number) ? [] : [{ op: 'forget', number }],
  )
  return {
    answer: undefined,
    guards: [unchanged('disclosed', ALL, known), holds.guard],
    writes: [
      ...forgotten,
      ...(newest ? planForgetting(ending, timeOf(newest.body) + tasks_ms) : []),
      ...rewritten
        .filter(({ score }) => !held.has(score))
        .flatMap(({ member }): Write[] => [
          remove('erased', member),
          { op: 'index', index: INDEX.erased, member },
        ]),
      put('disclosed', ALL, { up_to, done: last }),
      purgeAt('disclosures', ALL, deps.store.now() + (last < up_to ? PAUSE_MS : EVERY_MS)),
    ],
  }
}

/** True for a record of a call that is under a legal hold, or may be. */
async function isHeld(deps: Deps, holds: KnownLegalHolds, { body }: StoredEvent): Promise<boolean> {
  const { tenant, actor, task_id = '', thread_id = '' } = JSON.parse(body) as EvidenceRecord
  const thread = thread_id === '' ? undefined : await read(deps.store, tenant, 'thread', thread_id)
  // of a thread that is gone, only the agent's own records name the agent
  const own = actor.kind === 'agent' || thread_id === '' ? actor.id : undefined
  const data = { thread_id, task_id, agent: thread?.value.agent ?? own }
  return holds.all.holds.some((hold) => mayCover(hold, data))
}

interface Since {
  /** All records up to this number are older. */
  readonly after: number
  /** ms since 1970. */
  readonly time: number
}

/**
 * The number of the last record before the time. It reads the entries of files that left the store.
 * A file with the time inside counts as newer, when its place is away.
 */
async function lastBefore(deps: Deps, tenant: string, { after, time }: Since): Promise<number> {
  let last = after
  for (;;) {
    const files = await filesAfter(deps.store, tenant, last)
    const newer = files.findIndex((file) => file.time >= time)
    last = files[(newer < 0 ? files.length : newer) - 1]?.last ?? last
    if (files.length === 0 || newer >= 0) break
  }
  return searchBefore(deps, tenant, { after: last, time }).catch((error: unknown) => {
    if (error instanceof TilesUnavailable) return last
    throw error
  })
}

/** The same, by the records themselves. It searches in steps that double, then halve. */
async function searchBefore(deps: Deps, tenant: string, { after, time }: Since): Promise<number> {
  const olderAt = async (number: number): Promise<number | undefined> => {
    const [event] = await deps.store.events(tenant, number - 1, 1)
    if (event === undefined) return undefined
    const { at } = JSON.parse(event.body) as { readonly at: string }
    return Date.parse(at) < time ? event.number : undefined
  }
  let last = after
  let step = 1
  for (; step < Number.MAX_SAFE_INTEGER / 4; step *= 2) {
    const older = await olderAt(last + step)
    if (older === undefined) break
    last = older
  }
  for (step = Math.floor(step / 2); step >= 1; step = Math.floor(step / 2)) {
    const older = await olderAt(last + step)
    if (older !== undefined) last = Math.max(last, older)
  }
  return last
}
