import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkPicture } from '../../src/domain/picture.ts'
import {
  APP0,
  canvas,
  chunk,
  frameHeader,
  IDAT,
  IEND,
  jpeg,
  jpegOf,
  png,
  PNG_SIGNATURE,
  pngHeader,
  riff,
  riffChunk,
  SCALED,
  SCAN,
  SCAN_DATA,
  SMALLEST_WEBP,
  webp,
  webpImage,
} from './picture-bytes.ts'
import { runs } from '../runs.ts'

const BOUNDS = { bytes: 512 * 1024, pixels: 4_096 }
const check = (text: string) => checkPicture(text, BOUNDS)
const url = (type: string, bytes: Uint8Array): string =>
  `data:image/${type};base64,${Buffer.from(bytes).toString('base64')}`

describe('an image that an agent attaches', () => {
  it('is shown with its size when it is a PNG, JPEG or WebP of an allowed size', () => {
    const good: [string, Buffer][] = [
      ['png', png(8, 7)],
      ['jpeg', jpeg(640, 480)],
      ['webp', webp('VP8 ', 301, 201)],
      ['webp', webp('VP8 ', 301 | SCALED, 201 | SCALED)],
      ['webp', webp('VP8L', 300, 200)],
      ['webp', webp('VP8X', 300, 200)],
    ]
    const seen = good.map(([type, bytes]) => check(url(type, bytes)))
    expect(seen.map((one) => (one.shown ? [one.type, one.width, one.height] : one.reason))).toEqual([
      ['image/png', 8, 7],
      ['image/jpeg', 640, 480],
      ['image/webp', 301, 201],
      ['image/webp', 301, 201],
      ['image/webp', 300, 200],
      ['image/webp', 300, 200],
    ])
    expect(seen.map((one) => one.shown && Buffer.from(one.bytes))).toEqual(good.map(([, bytes]) => bytes))
  })

  it('is shown up to the longest side and the largest file size, and not beyond', () => {
    expect(check(url('png', png(4_096, 4_096)))).toMatchObject({ shown: true })
    for (const [width, height] of [
      [4_097, 1],
      [1, 4_097],
      [0, 1],
      [1, 0],
      [60_000, 60_000],
    ] as const)
      expect(check(url('png', png(width, height)))).toMatchObject({ shown: false })
    for (const [type, bytes] of [
      ['png', png(1, 1)],
      ['jpeg', jpeg(1, 1)],
      ['webp', SMALLEST_WEBP],
    ] as const)
      expect(check(url(type, bytes))).toMatchObject({ shown: true, width: 1, height: 1 })
    const bytes = png(8, 7)
    expect(checkPicture(url('png', bytes), { ...BOUNDS, bytes: bytes.length }).shown).toBe(true)
    expect(checkPicture(url('png', bytes), { ...BOUNDS, bytes: bytes.length - 1 })).toMatchObject({
      reason: expect.stringContaining('larger'),
    })
  })

  it('is not shown when its bytes are of another type than the URL says', () => {
    const files: Record<string, Buffer> = { png: png(8, 7), jpeg: jpeg(8, 7), webp: webp('VP8L', 8, 7) }
    for (const [type, bytes] of Object.entries(files))
      for (const other of Object.keys(files).filter((one) => one !== type))
        expect(check(url(other, bytes))).toMatchObject({ shown: false })
  })

  it('is not shown when bytes are missing or added at the end', () => {
    for (const [type, bytes] of [
      ['png', png(8, 7)],
      ['jpeg', jpeg(8, 7)],
      ['webp', webp('VP8X', 8, 7)],
    ] as const) {
      for (let length = 0; length < bytes.length; length++)
        expect([type, length, check(url(type, bytes.subarray(0, length))).shown]).toEqual([
          type,
          length,
          false,
        ])
      const html = Buffer.concat([bytes, Buffer.from('<script>alert(1)</script>')])
      expect(check(url(type, html))).toMatchObject({ shown: false })
    }
  })

  it('is not shown when bytes are between its last part and an added end', () => {
    const html = Buffer.from('<script>alert(1)</script>')
    const end = Buffer.from('ffd9', 'hex')
    expect(check(url('jpeg', Buffer.concat([jpeg(8, 7), html, end])))).toMatchObject({ shown: false })
    expect(check(url('jpeg', Buffer.concat([jpeg(8, 7), jpeg(8, 7)])))).toMatchObject({ shown: false })
    const chunks = webp('VP8L', 8, 7).subarray(12)
    expect(check(url('webp', riff(chunks, riffChunk('EXIF', html))))).toMatchObject({ shown: true })
    for (const odd of [html, Buffer.from('<svg'), riffChunk('EXIF', html).subarray(0, 30)])
      expect(check(url('webp', riff(chunks, odd)))).toMatchObject({ shown: false })
  })

  it('is not shown when it is animated', () => {
    const control = Buffer.from('0000000200000000', 'hex')
    expect(check(url('png', png(8, 7, chunk('tEXt', control))))).toMatchObject({ shown: true })
    expect(check(url('png', png(8, 7, chunk('acTL', control))))).toMatchObject({
      reason: 'the bytes are not one complete, still PNG image',
    })
    const whole = webp('VP8X', 8, 7).subarray(12)
    for (const name of ['ANIM', 'ANMF'])
      expect(check(url('webp', riff(whole, riffChunk(name, control))))).toMatchObject({ shown: false })
    const moving = riff(canvas(8, 7, 0x02), webpImage('VP8L', 8, 7))
    expect(check(url('webp', moving))).toMatchObject({ shown: false })
    const still = riff(canvas(8, 7, 0xff - 0x02), webpImage('VP8L', 8, 7))
    expect(check(url('webp', still))).toMatchObject({ shown: true })
  })

  it('is not shown when it is a PNG with a missing or unknown part', () => {
    const header = pngHeader(8, 7)
    const shown = (...parts: readonly Buffer[]): boolean => check(url('png', Buffer.concat(parts))).shown
    const of = (...chunks: readonly Buffer[]): boolean => shown(PNG_SIGNATURE, ...chunks, IEND)
    const IHDR = chunk('IHDR', header)
    expect(of(IHDR, IDAT)).toBe(true)
    expect(shown(Buffer.from('89504e470d0a1a0b', 'hex'), IHDR, IDAT, IEND)).toBe(false)
    expect(of(IHDR)).toBe(false)
    expect(of(IDAT)).toBe(false)
    expect(of(chunk('tEXt', header), IHDR, IDAT)).toBe(false)
    expect(of(chunk('IHDR', header.subarray(1)), IDAT)).toBe(false)
    expect(of(chunk('IHDR', Buffer.concat([header, Buffer.alloc(1)])), IDAT)).toBe(false)
    expect(of(IHDR, IDAT, chunk('<svg', header))).toBe(false)
    expect(shown(PNG_SIGNATURE, IHDR, IDAT, chunk('IEND', header))).toBe(false)
  })

  it('is not shown when it is a PNG with broken, repeated, unknown or misplaced chunks, which decoders read differently', () => {
    const IHDR = chunk('IHDR', pngHeader(8, 7))
    const huge = chunk('IHDR', pngHeader(60_000, 60_000))
    const text = chunk('tEXt', Buffer.from('Comment\0<script>'))
    const palette = chunk('PLTE', Buffer.alloc(6))
    const of = (...chunks: readonly Buffer[]): boolean =>
      check(url('png', Buffer.concat([PNG_SIGNATURE, ...chunks, IEND]))).shown
    const broken = (whole: Buffer): Buffer => {
      const bytes = Buffer.from(whole)
      bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
      return bytes
    }
    expect([of(IHDR, IDAT), of(IHDR, text, IDAT, IDAT, text), of(IHDR, palette, IDAT)]).toEqual([
      true,
      true,
      true,
    ])
    for (const [why, chunks] of [
      ['a second header', [IHDR, huge, IDAT]],
      ['a header behind the pixels', [IHDR, IDAT, huge]],
      ['a critical chunk that nobody knows', [IHDR, chunk('ABCD', Buffer.alloc(4)), IDAT]],
      ["Apple's optimised format", [IHDR, chunk('CgBI', Buffer.alloc(4)), IDAT]],
      ['pixels apart', [IHDR, IDAT, text, IDAT]],
      ['no pixels in the chunk of pixels', [IHDR, chunk('IDAT', Buffer.alloc(0))]],
      ['two palettes', [IHDR, palette, palette, IDAT]],
      ['a palette behind the pixels', [IHDR, IDAT, palette]],
      ['frames without their control', [IHDR, IDAT, chunk('fcTL', Buffer.alloc(26))]],
      ['the data of a frame', [IHDR, IDAT, chunk('fdAT', Buffer.alloc(8))]],
      ['a wrong checksum of the header', [broken(IHDR), IDAT]],
      ['a wrong checksum of the pixels', [IHDR, broken(IDAT)]],
      ['a wrong checksum of a text', [IHDR, broken(text), IDAT]],
    ] as const)
      expect([why, of(...chunks)]).toEqual([why, false])
  })

  it('is not shown when a PNG header has an impossible value', () => {
    const palette = chunk('PLTE', Buffer.alloc(6))
    const of = (fields: readonly number[], ...more: readonly Buffer[]): boolean => {
      const header = pngHeader(8, 7)
      header.set(fields, 8)
      return check(url('png', Buffer.concat([PNG_SIGNATURE, chunk('IHDR', header), ...more, IDAT, IEND])))
        .shown
    }
    const good: string[] = []
    for (let depth = 0; depth <= 17; depth++)
      for (let colour = 0; colour <= 7; colour++)
        if (of([depth, colour], palette)) good.push(`${colour}:${depth}`)
    expect(good.toSorted()).toEqual([
      '0:1',
      '0:16',
      '0:2',
      '0:4',
      '0:8',
      '2:16',
      '2:8',
      '3:1',
      '3:2',
      '3:4',
      '3:8',
      '4:16',
      '4:8',
      '6:16',
      '6:8',
    ])
    expect([of([8, 3]), of([8, 3], palette)]).toEqual([false, true])
    // compression, filter (64 belongs to MNG), interlacing
    expect([of([8, 0, 1]), of([8, 0, 0, 64]), of([8, 0, 0, 0, 2])]).toEqual([false, false, false])
    expect(of([8, 0, 0, 0, 1])).toBe(true)
  })

  it('is not shown when it is a WebP with no image, two images, or one larger than its canvas', () => {
    const image = webpImage('VP8L', 8, 7)
    const profile = riffChunk('ICCP', Buffer.alloc(6))
    const shown = (...chunks: readonly Buffer[]): boolean => check(url('webp', riff(...chunks))).shown
    expect(shown(canvas(8, 7), profile, image)).toBe(true)
    expect(shown(canvas(8, 7), webpImage('VP8 ', 8, 7))).toBe(true)
    expect(shown(canvas(8, 7), profile)).toBe(false)
    expect(shown(canvas(8, 7), webpImage('VP8L', 16_384, 16_384))).toBe(false)
    expect(shown(canvas(8, 7), webpImage('VP8 ', 8, 8))).toBe(false)
    expect(shown(canvas(8 + 2 ** 16, 7), image)).toBe(false)
    expect(shown(canvas(8, 7 + 2 ** 16), image)).toBe(false)
    expect(shown(image, webpImage('VP8L', 16_384, 16_384))).toBe(false)
    expect(shown(profile, image)).toBe(false)
    expect(shown(canvas(8, 7), canvas(8, 7), image)).toBe(false)
    expect(shown(image, canvas(8, 7))).toBe(false)
  })

  it('is not shown when the image of a WebP is a change to another frame or of a later version', () => {
    for (const [kind, at, bits] of [
      ['VP8 ', 20, 0x01],
      ['VP8L', 24, 0x20],
    ] as const) {
      const bytes = webp(kind, 8, 7)
      expect(check(url('webp', bytes)).shown).toBe(true)
      bytes[at] = (bytes[at] ?? 0) | bits
      expect([kind, check(url('webp', bytes)).shown]).toEqual([kind, false])
    }
  })

  it('is not shown when the parts of a WebP have the wrong names', () => {
    const named = (at: number, name: string): boolean => {
      const bytes = webp('VP8X', 8, 7)
      bytes.write(name, at, 'latin1')
      return check(url('webp', bytes)).shown
    }
    expect([named(0, 'RIFF'), named(8, 'WEBP'), named(12, 'VP8X')]).toEqual([true, true, true])
    expect([named(0, 'RIFX'), named(8, 'WEBM'), named(12, 'VP8Y')]).toEqual([false, false, false])
    for (const off of [-2, -1, 1, 2]) {
      const bytes = webp('VP8L', 8, 7)
      bytes.writeUInt32LE(bytes.length - 8 + off, 4)
      expect(check(url('webp', bytes))).toMatchObject({ shown: false })
    }
  })

  it('is not shown when it is a WebP with a short header or another signature', () => {
    const shown = (...chunks: readonly Buffer[]): boolean => check(url('webp', riff(...chunks))).shown
    for (const [name, length, signature] of [
      ['VP8 ', 9, 3],
      ['VP8L', 4, 0],
    ] as const) {
      const image = webpImage(name, 8, 7).subarray(8)
      const other = Buffer.from(image)
      other[signature] = 1
      expect(shown(riffChunk(name, image))).toBe(true)
      expect(shown(riffChunk(name, image.subarray(0, length)))).toBe(false)
      expect(shown(riffChunk(name, other))).toBe(false)
    }
    const canvasOf = (length: number) => riffChunk('VP8X', canvas(8, 7).subarray(8, 8 + length))
    const shownOn = (length: number): boolean => shown(canvasOf(length), webpImage('VP8L', 8, 7))
    expect([shownOn(10), shownOn(9)]).toEqual([true, false])
  })

  it('may end with an empty part as a WebP, but not with a shorter one', () => {
    const image = webpImage('VP8L', 8, 7)
    const shown = (more: Buffer): boolean => {
      const bytes = Buffer.concat([riff(image), more])
      bytes.writeUInt32LE(bytes.length - 8, 4)
      return check(url('webp', bytes)).shown
    }
    expect(shown(riffChunk('EXIF', Buffer.alloc(0)))).toBe(true)
    for (let length = 1; length < 8; length++)
      expect([length, shown(Buffer.alloc(length))]).toEqual([length, false])
  })

  it('is not shown when it is a JPEG without a scan, or with enough scans to block a decoder for hours', () => {
    const of = (scans: number): boolean =>
      check(
        url(
          'jpeg',
          jpeg(
            4_096,
            4_096,
            Array.from({ length: scans }, () => SCAN),
          ),
        ),
      ).shown
    expect([0, 1, 12, 100, 101, 40_000].map(of)).toEqual([false, true, true, true, false, false])
  })

  const MARKERS = Array.from({ length: 256 }, (_, marker) => marker)
  const markersOf = (make: (marker: number) => Buffer): string[] =>
    MARKERS.filter((marker) => check(url('jpeg', make(marker))).shown).map((marker) => marker.toString(16))
  const FRAMES = ['c0', 'c1', 'c2', 'c3', 'c5', 'c6', 'c7', 'c9', 'ca', 'cb', 'cd', 'ce', 'cf']
  const APPS = MARKERS.slice(0xe0, 0xf0).map((marker) => marker.toString(16))
  const TABLES = ['c4', 'cc', 'db', 'dc', 'dd', 'de', 'df', ...APPS, 'fe']
  const SOF = frameHeader(8, 7)
  const empty = (marker: number): Buffer => Buffer.of(0xff, marker, 0, 2)

  it('is shown as a JPEG with every kind of frame and table, and with no other segment', () => {
    expect(markersOf((marker) => jpegOf(APP0, frameHeader(8, 7, marker), SCAN, SCAN_DATA))).toEqual(FRAMES)
    expect(markersOf((marker) => jpegOf(empty(marker), SOF, SCAN))).toEqual(TABLES)
  })

  it('is not shown when the scan of a JPEG contains a marker without its segment', () => {
    const restarts = ['d0', 'd1', 'd2', 'd3', 'd4', 'd5', 'd6', 'd7']
    const scan = (marker: number) => jpegOf(SOF, SCAN, SCAN_DATA, empty(marker), SCAN_DATA)
    expect(markersOf(scan)).toEqual(['0', ...restarts, 'da', 'ff'])
    const fill = Buffer.of(0xff)
    for (const more of [[fill], [fill, fill], [fill, SCAN]])
      expect(check(url('jpeg', jpegOf(SOF, SCAN, ...more)))).toMatchObject({ shown: true })
  })

  it('is not shown when it is a JPEG with bytes between segments, or with a segment that is too short', () => {
    const [text, table] = [Buffer.from('<svg'), empty(0xdb)]
    const shown = (...parts: readonly Buffer[]): boolean => check(url('jpeg', jpegOf(...parts))).shown
    expect(shown(table, SOF, SCAN)).toBe(true)
    expect(shown(text, table, SOF, SCAN)).toBe(false)
    expect(shown(table, text, SOF, SCAN)).toBe(false)
    expect(shown(table, SOF, text, SCAN)).toBe(false)
    expect(shown(Buffer.of(0xfe, 0xdb, 0, 2), SOF, SCAN)).toBe(false)
    for (const length of [0, 1]) {
      expect(shown(Buffer.of(0xff, 0xdb, 0, length), SOF, SCAN)).toBe(false)
      expect(shown(SOF, Buffer.of(0xff, 0xda, 0, length))).toBe(false)
    }
    expect(shown(Buffer.of(0xff, 0xdb, 0xff, 0xff), SOF, SCAN)).toBe(false)
    const other = jpegOf(SOF, SCAN)
    other[1] = 0xd7
    expect(check(url('jpeg', other))).toMatchObject({ shown: false })
  })

  it('is not shown when it is a JPEG with no frame, two frames, or a frame without components', () => {
    const shown = (...parts: readonly Buffer[]): boolean => check(url('jpeg', jpegOf(...parts))).shown
    const short = Buffer.from(SOF.subarray(0, 12))
    short[3] = 10
    expect(shown(SCAN)).toBe(false)
    expect(shown(SCAN, SCAN_DATA, SOF, SCAN)).toBe(false)
    expect(shown(frameHeader(8, 7), SCAN)).toBe(true)
    expect(shown(frameHeader(8, 7), frameHeader(8, 7), SCAN)).toBe(false)
    expect(shown(short, SCAN)).toBe(false)
  })

  it('is a base64 data: URL of one of the three types, and nothing else', () => {
    const entries = ['hostile-images.json', 'more-images.json'].flatMap((name) => {
      const file = new URL(`../data/hostile/${name}`, import.meta.url)
      return (JSON.parse(readFileSync(file, 'utf8')) as { entries: { id: string; value: string }[] }).entries
    })
    expect(entries.length).toBeGreaterThan(50)
    expect(entries.filter(({ value }) => check(value).shown).map(({ id }) => id)).toEqual([])
    const good = url('png', png(8, 7))
    for (const text of [
      '',
      good.toUpperCase(),
      ` ${good}`,
      `${good}\n`,
      good.replace(';base64', ''),
      good.replace('image/png', 'image/svg+xml'),
      good.replace('image/png', 'image/png;charset=utf-8'),
      `${good}=`,
      `${good}%41`,
    ])
      expect([text, check(text).shown]).toEqual([text, false])
  })

  it('gives a reason when it is not shown', () => {
    const good = url('png', png(8, 7))
    const reasons = [
      good.replace('png', 'gif'),
      good.slice(0, -1),
      good.slice(0, -4),
      url('jpeg', jpeg(0, 9)),
    ]
    expect(reasons.map((text) => check(text))).toEqual(
      [
        'not a data: URL of a PNG, JPEG or WebP image',
        'not valid base64',
        'the bytes are not one complete, still PNG image',
        '0 x 9 pixels: each side must have 1 to 4096',
      ].map((reason) => ({ shown: false, reason })),
    )
  })

  it('never throws for any bytes', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('png', 'jpeg', 'webp'),
        fc.uint8Array({ maxLength: 60 }),
        fc.nat(2),
        (type, tail, which) => {
          const heads = [png(8, 7), jpeg(8, 7), webp('VP8 ', 8, 7)]
          const head = heads[which]?.subarray(0, 40 - tail.length) ?? Buffer.alloc(0)
          const checked = check(url(type, Buffer.concat([head, tail])))
          expect(typeof checked.shown).toBe('boolean')
        },
      ),
      { numRuns: runs(5_000) },
    )
  })
})
