import { expect } from 'vitest'
import { BadTile, createContent, type Place, readContent } from '../../src/tiles/place.ts'

/** The laws of a place (src/tiles/place.ts), one after another, on every driver. */
export interface OpenPlace {
  /** An empty place. */
  readonly place: Place
  /** Opens the same place anew, as another process does. */
  readonly again: () => Place
}

const TILE = 'tile/0/000.p/3'
const BUNDLE = 'tile/entries/x001/x234/067'
const bytes = (text: string): Buffer => Buffer.from(text)

export const LAWS: Readonly<Record<string, (open: OpenPlace) => Promise<void>>> = {
  async 'a file that does not exist is undefined, and its folder is empty'({ place }) {
    expect(await place.read(TILE)).toBeUndefined()
    expect(await place.list('tile/0/000.p')).toEqual([])
    await place.remove(TILE)
  },
  async 'another process reads what was created, byte for byte'({ place, again }) {
    const all = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
    expect(await place.create(TILE, all)).toBe(true)
    expect((await again().read(TILE))?.bytes).toEqual(all)
  },
  async 'a file that exists never changes'({ place, again }) {
    expect(await place.create(TILE, bytes('one'))).toBe(true)
    expect(await again().create(TILE, bytes('two'))).toBe(false)
    expect((await place.read(TILE))?.bytes.toString()).toBe('one')
  },
  async 'one of sixteen concurrent creators wins'({ place }) {
    const created = await Promise.all(
      Array.from({ length: 16 }, (_, i) => place.create(TILE, bytes(`writer ${i}`))),
    )
    expect(created.filter((won) => won)).toHaveLength(1)
    expect((await place.read(TILE))?.bytes.toString()).toBe(`writer ${created.indexOf(true)}`)
  },
  async 'a replacement needs the version that was read'({ place, again }) {
    expect(await place.replace('checkpoint', bytes('1'), undefined)).toBe(true)
    expect(await place.replace('checkpoint', bytes('other'), undefined)).toBe(false)
    const first = await place.read('checkpoint')
    expect(await again().replace('checkpoint', bytes('2'), first?.version)).toBe(true)
    expect(await place.replace('checkpoint', bytes('late'), first?.version)).toBe(false)
    const second = await place.read('checkpoint')
    expect(second?.bytes.toString()).toBe('2')
    expect(second?.version).not.toBe(first?.version)
    expect(await place.replace('checkpoint', bytes('3'), second?.version)).toBe(true)
  },
  async 'a folder lists its files, and a deleted file is gone'({ place }) {
    const paths = ['tile/0/000.p/1', 'tile/0/000.p/2', 'tile/0/001.p/1', 'tile/0/000']
    for (const path of paths) await place.create(path, bytes(path))
    expect(await place.list('tile/0/000.p')).toEqual(['tile/0/000.p/1', 'tile/0/000.p/2'])
    for (const path of await place.list('tile/0/000.p')) await place.remove(path)
    expect(await place.list('tile/0/000.p')).toEqual([])
    expect((await place.read('tile/0/000'))?.bytes.toString()).toBe('tile/0/000')
    expect(await place.create('tile/0/000.p/3', bytes('again'))).toBe(true)
  },
  async 'a bundle is stored compressed, and compared by its content'({ place, again }) {
    const content = bytes('record '.repeat(1_000))
    await createContent(place, BUNDLE, content)
    expect((await place.read(BUNDLE))?.bytes.length).toBeLessThan(200)
    expect(await readContent(again(), BUNDLE)).toEqual(content)
    await createContent(again(), BUNDLE, content)
    await expect(createContent(place, BUNDLE, bytes('other'))).rejects.toThrow(BadTile)
    expect(await place.list('tile/entries')).toEqual([BUNDLE])
  },
  async 'a file that is no bundle is refused'({ place }) {
    await place.create(BUNDLE, bytes('not gzip'))
    await expect(readContent(place, BUNDLE)).rejects.toThrow(/no gzip file/)
  },
}
