import type { Freezes } from '../../domain/freeze.ts'
import type { Thread } from '../../domain/thread.ts'
import { type Fault, type DumpEntry, type StoreArchive, untilStill } from '../../store/archive.ts'
import { createLawCheck, nameOf } from '../../store/archive-laws.ts'
import { checkAsked } from './asked.ts'
import { checkCredentials, checkTimes } from './credentials.ts'
import { checkDisclosures } from './disclosures.ts'
import { checkEvidence, CLOCK_TOLERANCE_MS } from './evidence.ts'
import { fault, type PartCheck } from './part.ts'
import { checkFiles } from './files.ts'
import { checkSignIns } from './sign-ins.ts'
import { checkStory } from './story.ts'
import { checkThreads } from './threads.ts'
import { checkTree } from './tree.ts'
import type { AcceptedLoss } from '../../evidence/loss-check.ts'
import { WIDTH } from '../../tiles/layout.ts'
import { readFileEntry, type RecordFile } from '../core/record-files.ts'
import { SYSTEM } from '../core/records.ts'
import { INDEX, TENANTS_INDEX } from '../core/indexes.ts'
import { noneEarlier, type ReadEarlier, wholeLog } from './whole-log.ts'

export interface Finding extends Fault {
  readonly partition: string
}

export interface CheckReport {
  /** At most `MOST_FINDINGS`. */
  readonly findings: readonly Finding[]
  /** The number of further findings. */
  readonly omitted: number
  /** Records that are lost, as an administrator accepted. */
  readonly lost: readonly (AcceptedLoss & { readonly partition: string })[]
  readonly counts: Readonly<Record<'partitions' | 'events' | 'index' | 'limits' | 'records', number>>
}

const MOST_FINDINGS = 1_000

/**
 * Reads the whole store once, and reports every violation of a law (src/store/store.ts) or of a rule of the gateway
 * (part.ts). Changes nothing.
 *
 * @param earlier reads records that left the store; the default is for a store that has all
 * @throws StoreMoved when a partition kept changing, and the errors of `earlier`
 */
export async function checkStore(
  archive: StoreArchive,
  earlier: ReadEarlier = noneEarlier,
): Promise<CheckReport> {
  const findings: Finding[] = []
  const lost: CheckReport['lost'][number][] = []
  const counts = { partitions: 0, events: 0, index: 0, limits: 0, records: 0 }
  const tenants = new Set<string>()
  const members = new Set<string>()
  const partitions = await archive.partitions()
  for (const partition of partitions) {
    const seen = await untilStill(() => readPartition(archive, partition, earlier))
    counts.partitions += 1
    for (const kind of ['events', 'index', 'limits', 'records'] as const) counts[kind] += seen.counts[kind]
    for (const one of seen.faults) findings.push({ partition, ...one })
    for (const one of seen.lost) lost.push({ partition, ...one })
    for (const member of seen.tenants) members.add(member)
    if (seen.isTenant) tenants.add(partition)
  }
  for (const tenant of tenants)
    if (!members.has(tenant))
      findings.push({
        partition: SYSTEM,
        ...fault('G07', `tenant \`${tenant}\` is not in the index of tenants`),
      })
  const time = await archive.time()
  if (time > archive.now() + CLOCK_TOLERANCE_MS)
    findings.push({
      partition: SYSTEM,
      ...fault('S12', `the store has recorded the time ${time}, but its clock reads ${archive.now()}`),
    })
  const omitted = Math.max(0, findings.length - MOST_FINDINGS)
  return { findings: findings.slice(0, MOST_FINDINGS), omitted, lost, counts }
}

interface Seen {
  readonly faults: Fault[]
  readonly counts: Record<'events' | 'index' | 'limits' | 'records', number>
  /** Tenants in the index of the system partition. */
  readonly tenants: string[]
  /** Losses that evidence explains. */
  readonly lost: AcceptedLoss[]
  isTenant: boolean
}

/** The record files of a partition whose loss was accepted. Their entries follow the events. */
async function lostIn(archive: StoreArchive, partition: string): Promise<readonly RecordFile[]> {
  const files: RecordFile[] = []
  for await (const entry of archive.dump(partition)) {
    if (entry.kind === 'head' && entry.first === 1) return []
    if (entry.kind === 'index' && entry.index === INDEX.files) files.push(readFileEntry(entry))
  }
  return files.filter(({ isLost }) => isLost)
}

const OF_TENANTS = ['key', 'holder', 'session', 'link', 'linked', 'thread']

