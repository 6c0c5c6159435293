import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { verifierKey } from '../../src/domain/checkpoint.ts'
import { originOf } from '../../src/gateway/jobs/checkpoints.ts'
import { openS3 } from '../../src/tiles/s3/s3-place.ts'
import { diceOf } from '../random.ts'
import { rounds } from '../runs.ts'
import { startFaultProxy } from './fault-proxy.ts'
import { fsck, FSCK } from './fsck.ts'
import { IDENTITY, Lab, TENANT } from './lab.ts'
import { startS3, VERSITYGW } from './versitygw.ts'

const KEY = verifierKey(originOf(IDENTITY, TENANT, 1), IDENTITY.key.public)

describe.skipIf(FSCK === undefined)("Tessera's fsck", () => {
  let lab: Lab
  beforeEach(() => {
    lab = new Lab()
  })
  afterEach(() => lab.dispose())

  const accepted = (place = lab.placeAt(), seconds = 120): Promise<number | undefined> =>
    fsck(FSCK ?? '', place, { key: KEY, keyFile: join(lab.directory, 'key'), seconds })

  it('accepts the log of a directory at each size to which it grew', async () => {
    let size = 0
    for (const next of [
      1,
      256,
      257,
      300,
      2_252,
      rounds({ check: 2_300, short: 65_536, long: 65_536 }),
      70_000,
    ]) {
      if (next < size) continue
      await lab.add(next - size)
      size = next
      await lab.publish()
      expect(await accepted()).toBe(size)
    }
  })

  it('refuses a log with one flipped bit', async () => {
    await lab.add(300)
    await lab.publish()
    const path = join(lab.directory, 'tiles', TENANT, 'tile/0/000')
    const bytes = readFileSync(path)
    bytes[100] = (bytes[100] ?? 0) ^ 1
    writeFileSync(path, bytes)
    expect(await accepted(lab.placeAt(), 20)).toBeUndefined()
  })

  it.skipIf(VERSITYGW === undefined)('accepts the log of a bucket whose answers are often lost', async () => {
    const server = await startS3(VERSITYGW ?? '')
    const proxy = await startFaultProxy(server.port)
    const s3 = openS3({ bucket: server.bucket, endpoint: proxy.url, pathStyle: true })
    lab.wrap = () => s3.place('logs/acme')
    const dice = diceOf(20_261_128)
    const faults = ['refuse', 'drop', 'swallow'] as const
    let failed = 0
    for (let size = 300; size <= 1_500; size += 300) {
      proxy.fault = () => (dice.once(4) ? (dice.one(faults) ?? 'pass') : 'pass')
      await lab.add(300)
      while (
        await lab.publish().then(
          () => false,
          () => true,
        )
      )
        failed += 1
      proxy.fault = () => 'pass'
      // a publication whose answer was lost is only committed by the next one
      await lab.publish()
      expect(await accepted(s3.place('logs/acme'))).toBe(size)
    }
    console.log(`${failed} publications failed, and the next ones continued`)
    s3.close()
    await proxy.close()
    await server.dispose()
  })
})
