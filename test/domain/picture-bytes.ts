import { crc32, deflateSync } from 'node:zlib'

/** Pictures made by hand, of parts that are right or wrong. */

export function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

export const PNG_SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex')
export const IDAT = chunk('IDAT', deflateSync(Buffer.alloc(8)))
export const IEND = chunk('IEND', Buffer.alloc(0))

export function pngHeader(width: number, height: number): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 0, 0, 0, 0], 8)
  return header
}

export function png(width: number, height: number, ...more: readonly Buffer[]): Buffer {
  return Buffer.concat([PNG_SIGNATURE, chunk('IHDR', pngHeader(width, height)), ...more, IDAT, IEND])
}

export const SCAN = Buffer.from('ffda0008010100003f00', 'hex')
/** Two stuffed bytes, a restart marker and one that is filled up. */
export const SCAN_DATA = Buffer.from('d2ff00cfffd020ffff00', 'hex')

/** `scans`: the segments between the headers and the end. */
export function jpeg(width: number, height: number, scans: readonly Buffer[] = [SCAN, SCAN_DATA]): Buffer {
  return jpegOf(APP0, frameHeader(width, height), ...scans)
}

export const APP0 = Buffer.from('ffe000104a46494600010100000100010000', 'hex')

export function frameHeader(width: number, height: number, marker = 0xc0): Buffer {
  const sof = Buffer.from('ffc0000b080000000001011100', 'hex')
  sof[1] = marker
  sof.writeUInt16BE(height, 5)
  sof.writeUInt16BE(width, 7)
  return sof
}

export function jpegOf(...parts: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from('ffd8', 'hex'), ...parts, Buffer.from('ffd9', 'hex')])
}

/** An extended one has its canvas first, and the image behind it. */
export function webp(kind: 'VP8 ' | 'VP8L' | 'VP8X', width: number, height: number): Buffer {
  if (kind === 'VP8X') return riff(canvas(width, height), webpImage('VP8L', width, height))
  return riff(webpImage(kind, width, height))
}

export function webpImage(kind: 'VP8 ' | 'VP8L', width: number, height: number): Buffer {
  const data = Buffer.alloc(22)
  if (kind === 'VP8 ') {
    data.writeUIntBE(0x9d012a, 3, 3)
    data.writeUInt16LE(width, 6)
    data.writeUInt16LE(height, 8)
  } else {
    data[0] = 0x2f
    data.writeUInt32LE((width - 1) | ((height - 1) << 14), 1)
  }
  return riffChunk(kind, data)
}

export function canvas(width: number, height: number, flags = 0): Buffer {
  const data = Buffer.alloc(10)
  data[0] = flags
  data.writeUIntLE(width - 1, 4, 3)
  data.writeUIntLE(height - 1, 7, 3)
  return riffChunk('VP8X', data)
}

export function riffChunk(name: string, data: Buffer): Buffer {
  const head = Buffer.alloc(8)
  head.write(name, 0, 'latin1')
  head.writeUInt32LE(data.length, 4)
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)])
}

/** The upper two bits of a side in a VP8 header: they set how a decoder may enlarge it. */
export const SCALED = 0xc000

/** One pixel: no VP8L image is shorter. Browsers show it. */
export const SMALLEST_WEBP = Buffer.from('5249464614000000574542505650384c080000002f00000000888808', 'hex')

export function riff(...chunks: readonly Buffer[]): Buffer {
  return riffChunk('RIFF', Buffer.concat([Buffer.from('WEBP'), ...chunks]))
}
