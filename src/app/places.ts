import { join, resolve } from 'node:path'
import { defined } from '../contract/defined.ts'
import type { TilesAddress } from '../settings/parsers.ts'
import type { Config } from '../settings/settings.ts'
import { directoryPlace } from '../tiles/directory/directory-place.ts'
import { readNote } from '../tiles/log.ts'
import type { Place } from '../tiles/place.ts'

/** Opens the places of tiles. The package for S3 loads on demand. */

/** The places of all logs at one address. */
export interface Places {
  /** One text for each place, however the settings spell it. */
  readonly address: string
  /** True when the files take room on the disk of the store. */
  readonly onStoreDisk: boolean
  /** @param log the number of the tenant's log; the default is the first */
  of(tenant: string, log?: number): Place
  close(): void
}

/** The address of the tiles: that of the settings, or the directory of an embedded store. */
export function tilesAddressOf({ tiles, store }: Config): TilesAddress {
  if (tiles !== undefined) return tiles
  if (store.kind !== 'embedded') return { kind: 'off', shown: 'off' }
  const path = join(store.path, 'tiles')
  return { kind: 'directory', path, shown: `file:${path}` }
}

/** Opens places; undefined when tiles are off. @throws Error when the package for S3 is missing */
export async function openPlaces(
  address: TilesAddress,
  config: Pick<Config, 'tilesEndpoint' | 'tilesRegion' | 'tilesPathStyle' | 'store'>,
): Promise<Places | undefined> {
  const { kind, shown } = address
  if (kind === 'off') return undefined
  if (kind === 'directory')
    return {
      address: `file:${resolve(address.path)}`,
      onStoreDisk: config.store.kind === 'embedded',
      of: (tenant, log) => directoryPlace(join(address.path, ...folders(tenant, log))),
      close: () => undefined,
    }
  const { openS3 } = await import('../tiles/s3/s3-place.ts').catch(missingPackage)
  const { tilesEndpoint: endpoint, tilesRegion: region, tilesPathStyle } = config
  const s3 = openS3({
    bucket: address.bucket,
    pathStyle: tilesPathStyle === 'true',
    ...defined({ endpoint, region }),
  })
  const { prefix } = address
  return {
    address: shown,
    onStoreDisk: false,
    of: (tenant, log) => s3.place([prefix, ...folders(tenant, log)].filter((part) => part !== '').join('/')),
    close: () => s3.close(),
  }
}

/** A further log is in a folder of the first. */
const folders = (tenant: string, log = 1): string[] => (log === 1 ? [tenant] : [tenant, String(log)])

/** Most logs in a row without tiles: an operator may start a log before the last one was published. */
const MOST_WITHOUT_TILES = 4

/** The number of the last log with tiles at an address; 1 also for an address without any. */
export async function lastLog(places: Places, tenant: string): Promise<number> {
  let found = 1
  for (let log = 1; log <= found + MOST_WITHOUT_TILES + 1; log++)
    if ((await readNote(places.of(tenant, log))) !== undefined) found = log
  return found
}

function missingPackage(cause: unknown): never {
  if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause
  throw new Error(
    'tiles in S3 need the package @aws-sdk/client-s3: install it beside countersign (npm install @aws-sdk/client-s3)',
    { cause },
  )
}
