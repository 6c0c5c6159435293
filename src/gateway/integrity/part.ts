import type { EventEntry, Fault, MemberEntry } from '../../store/archive.ts'

/*
 * Rules of the gateway on top of the store's laws. `countersign store check` reports their ids, and docs/store.md lists
 * them.
 */
export const GATEWAY_RULES = {
  G01: 'a thread stands in exactly the indexes that its state calls for',
  G02: 'what an index of threads names is a thread',
  G03: 'the revisions 1 to n of a thread are there, and the thread shows the last one',
  G04: 'a token is the one that its thread names, and a thread that names one has it',
  G05: 'a token is used exactly when the approval of its thread is redeemed',
  G06: 'every key has its holder, and every holder its key',
  G07: 'every tenant with keys, sessions or threads is in the index of tenants',
  G08: 'every evidence record is JSON and names its tenant',
  G09: 'every record can be understood',
  G10: 'comments are those of a thread',
  G11: 'sessions and links stand in the list of their reviewer, and what that list names is there',
  G12: "no thread and no freeze is of a later epoch than the tenant's freezes have reached",
  G13: 'the tree over evidence is that of its first records, and the last checkpoint has its root',
  G14: 'evidence tells what can have happened',
  G15: 'threads are as evidence tells',
  G16: 'of equal calls that wait, the one that reviewers were notified of is recorded, and no other',
} as const

/**
 * One part of the check of a partition. Entries arrive in the order of an archive: events, members, records by type.
 */
export interface PartCheck {
  readonly event?: (entry: EventEntry) => Fault[]
  readonly member?: (entry: MemberEntry) => Fault[]
  /** `value` is the parsed body. */
  readonly record?: (type: string, id: string, value: unknown) => Fault[]
  /** The faults that only the end shows. */
  readonly end?: () => Fault[]
}

export function fault(law: keyof typeof GATEWAY_RULES | 'S12' | 'S17', what: string): Fault {
  return { law, what }
}
