import { setImmediate as nextTurn } from 'node:timers/promises'
import { leafHash } from '../../domain/digest.ts'
import { type Actor, SYSTEM } from '../../domain/evidence.ts'
import { WIDTH } from '../../tiles/layout.ts'
import type { Deps } from '../core/deps.ts'
import { type DisclosedEvent, disclosedEvents } from '../core/disclosures.ts'
import { record } from '../core/event-record.ts'
import { nextPageSize } from '../core/page-size.ts'
import { lostFiles } from '../core/record-files.ts'
import { readConfirmed, storeCall, transact } from '../core/transact.ts'

/** Maximum number of records in one chunk. */
const CHUNK = 50
/** Maximum length, in characters, of a chunk with several records. A slow reader keeps a few chunks in memory. */
const CHUNK_UNITS = 128 * 1024

export interface EvidenceRange {
  readonly tenant: string
  /** Exports the records with a greater number. */
  readonly after: number
  readonly limit: number
  /** True to add the disclosures of each record. */
  readonly disclosures: boolean
}

/**
 * Yields evidence as NDJSON, several lines at a time, ordered by number:
 * `{"number", "leaf_hash", "disclosures", "record"}`. `record` is the exact stored text, so that its bytes hash to
 * `leaf_hash` (RFC 6962 section 2.1). The export is itself recorded as evidence in `_system`.
 */
export async function* exportEvidence(
  deps: Deps,
  range: EvidenceRange,
  reader: Actor,
): AsyncGenerator<string> {
  await noteRead(deps, range, reader)
  let { after, limit } = range
  let page = 1
  while (limit > 0) {
    const most = Math.min(limit, page)
    const from = after
    const events = await readConfirmed(deps, range.tenant, () =>
      range.disclosures
        ? disclosedEvents(deps.store, range.tenant, from, most)
        : deps.store.events(range.tenant, from, most),
    )
    const given = (await withLost(deps, range.tenant, from, startOf(events))).slice(0, most)
    const last = given.at(-1)
    if (last === undefined) return
    after = last.number
    limit -= given.length
    page = given.length < events.length ? given.length : nextPageSize(page, events, CHUNK)
    // joins lines, because an HTTP chunk for each line costs more than reading the line
    yield given.map((one) => ('root' in one ? lostLine(one) : lineOf(one, range.disclosures))).join('')
    // a fast reader never makes this loop wait, so the loop yields to other requests
    await nextTurn()
  }
}

/**
 * The records that fit into a chunk. The export reads the other records again later, which limits the memory that a
 * slow reader uses.
 */
function startOf(events: readonly DisclosedEvent[]): readonly DisclosedEvent[] {
  let room = CHUNK_UNITS
  const cut = events.findIndex(({ body, disclosures = '' }) => (room -= body.length + disclosures.length) < 0)
  return cut < 0 ? events : events.slice(0, Math.max(1, cut))
}

interface LostRecord {
  readonly number: number
  /** The hash of its record file. */
  readonly root: string
}

/** Adds the records after a number whose loss was accepted. */
async function withLost(
  { store }: Deps,
  tenant: string,
  after: number,
  events: readonly DisclosedEvent[],
): Promise<readonly (DisclosedEvent | LostRecord)[]> {
  const end = events.at(-1)?.number ?? after
  if (end - after === events.length) return events
  const lost = await storeCall(() => lostFiles(store, tenant, after + 1, end))
  const numbers = lost.flatMap(({ last, root }) =>
    Array.from({ length: WIDTH }, (_, i) => ({ number: last - WIDTH + i + 1, root })),
  )
  return [...events, ...numbers.filter(({ number }) => number > after)].toSorted(
    (a, b) => a.number - b.number,
  )
}

/** As in an export of tiles (src/tiles/export.ts). */
const lostLine = ({ number, root }: LostRecord): string => `{"number":${number},"lost":"${root}"}\n`

/** Builds the line by hand, so that the record keeps its exact bytes. */
function lineOf({ number, body, disclosures }: DisclosedEvent, withDisclosures: boolean): string {
  const beside = withDisclosures && disclosures !== undefined ? `"disclosures":${disclosures},` : ''
  return `{"number":${number},"leaf_hash":"${leafHash(body)}",${beside}"record":${body}}\n`
}

async function noteRead(deps: Deps, range: EvidenceRange, reader: Actor): Promise<void> {
  await transact(deps, SYSTEM, () =>
    Promise.resolve({
      answer: undefined,
      evidence: [
        record(
          deps.store.now(),
          reader,
          { tenant: SYSTEM },
          {
            type: 'evidence.read',
            details: {
              tenant: range.tenant,
              after: range.after,
              limit: range.limit,
              disclosures: range.disclosures ? true : undefined,
            },
          },
        ),
      ],
    }),
  )
}
