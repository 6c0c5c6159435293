import type { RecordFile } from '../core/record-files.ts'
import type { EventEntry, Fault, MemberEntry } from '../../store/archive.ts'

/*
 * Rules of the gateway in addition to the store's laws. `countersign store check` reports their ids, and docs/store.md
 * lists them.
 */
export const GATEWAY_RULES = {
  G01: 'each thread is in exactly the indexes that its state requires',
  G02: 'each entry in an index of threads names an existing thread',
  G03: 'each thread has its revisions 1 to n and shows the last one',
  G04: 'each proof and its thread name one another',
  G05: 'a proof is used if and only if the approval of its thread is redeemed',
  G06: 'every key has its holder, and every holder its key',
  G07: 'every tenant with keys, sessions or threads is in the index of tenants',
  G08: 'every evidence record is JSON and names its tenant',
  G09: 'every record has a known form',
  G10: 'each comment belongs to a thread',
  G11: 'sessions and links are in the list of their reviewer, and each entry of that list exists',
  G12: "no thread and no freeze has a later epoch than the tenant's freezes",
  G13: 'the tree over evidence matches its first records, and the last checkpoint has its root',
  G14: 'evidence describes a possible history',
  G15: 'threads match their evidence',
  G16: 'among equal waiting calls, only the call that reviewers were notified about is recorded',
  G17: 'legal holds match their evidence, and no thread under one was deleted',
  G18: 'disclosures match the commitment of their record, and evidence explains each that is gone',
  G19: 'each record file that left the store has an entry with its hash, or evidence says that it is lost',
} as const

/**
 * One part of the check of a partition. Entries arrive in the order of an archive: events, members, records by type.
 */
export interface PartCheck {
  readonly event?: (entry: EventEntry) => Fault[]
  /** A record file whose loss was accepted, in its place among the events. */
  readonly lost?: (file: RecordFile) => void
  readonly member?: (entry: MemberEntry) => Fault[]
  /** `value` is the parsed body. */
  readonly record?: (type: string, id: string, value: unknown) => Fault[]
  /** Faults that can be found only after the last entry. */
  readonly end?: () => Fault[]
}

export function fault(law: keyof typeof GATEWAY_RULES | 'S12' | 'S17', what: string): Fault {
  return { law, what }
}
