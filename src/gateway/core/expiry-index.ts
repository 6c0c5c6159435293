import type { Write } from '../../store/store.ts'
import { INDEX } from './records.ts'

/** What the timer ends or forgets when its time has come; how, is said in src/gateway/jobs/scheduler.ts. */
export type Purged =
  | 'key'
  | 'answer'
  | 'token'
  | 'session'
  | 'link'
  | 'delivery'
  | 'webhook'
  | 'freeze'
  | 'limit'

/** Of a tenant's freezes, taken together, what they are to end. */
export const ALL_FREEZES = 'all'

/** As a member of `INDEX.purge`. */
export const purged = (type: Purged, id: string): string => `${type} ${id}`

/** The other way round. What a later version wrote may have a type that is not known here. */
export function readPurged(member: string): { readonly type: string; readonly id: string } {
  const end = member.indexOf(' ')
  return { type: member.slice(0, end), id: member.slice(end + 1) }
}

/** The timer looks at it at `to`, ms since 1970, and not before. */
export function purgeAt(type: Purged, id: string, to: number): Write {
  return { op: 'index', index: INDEX.purge, member: purged(type, id), to }
}

/** The timer has nothing more to do with it. */
export function neverPurge(type: Purged, id: string): Write {
  return { op: 'index', index: INDEX.purge, member: purged(type, id) }
}
