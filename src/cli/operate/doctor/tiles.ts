import { existsSync } from 'node:fs'
import { openArchive, openStore } from '../../../app/store.ts'
import { lastLog, openPlaces, type Places, tilesAddressOf } from '../../../app/places.ts'
import { SYSTEM } from '../../../domain/evidence.ts'
import type { StoreSizes } from '../../../gateway/core/records.ts'
import { DAY_MS } from '../../../gateway/integrity/size.ts'
import { prepareDirectory } from '../../../policy/bundle/directory.ts'
import type { Config } from '../../../settings/config.ts'
import type { StoreArchive } from '../../../store/archive.ts'
import { WIDTH } from '../../../tiles/layout.ts'
import { readNote, sizeIn } from '../../../tiles/log.ts'
import { createApi } from '../../client/api-client.ts'
import { bytesText } from '../../terminal/visible-text.ts'
import { isOurs } from './files.ts'
import { error, type Finding, ok, warning } from './finding.ts'
import { type Seen, see } from './retention.ts'

/** The age at which the alert fires (deploy/prometheus/alerts.yaml), ms. */
const LATE_MS = 600_000

/** Reads the newest checkpoints in the place of the tiles, and compares them with those of the running gateway. */
export async function lookAtTiles(config: Config, url: string | undefined): Promise<Finding[]> {
  const address = tilesAddressOf(config)
  let places: Places | undefined
  try {
    places = await openPlaces(address, config)
    const bundle = await prepareDirectory(config.policies)
    const tenants = [SYSTEM, ...(bundle.ok ? bundle.snapshot.directory.tenants.keys() : [])]
    const missing = await lookForEarlier(config, places, tenants)
    if (missing.length > 0) return missing
    if (places === undefined) return [await withoutTiles(config)]
    const findings: Finding[] = []
    let compared = 0
    for (const tenant of tenants) {
      const found = await lookAtLog(places, tenant, { config, url })
      if (found === NOT_COMPARED) continue
      compared += 1
      findings.push(...found)
    }
    if (findings.length > 0) return findings
    return [ok('tiles', `${address.shown} can be read, ${compared < tenants.length ? UNKNOWN : NOT_LATE}`)]
  } catch (cause) {
    const { message } = cause as Error
    return [error('tiles', message, 'fix it: the gateway cannot publish tiles there')]
  } finally {
    places?.close()
  }
}

async function withoutTiles(config: Config): Promise<Finding> {
  if (config.store.kind === 'embedded') return ok('tiles', 'off: evidence is only in the store')
  const { body, roomBytes } = await see(config).catch((): Partial<Seen> => ({}))
  const { kinds = {} } = body === undefined ? {} : (JSON.parse(body) as StoreSizes)
  return judgeNoTiles(kinds, roomBytes, Date.now())
}

/** Redis without tiles keeps evidence in memory forever. */
export function judgeNoTiles(
  kinds: StoreSizes['kinds'],
  roomBytes: number | undefined,
  now: number,
): Finding {
  const daily = Object.values(kinds).reduce((sum, { growth = 0 }) => sum + growth, 0)
  const end = new Date(now + (roomBytes ?? Infinity) / (daily / DAY_MS))
  const full = Number.isNaN(end.valueOf())
    ? ''
    : `, and maxmemory is full on ${end.toISOString().slice(0, 10)}`
  const grows = daily > 0 ? `: its data grows by ${bytesText(daily)} a day${full}` : ''
  return warning(
    'tiles',
    `off: Redis keeps all evidence in memory forever${grows}`,
    'name a place in COUNTERSIGN_TILES (deploy/README.md)',
  )
}

/** Looks in the tiles for the records that left the store, if the store can be read. */
async function lookForEarlier(
  config: Config,
  places: Places | undefined,
  tenants: readonly string[],
): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const [tenant, first] of await firstEvents(config, tenants).catch(() => [])) {
    const size = places === undefined ? 0 : sizeIn((await lastNote(places, tenant)) ?? '')
    if (first === 1 || size >= first) continue
    const what = `records 1 to ${first - 1} of ${tenant} left the store, and ${tilesAddressOf(config).shown} does not have them`
    findings.push(
      error('tiles', what, 'set COUNTERSIGN_TILES to the place of their tiles, or copy them there'),
    )
  }
  return findings
}

/** The number of the first record in the store, of each tenant. */
async function firstEvents(
  config: Config,
  tenants: readonly string[],
): Promise<readonly (readonly [tenant: string, first: number])[]> {
  const { store: place } = config
  if (place.kind === 'embedded') {
    if (!existsSync(place.path) || !isOurs(place.path)) return []
    return firstOfEach(tenants, await openArchive(config), firstIn)
  }
  return firstOfEach(tenants, await openStore(config), (store, tenant) => store.firstEvent(tenant))
}

/** Reads the first record of each tenant, then closes the source. */
async function firstOfEach<T extends { close(): Promise<void> }>(
  tenants: readonly string[],
  source: T,
  read: (source: T, tenant: string) => Promise<number>,
): Promise<readonly (readonly [tenant: string, first: number])[]> {
  try {
    const firsts = await Promise.all(tenants.map((tenant) => read(source, tenant)))
    return tenants.map((tenant, i) => [tenant, firsts[i] ?? 1])
  } finally {
    await source.close()
  }
}

async function firstIn(archive: StoreArchive, tenant: string): Promise<number> {
  for await (const entry of archive.dump(tenant)) return entry.kind === 'head' ? entry.first : 1
  return 1
}

async function lastNote(places: Places, tenant: string): Promise<string | undefined> {
  return (await readNote(places.of(tenant, await lastLog(places, tenant))))?.note
}

const NOT_LATE = 'and no log is late'
const UNKNOWN = 'but was not compared: that takes a running gateway, and its admin key'
const NOT_COMPARED = 'not compared'

interface Asked {
  readonly config: Config
  /** The address of the running gateway. */
  readonly url: string | undefined
}

async function lookAtLog(
  places: Places,
  tenant: string,
  { config, url }: Asked,
): Promise<Finding[] | typeof NOT_COMPARED> {
  const note = (await lastNote(places, tenant)) ?? ''
  if (url === undefined || config.adminKey === undefined) return NOT_COMPARED
  const asked = createApi({ url, key: config.adminKey }).list_checkpoints({ query: { tenant, limit: '2' } })
  // a separate line reports a refused admin key
  const answer = await asked.catch(() => undefined)
  return answer === undefined ? NOT_COMPARED : judgeTiles(tenant, note, answer.checkpoints)
}

/** @param signed the newest checkpoint, and the last one of an earlier hour */
export function judgeTiles(
  tenant: string,
  note: string,
  signed: readonly { readonly size: number; readonly at: string }[],
): Finding[] {
  const size = note === '' ? 0 : sizeIn(note)
  const newest = signed[0]?.size ?? 0
  const what = `the tiles of ${tenant} have ${size} records, and ${newest} are signed`
  if (newest < size)
    return [error('tiles', what, 'the store went back: docs/runbooks/CountersignTilesStopped.md')]
  const isLate = (time = '1970-01-01'): boolean => Date.now() - Date.parse(time) > LATE_MS
  // a log that was quiet for long may have new records since seconds
  const isFull = newest - size > WIDTH && isLate(/^time (\S+)$/m.exec(note)?.[1])
  // a slow log may have a new checkpoint every minute, and nothing in tiles since hours
  const isBehind = isFull || signed.some((one) => one.size > size && isLate(one.at))
  return isBehind ? [error('tiles', what, 'docs/runbooks/CountersignTilesLate.md names likely causes')] : []
}
