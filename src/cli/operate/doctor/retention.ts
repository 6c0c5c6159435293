import { existsSync, statfsSync } from 'node:fs'
import { openArchive, openStore } from '../../../app/store.ts'
import { ALL } from '../../../gateway/core/expiry-index.ts'
import { type StoreSizes, SYSTEM } from '../../../gateway/core/records.ts'
import { DAY_MS } from '../../../gateway/integrity/size.ts'
import { type Retention, RETENTION } from '../../../policy/language/retention.ts'
import type { Config } from '../../../settings/config.ts'
import { bytesText } from '../../terminal/visible-text.ts'
import { isOurs } from './files.ts'
import { type Finding, ok, warning } from './finding.ts'

export interface Seen {
  /** The last measurement of a gateway, as JSON. */
  readonly body: string | undefined
  readonly roomBytes: number | undefined
}

/** Compares retention with the room in the store. Without a measurement, or a readable store, there is no finding. */
export async function lookAtRetention(config: Config, retention: Retention): Promise<Finding[]> {
  const { body, roomBytes } = await see(config).catch((): Seen => ({ body: undefined, roomBytes: undefined }))
  if (body === undefined || roomBytes === undefined) return []
  return judgeRetention(JSON.parse(body) as StoreSizes, retention, roomBytes)
}

const OF_THREADS = ['record thread', 'record revision', 'record comments', 'index']

/** Threads of the whole retention, and the evidence of that time, need room. */
export function judgeRetention(
  { kinds }: StoreSizes,
  { threads_ms }: Pick<Retention, 'threads_ms'>,
  roomBytes: number,
): Finding[] {
  const count = kinds['record thread']?.count ?? 0
  const bytes = OF_THREADS.reduce((sum, kind) => sum + (kinds[kind]?.bytes ?? 0), 0)
  if (count === 0) return []
  const opened = kinds['index']?.last_day ?? 0
  const daily = (opened * bytes) / count + Math.max(0, kinds['evidence']?.growth ?? 0)
  const days = threads_ms / DAY_MS
  const said = `threads of ${days} days and their evidence need ${bytesText(daily * days)}`
  const room = `${bytesText(bytes + roomBytes)} are there`
  if (daily * days <= bytes + roomBytes) return [ok('retention', `${said}: ${room}`)]
  const fits = Math.floor((bytes + roomBytes) / daily)
  const shorter = fits * DAY_MS >= RETENTION.threads.least ? `set \`threads: ${fits}d\`, or ` : ''
  return [
    warning('retention', `${said}, but only ${room}`, `${shorter}give the store more room (docs/data.md)`),
  ]
}

/** Reads the last measurement, and the room in the store. */
export async function see(config: Config): Promise<Seen> {
  const { store: place } = config
  if (place.kind === 'embedded') {
    if (!existsSync(place.path) || !isOurs(place.path)) return { body: undefined, roomBytes: undefined }
    const { bavail, bsize } = statfsSync(place.path)
    return { body: await bodyIn(config), roomBytes: Math.max(0, bavail * bsize - config.storeMinFree) }
  }
  const store = await openStore(config)
  try {
    const { roomBytes } = await store.health()
    return { body: (await store.get(SYSTEM, 'sizes', ALL))?.body, roomBytes }
  } finally {
    await store.close()
  }
}

/** Reads the record of an embedded store, which a gateway may use. */
async function bodyIn(config: Config): Promise<string | undefined> {
  const archive = await openArchive(config)
  try {
    for await (const entry of archive.dump(SYSTEM))
      if (entry.kind === 'record' && entry.type === 'sizes') return entry.body
    return undefined
  } finally {
    await archive.close()
  }
}
