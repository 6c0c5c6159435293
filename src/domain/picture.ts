/**
 * Images that agents attach: only what is surely a PNG, JPEG or WebP of a sane size is ever shown as an image, everything else as text
 * (design.md section 10). Nothing is decoded; the frame of the file is walked from end to end.
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
  /** Of the longest side. */
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
  if (size === undefined) return hidden(`the bytes are not a whole ${format.toUpperCase()} image`)
  const { width, height } = size
  if (width < 1 || height < 1 || Math.max(width, height) > bounds.pixels)
    return hidden(`${width} x ${height} pixels: a side may have 1 to ${bounds.pixels}`)
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

/** PNG (RFC 2083 section 3): IHDR first, IEND last, nothing behind it. */
function sizeOfPng(bytes: Buffer): Size | undefined {
  if (bytes.toString('hex', 0, 8) !== PNG_SIGNATURE) return undefined
  let size: Size | undefined
  for (let at = 8; at + PNG_FRAME <= bytes.length;) {
    const length = bytes.readUInt32BE(at)
    const type = bytes.toString('latin1', at + 4, at + 8)
    const next = at + PNG_FRAME + length
    if (next > bytes.length || !/^[A-Za-z]{4}$/.test(type)) return undefined
    if (size === undefined) {
      if (type !== 'IHDR' || length !== 13) return undefined
      size = { width: bytes.readUInt32BE(at + 8), height: bytes.readUInt32BE(at + 12) }
    }
    if (type === 'IEND') return length === 0 && next === bytes.length ? size : undefined
    at = next
  }
  return undefined
}

const JPEG_START = 0xffd8
const JPEG_END = 0xffd9
const JPEG_SCAN = 0xda

/** JPEG (ITU-T T.81 annex B): segments up to the first scan, exactly one of them the frame header; the last two bytes end the image. */
function sizeOfJpeg(bytes: Buffer): Size | undefined {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== JPEG_START) return undefined
  if (bytes.readUInt16BE(bytes.length - 2) !== JPEG_END) return undefined
  const segments = jpegSegments(bytes)
  const frames = segments?.filter(({ marker }) => isFrameHeader(marker)) ?? []
  const [frame] = frames
  if (frame === undefined || frames.length > 1 || frame.length < 8) return undefined
  return { height: bytes.readUInt16BE(frame.at + 5), width: bytes.readUInt16BE(frame.at + 7) }
}

interface Segment {
  readonly at: number
  readonly marker: number
  readonly length: number
}

/** Undefined when something stands there that is no segment. */
function jpegSegments(bytes: Buffer): Segment[] | undefined {
  const segments: Segment[] = []
  for (let at = 2; at + 4 <= bytes.length;) {
    const marker = bytes[at + 1] ?? 0
    const length = bytes.readUInt16BE(at + 2)
    const known = isFrameHeader(marker) || isTable(marker) || marker === JPEG_SCAN
    if (bytes[at] !== 0xff || !known || length < 2 || at + 2 + length > bytes.length) return undefined
    if (marker === JPEG_SCAN) return segments
    segments.push({ at, marker, length })
    at += 2 + length
  }
  return undefined
}

/** SOF0 to SOF15; among them stand DHT, JPG and DAC. */
const isFrameHeader = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
/** DHT, DAC, DQT, DNL, DRI, DHP, EXP, APP0 to APP15 and COM. */
const isTable = (marker: number): boolean =>
  marker === 0xc4 || marker === 0xcc || (marker >= 0xdb && marker <= 0xef) || marker === 0xfe

/** WebP (RFC 9649 section 2): a RIFF file exactly as long as it says, its first chunk one of the three kinds. */
function sizeOfWebp(bytes: Buffer): Size | undefined {
  if (bytes.length < 30 || bytes.toString('latin1', 0, 4) !== 'RIFF') return undefined
  if (bytes.toString('latin1', 8, 12) !== 'WEBP' || bytes.readUInt32LE(4) + 8 !== bytes.length)
    return undefined
  const kind = bytes.toString('latin1', 12, 16)
  if (kind === 'VP8 ' && bytes.readUIntBE(23, 3) === 0x9d012a)
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  if (kind === 'VP8L' && bytes[20] === 0x2f) {
    const packed = bytes.readUInt32LE(21)
    return { width: (packed & 0x3fff) + 1, height: ((packed >> 14) & 0x3fff) + 1 }
  }
  if (kind === 'VP8X') return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  return undefined
}
