import { statSync } from 'node:fs'
import { openPlaces, tilesAddressOf } from '../../app/places.ts'
import { tilesAddress } from '../../settings/parsers.ts'
import { CHECKPOINT } from '../../tiles/layout.ts'
import { readNote, sizeIn } from '../../tiles/log.ts'
import { BadTile, type Place, PlaceUnavailable } from '../../tiles/place.ts'
import { CliFailure, EXIT, usage } from '../terminal/failure.ts'
import { readSettings } from './read-settings.ts'

/** A log of tiles that a command names: the directory of one tenant, or its prefix in a bucket. */
export interface NamedLog {
  readonly place: Place
  /** The signed note of the place. Its signature is not checked yet. */
  readonly note: string
  readonly size: number
}

export function isPlace(name: string): boolean {
  return isAddress(name) || statSync(name, { throwIfNoEntry: false })?.isDirectory() === true
}

/** True for a place as the setting names it. */
const isAddress = (name: string): boolean => /^(?:s3:\/\/|file:)/.test(name)

/** Opens the log for a command. @throws CliFailure when it cannot be read, or is damaged */
export async function withLog<T>(name: string, use: (log: NamedLog) => Promise<T>): Promise<T> {
  const { config } = readSettings({ settings: [] })
  const address = addressOf(name)
  const places = await openPlaces(address, config)
  if (places === undefined) throw usage(`\`${name}\` is not a place of tiles`)
  try {
    const place = places.of('')
    const { note } = (await readNote(place)) ?? {}
    if (note === undefined) throw noLog(name, config)
    return await use({ place, note, size: sizeIn(note) })
  } catch (error) {
    if (error instanceof BadTile)
      throw new CliFailure(error.message, { exit: EXIT.doesNotCheck, cause: error })
    if (error instanceof PlaceUnavailable) throw new CliFailure(error.message, { cause: error })
    throw error
  } finally {
    places.close()
  }
}

function addressOf(name: string): ReturnType<typeof tilesAddress> {
  try {
    return tilesAddress(isAddress(name) ? name : `file:${name}`)
  } catch (cause) {
    throw usage(`\`${name}\` ${(cause as Error).message}`)
  }
}

function noLog(name: string, config: Parameters<typeof tilesAddressOf>[0]): CliFailure {
  const { shown } = tilesAddressOf(config)
  return usage(
    `\`${name}\` has no file \`${CHECKPOINT}\``,
    `name the log of one tenant: a gateway with this configuration writes to ${shown}/TENANT`,
  )
}
