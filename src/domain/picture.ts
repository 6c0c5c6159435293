import { crc32 } from 'node:zlib'

/**
 * Images that agents attach. The console shows a well-formed PNG, JPEG or WebP of a reasonable size as an image, and
 * everything else as text (docs/reviewing.md). The check decodes no pixels, but reads the whole structure of the file.
 * Animations are refused, because they may show another frame after the reviewer has approved.
 */
export type CheckedPicture =
  | {
      readonly shown: true
      readonly type: 'image/png' | 'image/jpeg' | 'image/webp'
      readonly width: number
      readonly height: number
      readonly bytes: Uint8Array
    }
  | { readonly shown: false; readonly reason: string }

export interface PictureBounds {
  readonly bytes: number
  /** Length of the longest side. */
  readonly pixels: number
}

interface Size {
  readonly width: number
  readonly height: number
}

const DATA_URL = /^data:image\/(png|jpeg|webp);base64,([A-Za-z0-9+/]+={0,2})$/
const BASE64_GROUP = 4

export function checkPicture(text: string, bounds: PictureBounds): CheckedPicture {
  const [, format = '', base64 = ''] = DATA_URL.exec(text) ?? []
  if (base64 === '') return hidden('not a data: URL of a PNG, JPEG or WebP image')
  if (base64.length % BASE64_GROUP !== 0) return hidden('not valid base64')
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.length > bounds.bytes) return hidden(`larger than ${bounds.bytes} bytes`)
  const size = SIZE_OF[format]?.(bytes)
  if (size === undefined) return hidden(`the bytes are not one complete, still ${format.toUpperCase()} image`)
  const { width, height } = size
  if (width < 1 || height < 1 || Math.max(width, height) > bounds.pixels)
    return hidden(`${width} x ${height} pixels: each side must have 1 to ${bounds.pixels}`)
  return { shown: true, type: `image/${format as 'png' | 'jpeg' | 'webp'}`, width, height, bytes }
}

const hidden = (reason: string): CheckedPicture => ({ shown: false, reason })

const SIZE_OF: Readonly<Record<string, (bytes: Buffer) => Size | undefined>> = {
  png: sizeOfPng,
  jpeg: sizeOfJpeg,
  webp: sizeOfWebp,
}

const PNG_SIGNATURE = '89504e470d0a1a0a'
/** Length, type and checksum of a chunk. */
const PNG_FRAME = 12

/** A part of a PNG or WebP file. */
interface Chunk {
  readonly name: string
  /** Offset of its content. */
  readonly data: number
  readonly length: number
}

/** The combinations of colour type and bit depth (section 11.2.1). */
const PNG_DEPTHS: Readonly<Record<number, readonly number[]>> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  3: [1, 2, 4, 8],
  4: [8, 16],
  6: [8, 16],
}
const PALETTE_COLOUR = 3
/** The chunks of an animation, other than the pixels of its first frame. */
const PNG_MOVES = ['acTL', 'fcTL', 'fdAT']

/**
 * The size of a PNG (third edition, section 5): IHDR, a palette, adjacent pixel chunks, and IEND at the very end. The
 * file must have no animation and no other critical chunk, and every checksum must be right. For other files, decoders
 * disagree: some show an image, and others show no image or another size.
 */
function sizeOfPng(bytes: Buffer): Size | undefined {
  const chunks = bytes.toString('hex', 0, 8) === PNG_SIGNATURE ? (pngChunks(bytes) ?? []) : []
  const [header] = chunks
  if (header?.name !== 'IHDR' || header.length !== 13) return undefined
  if (chunks.some(({ name }) => PNG_MOVES.includes(name))) return undefined
  const critical = chunks.filter(({ name }) => /^[A-Z]/.test(name))
  const hasPalette = critical[1]?.name === 'PLTE'
  if (!/^IHDR(?:PLTE)?(?:IDAT)+IEND$/.test(critical.map(({ name }) => name).join(''))) return undefined
  if (!isOneRow(chunks) || !isPngHeader(bytes, header, hasPalette)) return undefined
  return { width: bytes.readUInt32BE(header.data), height: bytes.readUInt32BE(header.data + 4) }
}

