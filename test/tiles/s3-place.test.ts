import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createContent, PlaceUnavailable, readContent } from '../../src/tiles/place.ts'
import { openS3, type S3 } from '../../src/tiles/s3/s3-place.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'
import { LAWS } from './conformance.ts'
import { type S3Server, startS3, VERSITYGW } from './versitygw.ts'

describe.skipIf(VERSITYGW === undefined)('a bucket of tiles', () => {
  let server: S3Server
  let proxy: FaultProxy
  let s3: S3
  beforeAll(async () => {
    server = await startS3(VERSITYGW ?? '')
    proxy = await startFaultProxy(server.port)
    s3 = openS3({ bucket: server.bucket, endpoint: proxy.url, pathStyle: true })
  })
  beforeEach(() => {
    proxy.fault = () => 'pass'
  })
  afterAll(async () => {
    s3.close()
    await proxy.close()
    await server.dispose()
  })

  it.each(Object.entries(LAWS))('%s', async (_, law) => {
    const prefix = `logs/${randomUUID()}`
    await law({ place: s3.place(prefix), again: () => s3.place(prefix) })
  })

  it.each(['refuse', 'drop', 'swallow'] as const)(
    'one fault (%s) is repeated, and changes nothing',
    async (fault) => {
      const place = s3.place(randomUUID())
      let faults = 1
      proxy.fault = (method) => (method === 'PUT' && faults-- > 0 ? fault : 'pass')
      // after an answer that was lost, the file exists
      expect(await place.create('tile/0/000', Buffer.from('1'))).toBe(fault !== 'swallow')
      expect((await place.read('tile/0/000'))?.bytes.toString()).toBe('1')
    },
  )

  it('a replacement whose answer was lost is reported as changed', async () => {
    const place = s3.place(randomUUID())
    await place.create('checkpoint', Buffer.from('1'))
    const { version } = (await place.read('checkpoint')) ?? {}
    let faults = 1
    proxy.fault = (method) => (method === 'PUT' && faults-- > 0 ? 'swallow' : 'pass')
    expect(await place.replace('checkpoint', Buffer.from('2'), version)).toBe(false)
    expect((await place.read('checkpoint'))?.bytes.toString()).toBe('2')
  })

  it.each([
    ['stall', { silenceMs: 200, callMs: 60_000 }],
    ['trickle', { silenceMs: 60_000, callMs: 500 }],
  ] as const)('an answer that never ends (%s) makes the place unavailable', async (fault, limits) => {
    const slow = openS3({ bucket: server.bucket, endpoint: proxy.url, pathStyle: true, limits })
    const place = slow.place(randomUUID())
    await place.create('checkpoint', Buffer.from('1'))
    proxy.fault = () => fault
    await expect(place.read('checkpoint')).rejects.toThrow(PlaceUnavailable)
    await expect(place.list('tile')).rejects.toThrow(PlaceUnavailable)
    slow.close()
  })

  it('a 404 of another server is no missing file', async () => {
    const place = s3.place(randomUUID())
    await place.create('checkpoint', Buffer.from('1'))
    const { version } = (await place.read('checkpoint')) ?? {}
    proxy.fault = () => 'lost'
    const one = Buffer.of(1)
    await expect(place.read('checkpoint')).rejects.toThrow(PlaceUnavailable)
    await expect(place.create('tile/0/000', one)).rejects.toThrow(PlaceUnavailable)
    await expect(place.replace('checkpoint', one, version)).rejects.toThrow(PlaceUnavailable)
    await expect(place.replace('checkpoint', one, undefined)).rejects.toThrow(PlaceUnavailable)
    await expect(place.list('tile')).rejects.toThrow(PlaceUnavailable)
    await expect(place.remove('checkpoint')).rejects.toThrow(PlaceUnavailable)
  })

  it.each(['forbid', 'break'] as const)(
    'a server that refuses (%s) makes the place unavailable',
    async (fault) => {
      const place = s3.place(randomUUID())
      await place.create('checkpoint', Buffer.from('1'))
      proxy.fault = () => fault
      await expect(place.read('checkpoint')).rejects.toThrow(PlaceUnavailable)
      await expect(place.create('tile/0/000', Buffer.of(1))).rejects.toThrow(PlaceUnavailable)
      await expect(place.list('tile')).rejects.toThrow(PlaceUnavailable)
    },
  )

  it('an answer of another length is no file of records', async () => {
    const place = s3.place(randomUUID())
    await createContent(place, 'tile/entries/000', Buffer.alloc(100, 'a'))
    proxy.fault = (method) => (method === 'GET' ? 'cut' : 'pass')
    await expect(readContent(place, 'tile/entries/000')).rejects.toThrow(/no gzip file|cannot be used/)
    proxy.fault = () => 'pass'
    expect(await readContent(place, 'tile/entries/000')).toEqual(Buffer.alloc(100, 'a'))
  })

  it('a replacement of a file that is gone is refused', async () => {
    const place = s3.place(randomUUID())
    await place.create('checkpoint', Buffer.from('1'))
    const { version } = (await place.read('checkpoint')) ?? {}
    await place.remove('checkpoint')
    expect(await place.replace('checkpoint', Buffer.of(1), version)).toBe(false)
  })

  it('a server that does not answer, or has no such bucket, makes the place unavailable', async () => {
    const place = s3.place(randomUUID())
    proxy.fault = () => 'drop'
    await expect(place.read('checkpoint')).rejects.toThrow(PlaceUnavailable)
    proxy.fault = () => 'refuse'
    await expect(place.create('tile/0/000', Buffer.of(1))).rejects.toThrow(PlaceUnavailable)
    proxy.fault = () => 'pass'
    const other = openS3({ bucket: 'other', endpoint: proxy.url, pathStyle: true })
    await expect(other.place('logs').read('checkpoint')).rejects.toThrow(/NoSuchBucket/)
    await expect(other.place('logs').create('checkpoint', Buffer.of(1))).rejects.toThrow(/NoSuchBucket/)
    other.close()
  })
})
