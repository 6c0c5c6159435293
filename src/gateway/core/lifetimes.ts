import type { INDEX } from './indexes.ts'
import type { RecordType } from './records.ts'

/** A kind of stored data: its content, in words, and its end of life. */
export interface Lifetime {
  readonly holds: string
  readonly until: string
}

const FOR_EVER = 'it stays'
const WITH_ITS_RECORD = 'with its record'
const WITH_THE_THREAD = 'with its thread'
const DISCLOSED = '`retention: { disclosures }` of routing.yaml (90d)'
const TASKS =
  '`retention: { tasks }` of routing.yaml (90d) after its last record, once that leaves the store or loses its disclosures'
const OVER = 'after its end, `retention: { threads }` of routing.yaml (30d)'

/**
 * The end of life of every record. docs/data.md prints this table, and a type without a row does not compile. The timer
 * deletes records whose time is over (src/gateway/jobs/scheduler.ts).
 */
export const RECORD_LIFETIMES: Readonly<Record<RecordType, Lifetime>> = {
  thread: { holds: 'a call that was held or needs a proof: its state, votes and heading', until: OVER },
  revision: { holds: 'the payload and the claims of a held call', until: WITH_THE_THREAD },
  comments: { holds: 'comments of reviewers', until: WITH_THE_THREAD },
  asked: { holds: 'the first of equal waiting calls', until: 'the call waits no longer' },
  token: { holds: 'a proof, as a hash', until: '7 days after it expires' },
  answer: { holds: 'an answer for an `Idempotency-Key`', until: '24 hours' },
  posted: {
    holds: 'a message of a chat: its place, and the names of what it displayed',
    until: WITH_THE_THREAD,
  },
  clicked: { holds: 'a click in a chat that was counted', until: '24 hours' },
  call: {
    holds: 'an allowed call whose contract expects its outcome, without its payload',
    until: 'its outcome is due; without one, `retention: { threads }` of routing.yaml (30d)',
  },
  delivery: {
    holds: 'a delivery to a webhook, with its text',
    until: 'a day after success, 7 days after the last failure',
  },
  session: { holds: 'a session of the console, as a hash', until: 'it ends' },
  seen: { holds: 'the last use of a session', until: 'its session ends' },
  link: { holds: 'a sign-in link, as a hash', until: 'it is used, or 10 minutes' },
  linked: { holds: 'an account of a chat that votes as a reviewer', until: 'it is unlinked, or 30 days' },
  linked_in: { holds: 'the member of a workspace that a reviewer is', until: 'with its linked account' },
  key: { holds: 'a key, as a hash', until: 'it is revoked, or its overlap ends' },
  holder: { holds: 'the key in force of an agent or a reviewer', until: 'it is revoked' },
  destinations: { holds: 'webhooks, with their secrets', until: 'they are deleted' },
  freezes: { holds: 'freezes, and names that were ever frozen', until: FOR_EVER },
  legal_holds: { holds: 'legal holds in force', until: 'they are removed' },
  tree: { holds: 'the Merkle tree over evidence', until: FOR_EVER },
  checkpoint: {
    holds: 'a signed checkpoint of evidence',
    until: 'it stays: one an hour for 30 days, then one a day',
  },
  disclosed: { holds: 'the record up to which disclosures are deleted', until: FOR_EVER },
  erasure: { holds: 'an erasure in progress, with what it names', until: 'it is done' },
  erased: { holds: 'what an erasure left of the disclosures of a record', until: DISCLOSED },
  log: { holds: 'the number of the log, once a second one was started', until: FOR_EVER },
  tiles: { holds: 'the part of evidence that is in tiles, and who writes there', until: FOR_EVER },
  loss: { holds: 'the last question whether record files are lost, and the last loss', until: FOR_EVER },
  forgotten: { holds: 'the time until which threads may be deleted', until: FOR_EVER },
  instance: { holds: 'the last report of a gateway', until: 'an hour without a report' },
  sizes: { holds: 'the last measurement of the store', until: FOR_EVER },
  secret: { holds: 'secrets that the gateway made', until: FOR_EVER },
  admin: { holds: 'the admin keys in force, as hashes', until: 'the next rotation' },
}

/** The end of life of every index. */
export const INDEX_LIFETIMES: Readonly<Record<keyof typeof INDEX, Lifetime>> = {
  threads: { holds: 'all threads', until: WITH_THE_THREAD },
  due: { holds: 'threads with a time', until: 'their time has come' },
  purge: { holds: 'records with an end', until: 'their end' },
  status: { holds: 'threads by status, except those that wait for review', until: WITH_THE_THREAD },
  pending: { holds: 'waiting threads by risk', until: 'the thread waits no longer' },
  queue: { holds: 'waiting threads by urgency', until: 'the thread waits no longer' },
  queueBy: { holds: 'waiting threads by agent and tool', until: 'the thread waits no longer' },
  task: { holds: 'threads of a task', until: WITH_THE_THREAD },
  taskHistory: { holds: 'tools and labels that a task used', until: TASKS },
  rejected: { holds: 'rejected calls of a task', until: TASKS },
  allows: { holds: 'records of evidence that allowed such a call', until: WITH_ITS_RECORD },
  unreported: {
    holds: 'calls whose expected outcome is late',
    until: 'the outcome arrives, or their record ends',
  },
  agentHistory: {
    holds: 'tools and labels that an agent used',
    until: 'it stays: one entry for each tool and label',
  },
  signIns: { holds: 'sessions, links and linked accounts of a reviewer', until: WITH_ITS_RECORD },
  outbox: { holds: 'deliveries to attempt', until: 'they arrive, or are given up' },
  instances: { holds: 'gateways', until: WITH_ITS_RECORD },
  webhookTenants: { holds: 'tenants with webhooks', until: FOR_EVER },
  files: { holds: 'record files that left the store, with their hash', until: FOR_EVER },
  checkpoints: { holds: 'checkpoints', until: WITH_ITS_RECORD },
  deliveries: { holds: 'deliveries of a webhook', until: WITH_ITS_RECORD },
  posted: { holds: 'messages of chats about a thread', until: WITH_ITS_RECORD },
  voted: { holds: 'threads by reviewers who voted', until: WITH_THE_THREAD },
  decided: { holds: 'threads with votes, by tool', until: WITH_THE_THREAD },
  erased: { holds: 'records with erased disclosures', until: WITH_ITS_RECORD },
  evidence: { holds: 'records of evidence about a thread', until: WITH_THE_THREAD },
}