/** True when the pixel chunks are adjacent, and at least one chunk has content. */
function isOneRow(chunks: readonly Chunk[]): boolean {
  const [first, last] = [
    chunks.findIndex(({ name }) => name === 'IDAT'),
    chunks.findLastIndex(({ name }) => name === 'IDAT'),
  ]
  const row = chunks.slice(first, last + 1)
  return row.every(({ name }) => name === 'IDAT') && row.some(({ length }) => length > 0)
}

function isPngHeader(bytes: Buffer, { data }: Chunk, hasPalette: boolean): boolean {
  const [depth = 0, colour = 0, compression, filter, interlace = 0] = bytes.subarray(data + 8, data + 13)
  if (PNG_DEPTHS[colour]?.includes(depth) !== true || (colour === PALETTE_COLOUR && !hasPalette)) return false
  return compression === 0 && filter === 0 && interlace <= 1
}

/** Returns undefined when a part is not a chunk, or when the file continues after the end. */
function pngChunks(bytes: Buffer): Chunk[] | undefined {
  const chunks: Chunk[] = []
  for (let at = 8; at + PNG_FRAME <= bytes.length;) {
    const length = bytes.readUInt32BE(at)
    const chunk = { name: bytes.toString('latin1', at + 4, at + 8), data: at + 8, length }
    const next = at + PNG_FRAME + length
    if (!/^[A-Za-z]{4}$/.test(chunk.name) || next > bytes.length) return undefined
    if (crc32(bytes.subarray(at + 4, next - 4)) !== bytes.readUInt32BE(next - 4)) return undefined
    chunks.push(chunk)
    at = next
    if (chunk.name === 'IEND') return length === 0 && at === bytes.length ? chunks : undefined
  }
  return undefined
}

const JPEG_START = 'ffd8'
const JPEG_END = 0xffd9
const JPEG_SCAN = 0xda
/** The length of the shortest frame header: eight bytes, and three for each component (section B.2.2). */
const LEAST_FRAME = 11
/**
 * The most scans. Encoders write about ten scans for a progressive image. An empty scan takes a dozen bytes, but makes
 * a decoder pass over all pixels.
 */
const MAX_SCANS = 100

/**
 * The size of a JPEG (ITU-T T.81 annex B): segments, and scans with their data, up to the end marker. One frame header
 * must precede all scans, and no data may follow the end marker.
 */
function sizeOfJpeg(bytes: Buffer): Size | undefined {
  if (bytes.toString('hex', 0, 2) !== JPEG_START) return undefined
  const segments = jpegSegments(bytes) ?? []
  const frames = segments.filter(({ marker }) => isFrameHeader(marker))
  const scans = segments.filter(({ marker }) => marker === JPEG_SCAN)
  const [frame] = frames
  if (frame === undefined || frames.length > 1 || frame.length < LEAST_FRAME) return undefined
  if (scans.length === 0 || scans.length > MAX_SCANS || (scans[0]?.at ?? 0) < frame.at) return undefined
  return { height: bytes.readUInt16BE(frame.at + 5), width: bytes.readUInt16BE(frame.at + 7) }
}

interface Segment {
  readonly at: number
  readonly marker: number
  readonly length: number
}

/** Returns undefined when a part is not a segment, or when the file continues after the end. */
function jpegSegments(bytes: Buffer): Segment[] | undefined {
  const segments: Segment[] = []
  for (let at = 2; at + 4 <= bytes.length;) {
    const segment = { at, marker: bytes[at + 1] ?? 0, length: bytes.readUInt16BE(at + 2) }
    if (bytes[at] !== 0xff || !isSegment(segment)) return undefined
    segments.push(segment)
    at += 2 + segment.length
    if (segment.marker === JPEG_SCAN) at = endOfScan(bytes, at)
    if (at + 2 === bytes.length && bytes.readUInt16BE(at) === JPEG_END) return segments
  }
  return undefined
}

const isSegment = ({ marker, length }: Segment): boolean =>
  length >= 2 && (isFrameHeader(marker) || isTable(marker) || marker === JPEG_SCAN)

