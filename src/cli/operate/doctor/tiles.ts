import { openPlaces, type Places, tilesAddressOf } from '../../../app/tiles.ts'
import { SYSTEM } from '../../../domain/evidence.ts'
import { prepareDirectory } from '../../../policy/bundle/directory.ts'
import type { Config } from '../../../settings/config.ts'
import { WIDTH } from '../../../tiles/layout.ts'
import { readNote, sizeIn } from '../../../tiles/log.ts'
import { createApi } from '../../client/api-client.ts'
import { error, type Finding, ok } from './finding.ts'

/** The age at which the alert fires (deploy/prometheus/alerts.yaml), ms. */
const LATE_MS = 600_000

/** Reads the newest checkpoints in the place of the tiles, and compares them with those of the running gateway. */
export async function lookAtTiles(config: Config, url: string | undefined): Promise<Finding[]> {
  const address = tilesAddressOf(config)
  let places: Places | undefined
  try {
    places = await openPlaces(address, config)
    if (places === undefined) return [ok('tiles', 'off: evidence is only in the store')]
    const bundle = await prepareDirectory(config.policies)
    const tenants = [SYSTEM, ...(bundle.ok ? bundle.snapshot.directory.tenants.keys() : [])]
    const findings: Finding[] = []
    for (const tenant of tenants) findings.push(...(await lookAtLog(places, tenant, { config, url })))
    return findings.length > 0 ? findings : [ok('tiles', `${address.shown} can be read, and no log is late`)]
  } catch (cause) {
    const { message } = cause as Error
    return [error('tiles', message, 'fix it: the gateway cannot publish tiles there')]
  } finally {
    places?.close()
  }
}

interface Asked {
  readonly config: Config
  /** The address of the running gateway. */
  readonly url: string | undefined
}

async function lookAtLog(places: Places, tenant: string, { config, url }: Asked): Promise<Finding[]> {
  const { note = '' } = (await readNote(places.of(tenant))) ?? {}
  if (url === undefined || config.adminKey === undefined) return []
  const asked = createApi(url, config.adminKey).list_checkpoints({ query: { tenant, limit: '1' } })
  // a separate line reports a refused admin key
  const answer = await asked.catch(() => undefined)
  return answer === undefined ? [] : compare(tenant, note, answer.checkpoints[0] ?? NOTHING_SIGNED)
}

const NOTHING_SIGNED = { size: 0, at: '' }

function compare(
  tenant: string,
  note: string,
  newest: { readonly size: number; readonly at: string },
): Finding[] {
  const size = note === '' ? 0 : sizeIn(note)
  const what = `the tiles of ${tenant} have ${size} records, and ${newest.size} are signed`
  if (newest.size < size)
    return [error('tiles', what, 'the store went back: docs/runbooks/CountersignTilesStopped.md')]
  const isLate = (time = '1970-01-01'): boolean => Date.now() - Date.parse(time) > LATE_MS
  // a log that was quiet for long may have new records since seconds
  const isFull = newest.size - size > WIDTH && isLate(/^time (\S+)$/m.exec(note)?.[1])
  const isBehind = newest.size > size && (isFull || isLate(newest.at))
  return isBehind ? [error('tiles', what, 'docs/runbooks/CountersignTilesLate.md names likely causes')] : []
}
