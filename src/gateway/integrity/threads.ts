import type { Thread } from '../../domain/thread.ts'
import type { Fault, MemberEntry } from '../../store/archive.ts'
import type { Write } from '../../store/store.ts'
import { fault, type PartCheck } from './part.ts'
import type { RevisionRecord } from '../core/records.ts'
import { INDEX } from '../core/indexes.ts'
import { listThread, threadOfMember } from '../thread/thread-indexes.ts'
import { writeThread } from '../thread/thread-records.ts'

/*
 * Checks threads, their index entries (G01, G02) and their revisions (G03). The function that the verbs use computes
 * the expected entries.
 */

/** The prefix of `INDEX.queueBy`. */
const QUEUE_BY = 'queue-by/'

const OF_THREADS: readonly string[] = [INDEX.threads, INDEX.due]
const FAMILIES = [
  INDEX.status(''),
  INDEX.pending(''),
  INDEX.queue(''),
  QUEUE_BY,
  'task/',
  INDEX.voted(''),
  INDEX.decided(''),
]

interface Revisions {
  count: number
  highest: number
  /** The digest of the highest revision. */
  digest: string
}

export function checkThreads(partition: string): PartCheck {
  /** Lines of `<score> <index>`, by thread, until the thread's record arrives. */
  const places = new Map<string, string>()
  const revisions = new Map<string, Revisions>()
  const commented = new Set<string>()
  const note = (thread: string, place: string): void => {
    const before = places.get(thread)
    places.set(thread, inOnePiece(before === undefined ? place : `${before}\n${place}`))
  }

  const thread = (id: string, value: Thread): Fault[] => {
    if (value.thread_id !== id || value.tenant !== partition)
      return [
        fault(
          'G09',
          `the record of thread \`${id}\` names thread \`${value.thread_id}\` of tenant \`${value.tenant}\``,
        ),
      ]
    const found = places.get(id)?.split('\n') ?? []
    const faults = [...comparePlaces(value, found), ...compareRevisions(value, revisions.get(id))]
    places.delete(id)
    revisions.delete(id)
    commented.delete(id)
    return faults
  }

  return {
    member(entry) {
      const place = placeOf(entry)
      if (place !== undefined) note(place.thread, place.text)
      return []
    },
    record(type, id, value) {
      if (type === 'revision') return noteRevision(revisions, id, value as RevisionRecord)
      if (type === 'comments') commented.add(id)
      return type === 'thread' ? thread(id, value as Thread) : []
    },
    end: () => [
      ...[...places].map(([id, found]) =>
        fault('G02', `${listOf(found.split('\n'))} names thread \`${id}\`, which does not exist`),
      ),
      ...[...revisions.keys()].map((id) =>
        fault('G03', `there are revisions of thread \`${id}\`, but no thread`),
      ),
      ...[...commented].map((id) => fault('G10', `there are comments on thread \`${id}\`, but no thread`)),
    ],
  }
}

/** Copies a string. V8 keeps a concatenated string as its parts, which takes three times the memory. */
const inOnePiece = (text: string): string => Buffer.from(text).toString()

const MARKED = 'mark'

/** The position of an entry. All marks of a thread count as one. */
function placeOf({ index, score, member }: MemberEntry): { thread: string; text: string } | undefined {
  if (OF_THREADS.includes(index) || FAMILIES.some((family) => index.startsWith(family)))
    return { thread: threadOfMember(member), text: `${score} ${index}` }
  const evidence = INDEX.evidence('')
  return index.startsWith(evidence) ? { thread: index.slice(evidence.length), text: MARKED } : undefined
}

function comparePlaces(thread: Thread, found: readonly string[]): Fault[] {
  const written = writeThread(undefined, thread, { at: 0, evidence: [] })
  const expected = [...written.writes, ...listThread(thread)].flatMap(placeWritten)
  const left = new Set(found)
  const missing: string[] = []
  for (const place of expected) {
    const stands = place.endsWith(` ${INDEX.due}`) ? leased(place, found) : place
    if (stands === undefined || !left.delete(stands)) missing.push(place)
  }
  const id = thread.thread_id
  return [
    ...(written.thread.due_at === thread.due_at
      ? []
      : [
          fault(
            'G01',
            `thread \`${id}\` names the due time ${thread.due_at}, not at ${written.thread.due_at}`,
          ),
        ]),
    ...(missing.length === 0 ? [] : [fault('G01', `thread \`${id}\` is missing from ${listOf(missing)}`)]),
    ...(left.size === 0 ? [] : [fault('G01', `thread \`${id}\` does not belong in ${listOf([...left])}`)]),
  ]
}

/**
 * The position of a leased entry. The position is later than the due time until the timer has finished or the lease
 * ends.
 */
function leased(place: string, found: readonly string[]): string | undefined {
  const due = Number.parseFloat(place)
  return found.find((one) => one.endsWith(` ${INDEX.due}`) && Number.parseFloat(one) >= due)
}

function placeWritten(write: Write): string[] {
  if (write.op === 'mark') return [MARKED]
  // other entries in that index belong to counters, not to the thread
  const isOwn = write.op === 'index' && write.to !== undefined && write.index !== INDEX.purge
  return isOwn ? [`${write.to} ${write.index}`] : []
}

function listOf(places: readonly string[]): string {
  return places
    .map((place) =>
      place === MARKED ? 'its index of evidence' : `\`${place.slice(place.indexOf(' ') + 1)}\``,
    )
    .join(', ')
}

function noteRevision(
  revisions: Map<string, Revisions>,
  id: string,
  { number, digest }: RevisionRecord,
): Fault[] {
  const slash = id.lastIndexOf('/')
  const thread = id.slice(0, slash)
  if (String(number) !== id.slice(slash + 1))
    return [fault('G03', `the record of revision \`${id}\` names revision ${number}`)]
  const known = revisions.get(thread) ?? { count: 0, highest: 0, digest: '' }
  known.count += 1
  if (number > known.highest) Object.assign(known, { highest: number, digest })
  revisions.set(thread, known)
  return []
}

function compareRevisions(thread: Thread, found: Revisions | undefined): Fault[] {
  const { thread_id, revision, digest } = thread
  if (found?.count !== revision || found.highest !== revision)
    return [
      fault(
        'G03',
        `thread \`${thread_id}\` is at revision ${revision}, but has ${found?.count ?? 0} revisions`,
      ),
    ]
  return found.digest === digest
    ? []
    : [fault('G03', `thread \`${thread_id}\` does not show its last revision`)]
}