/** Offset of the next marker: a 0xff byte that is not stuffing, a restart marker or fill. */
function endOfScan(bytes: Buffer, from: number): number {
  let at = bytes.indexOf(0xff, from)
  while (at !== -1 && isWithinScan(bytes[at + 1] ?? 0)) at = bytes.indexOf(0xff, at + 1)
  return at === -1 ? bytes.length : at
}

const isWithinScan = (marker: number): boolean =>
  marker === 0x00 || marker === 0xff || (marker >= 0xd0 && marker <= 0xd7)

/** SOF0 to SOF15, without DHT, JPG and DAC, which are in that range. */
const isFrameHeader = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
/** DHT, DAC, DQT, DNL, DRI, DHP, EXP, APP0 to APP15 and COM. */
const isTable = (marker: number): boolean =>
  marker === 0xc4 || marker === 0xcc || (marker >= 0xdb && marker <= 0xef) || marker === 0xfe

const WEBP_MOVES = 0x02

/**
 * The size of a WebP (RFC 9649 section 2): a RIFF file whose chunks match its stated length, with one image and no
 * animation. The canvas of an extended file must equal its image, because decoders allocate the stated size.
 */
function sizeOfWebp(bytes: Buffer): Size | undefined {
  const chunks = isWebp(bytes) ? (riffChunks(bytes) ?? []) : []
  const [first] = chunks
  const [image, another] = chunks.filter(({ name }) => name === 'VP8 ' || name === 'VP8L')
  if (first === undefined || image === undefined || another !== undefined) return undefined
  if (chunks.slice(1).some(({ name }) => ['ANIM', 'ANMF', 'VP8X'].includes(name))) return undefined
  const size = sizeOfWebpImage(bytes, image)
  if (first === image || size === undefined) return size
  return isCanvasOf(bytes, first, size) ? size : undefined
}

const isWebp = (bytes: Buffer): boolean =>
  bytes.toString('latin1', 0, 4) === 'RIFF' &&
  bytes.toString('latin1', 8, 12) === 'WEBP' &&
  bytes.readUInt32LE(4) + 8 === bytes.length

function isCanvasOf(bytes: Buffer, { name, data, length }: Chunk, { width, height }: Size): boolean {
  if (name !== 'VP8X' || length < 10 || ((bytes[data] ?? 0) & WEBP_MOVES) !== 0) return false
  return bytes.readUIntLE(data + 4, 3) + 1 === width && bytes.readUIntLE(data + 7, 3) + 1 === height
}

/** The bit of the first byte that marks a change to an earlier frame. Still images never set this bit. */
const VP8_CHANGE = 0x01
/** The version, in the three bits after the size and the transparency flag. */
const VP8L_VERSION = 0

function sizeOfWebpImage(bytes: Buffer, { name, data, length }: Chunk): Size | undefined {
  const first = bytes[data] ?? 0
  if (
    name === 'VP8 ' &&
    length >= 10 &&
    (first & VP8_CHANGE) === 0 &&
    bytes.readUIntBE(data + 3, 3) === 0x9d012a
  )
    return {
      width: bytes.readUInt16LE(data + 6) & 0x3fff,
      height: bytes.readUInt16LE(data + 8) & 0x3fff,
    }
  if (name === 'VP8L' && length >= 5 && first === 0x2f) {
    const packed = bytes.readUInt32LE(data + 1)
    if (packed >>> 29 !== VP8L_VERSION) return undefined
    return { width: (packed & 0x3fff) + 1, height: ((packed >> 14) & 0x3fff) + 1 }
  }
  return undefined
}

/** Returns undefined when the chunks do not end at the end of the file. */
function riffChunks(bytes: Buffer): Chunk[] | undefined {
  const chunks: Chunk[] = []
  let at = 12
  while (at + 8 <= bytes.length) {
    const length = bytes.readUInt32LE(at + 4)
    chunks.push({ name: bytes.toString('latin1', at, at + 4), data: at + 8, length })
    at += 8 + length + (length % 2)
  }
  return at === bytes.length ? chunks : undefined
}