/** The checks of a partition, without that of its record files. */
const checksOf = (partition: string, now: () => number): readonly PartCheck[] => [
  checkEvidence(partition, now),
  checkDisclosures(),
  checkThreads(partition),
  checkAsked(),
  checkCredentials(now),
  checkSignIns(),
  checkFreezes(),
  checkStory(),
  checkTree(),
  checkTimes(now),
]

async function readPartition(archive: StoreArchive, partition: string, earlier: ReadEarlier): Promise<Seen> {
  const now = (): number => archive.now()
  const laws = createLawCheck()
  const files = checkFiles()
  const parts = [...checksOf(partition, now), files]
  const seen: Seen = {
    faults: [],
    counts: { events: 0, index: 0, limits: 0, records: 0 },
    tenants: [],
    lost: [],
    isTenant: false,
  }
  const report = (faults: readonly Fault[]): void => {
    for (const one of faults) if (seen.faults.length <= MOST_FINDINGS) seen.faults.push(one)
  }
  async function* lawful(): AsyncGenerator<DumpEntry> {
    for await (const entry of archive.dump(partition)) {
      report(laws.take(entry))
      count(seen, partition, entry)
      yield entry
    }
  }
  let lost: readonly RecordFile[] | undefined
  // files that are lost need no place
  const readable: ReadEarlier = async (of, range) => {
    lost ??= await lostIn(archive, partition)
    const gone = lost.find(({ last }) => last - WIDTH <= range.after && range.after < last)
    if (gone === undefined) {
      const next = lost.find(({ last }) => last > range.after)?.last ?? Infinity
      return earlier(of, { ...range, limit: Math.min(range.limit, next - WIDTH - range.after) })
    }
    const limit = range.after + range.limit - gone.last
    return limit <= 0 ? [] : readable(of, { ...range, after: gone.last, limit })
  }
  let passed = 0
  for await (const entry of wholeLog(lawful(), (range) => readable(partition, range))) {
    for (
      let next = lost?.[passed];
      entry.kind === 'event' && next !== undefined && next.last < entry.number;
    ) {
      for (const part of parts) part.lost?.(next)
      next = lost?.[++passed]
    }
    report(faultsIn(parts, entry))
  }
  seen.lost.push(...files.accepted())
  report(laws.end())
  for (const part of parts) report(part.end?.() ?? [])
  return seen
}

const COUNTED = { event: 'events', index: 'index', limit: 'limits', record: 'records' } as const

function count(seen: Seen, partition: string, entry: DumpEntry): void {
  if (entry.kind === 'head' || entry.kind === 'fault' || entry.kind === 'disclosures') return
  seen.counts[COUNTED[entry.kind]] += 1
  if (entry.kind === 'index' && partition === SYSTEM && entry.index === TENANTS_INDEX)
    seen.tenants.push(entry.member)
  if (entry.kind === 'record' && OF_TENANTS.includes(entry.type)) seen.isTenant = true
}

/** The faults of an entry. Unexpected content in a record must not end the check. */
function faultsIn(parts: readonly PartCheck[], entry: DumpEntry): Fault[] {
  try {
    if (entry.kind === 'event') return parts.flatMap((part) => part.event?.(entry) ?? [])
    if (entry.kind === 'index') return parts.flatMap((part) => part.member?.(entry) ?? [])
    if (entry.kind !== 'record') return []
    const value = JSON.parse(entry.body) as unknown
    return parts.flatMap((part) => part.record?.(entry.type, entry.id, value) ?? [])
  } catch {
    return [fault('G09', `${nameOf(entry)} has unexpected content`)]
  }
}

/**
 * Checks the epochs of freezes (G12). A thread of a later epoch than the tenant's would survive the next freeze.
 * `freezes` precede threads.
 */
export function checkFreezes(): PartCheck {
  let reached = 0
  return {
    record(type, id, value) {
      if (type === 'freezes') {
        const { epoch, freezes } = value as Freezes
        reached = epoch
        return freezes.filter((one) => one.epoch > epoch).map((one) => ahead('a freeze', one.epoch, epoch))
      }
      if (type !== 'thread') return []
      const { freeze_epoch: opened = 0, votes } = value as Thread
      const freeze_epoch = Math.max(opened, ...votes.map((vote) => vote.freeze_epoch ?? 0))
      return freeze_epoch > reached ? [ahead(`thread \`${id}\``, freeze_epoch, reached)] : []
    },
  }
}

const ahead = (what: string, epoch: number, reached: number): Fault =>
  fault('G12', `${what} has epoch ${epoch}, but the tenant's freezes have only reached ${reached}`)
