import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEmbeddedArchive, openEmbeddedRestore } from '../../src/store/embedded/archive.ts'
import { readNote, sizeIn } from '../../src/tiles/log.ts'
import { Lab, TENANT } from '../tiles/lab.ts'
import { backupOf, restoreFrom } from './file-of.ts'

/** A backup of a store is restored, while the address of its tiles stays. */
let lab: Lab
beforeEach(() => {
  lab = new Lab()
})
afterEach(() => lab.dispose())

const sizeOfPlace = async (): Promise<number> => sizeIn((await readNote(lab.placeAt()))?.note ?? '')

const backup = async (): Promise<string> => {
  await lab.leave('data')
  const clock = { wall: () => lab.now, monotonic: () => lab.now }
  return backupOf(await openEmbeddedArchive({ path: join(lab.directory, 'data'), clock }))
}

async function restore(text: string): Promise<void> {
  const path = join(lab.directory, 'restored')
  const clock = { wall: () => lab.now, monotonic: () => lab.now }
  await restoreFrom(text, await openEmbeddedRestore({ path, clock }))
}

describe('the tiles of a restored store', () => {
  it('are written again into an empty place', async () => {
    await lab.add(300)
    await lab.publish()
    await restore(await backup())
    rmSync(join(lab.directory, 'tiles'), { recursive: true })
    await lab.publish('restored')
    expect(await sizeOfPlace()).toBe(300)
  })

  it('continue in a place that survived', async () => {
    await lab.add(300)
    await lab.publish()
    await restore(await backup())
    await lab.add(300, { to: 'restored' })
    await lab.publish('restored')
    await lab.publish('restored')
    expect(await sizeOfPlace()).toBe(600)
    expect(await lab.placeAt().list('tile/0')).toEqual(['tile/0/000', 'tile/0/001', 'tile/0/002.p/88'])
  })

  it.each([
    ['store_behind', 10],
    ['forked', 300],
  ])('stop in a place that has records which the backup lacks (%s)', async (stop, count) => {
    await lab.add(300)
    await lab.publish()
    const text = await backup()
    await lab.add(200)
    await lab.publish()
    await restore(text)
    await lab.add(count, { to: 'restored' })
    await expect(lab.publish('restored')).rejects.toMatchObject({ stop })
    expect(await sizeOfPlace()).toBe(500)
  })

  it('leave no record of them in the backup', async () => {
    await lab.add(300)
    await lab.publish()
    const text = await backup()
    expect(text).toContain(`{"partition":"${TENANT}"}\n`)
    expect(text).toContain('{"record":"tree"')
    expect(text).not.toContain('{"record":"tiles"')
  })
})
