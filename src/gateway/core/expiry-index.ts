import type { Write } from '../../store/store.ts'
import { INDEX } from './indexes.ts'

/** Records that the timer ends or deletes when they are due (src/gateway/jobs/scheduler.ts). */
export type Purged =
  | 'key'
  | 'answer'
  | 'token'
  | 'session'
  | 'link'
  | 'linked'
  | 'clicked'
  | 'delivery'
  | 'webhook'
  | 'freeze'
  | 'limit'
  | 'threads'
  | 'disclosures'
  | 'erasure'
  | 'task'
  | 'call'

/** The id of the single entry for all freezes, ended threads or old disclosures of a tenant. */
export const ALL = 'all'

/** A member of `INDEX.purge`. */
export const purged = (type: Purged, id: string): string => `${type} ${id}`

/** Splits a member. A newer version may have written a type that this version does not know. */
export function readPurged(member: string): { readonly type: string; readonly id: string } {
  const end = member.indexOf(' ')
  return { type: member.slice(0, end), id: member.slice(end + 1) }
}

/** Schedules the timer's check for `to`, ms since 1970. */
export function purgeAt(type: Purged, id: string, to: number): Write {
  return { op: 'index', index: INDEX.purge, member: purged(type, id), to }
}

/** Cancels the timer's check. */
export function neverPurge(type: Purged, id: string): Write {
  return { op: 'index', index: INDEX.purge, member: purged(type, id) }
}
