import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { directoryPlace } from '../../src/tiles/directory/directory-place.ts'
import { PlaceUnavailable } from '../../src/tiles/place.ts'
import { LAWS } from './conformance.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'countersign-tiles-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

describe('a directory of tiles', () => {
  it.each(Object.entries(LAWS))('%s', async (_, law) => {
    const path = join(directory, 'new', 'acme')
    await law({ place: directoryPlace(path), again: () => directoryPlace(path) })
  })

  it('only its owner can read it', async () => {
    const place = directoryPlace(join(directory, 'acme'))
    await place.create('tile/0/000', Buffer.from('1'))
    expect(statSync(join(directory, 'acme')).mode & 0o077).toBe(0)
    expect(statSync(join(directory, 'acme/tile/0/000')).mode & 0o077).toBe(0)
  })

  it('what a killed writer left without a name is removed a day later', async () => {
    const unnamed = join(directory, '.new')
    mkdirSync(unnamed)
    for (const name of ['old', 'fresh']) writeFileSync(join(unnamed, name), '')
    const yesterday = new Date(Date.now() - 25 * 3_600_000)
    utimesSync(join(unnamed, 'old'), yesterday, yesterday)
    await directoryPlace(directory).create('tile/0/000', Buffer.from('1'))
    expect(readdirSync(unnamed)).toEqual(['fresh'])
  })

  it('a write that fails leaves no file', async () => {
    const place = directoryPlace(directory)
    const full = (function* () {
      yield Buffer.from('1')
      throw new Error('the disk is full')
    })() as unknown as Uint8Array
    await expect(place.create('tile/0/000', full)).rejects.toThrow(/the disk is full/)
    expect(readdirSync(join(directory, '.new'))).toEqual([])
    expect(await place.create('tile/0/000', Buffer.from('1'))).toBe(true)
  })

  it('reads no link, no pipe, no folder and no file that is larger than any of the log', async () => {
    const place = directoryPlace(directory)
    symlinkSync('/dev/zero', join(directory, 'zero'))
    execFileSync('mkfifo', [join(directory, 'pipe')])
    mkdirSync(join(directory, 'folder'))
    writeFileSync(join(directory, 'large'), '')
    truncateSync(join(directory, 'large'), 2 ** 30)
    for (const name of ['zero', 'pipe', 'folder', 'large'])
      await expect(place.read(name), name).rejects.toThrow(PlaceUnavailable)
  })

  it('a place that cannot be written is unavailable, and says why', async () => {
    writeFileSync(join(directory, 'file'), '')
    const place = directoryPlace(join(directory, 'file', 'acme'))
    await expect(place.create('tile/0/000', Buffer.from('1'))).rejects.toThrow(PlaceUnavailable)
    expect(existsSync(join(directory, 'file', 'acme'))).toBe(false)
  })
})
