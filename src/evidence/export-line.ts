import { isUtf8 } from 'node:buffer'
import { type JsonObject, type JsonValue, isObject } from '../contract/json.ts'
import { canonicalJson, leafHash } from '../domain/digest.ts'

/** The readable parts of a line of an export (docs/evidence.md). */
export interface ExportLine {
  /** Hash of the record's text; for a foreign line, hash of the whole line. */
  readonly leaf: string
  /** The number in the line. */
  readonly number?: number
  /** The hash over the record file of a record that is lost. */
  readonly lost?: string
  /** The disclosures in the line, of whatever shape. */
  readonly disclosures?: JsonValue
  /** The record; absent unless its text is in RFC 8785 form. */
  readonly record?: JsonObject
  /** The text of the record, with exactly the stored bytes. */
  readonly text?: string
  /** Faults of the line in words, without its number. */
  readonly faults: readonly string[]
}

/** A line of an export, which ends with the stored text of the record. */
const LINE = /^\{"number":([1-9][0-9]{0,14}),"leaf_hash":"([0-9a-f]{64})","record":(\{.*\})\}$/s

/** A line of a record whose record file is lost, with the hash over the file. */
const LOST = /^\{"number":([1-9][0-9]{0,14}),"lost":"([0-9a-f]{64})"\}$/
/** Records of a record file: a full bundle of the tiles. */
export const FILE_RECORDS = 256

export function readExportLine(line: Buffer): ExportLine {
  if (!isUtf8(line)) return { leaf: leafHash(''), faults: [notUtf8(line)] }
  const whole = line.toString('utf8')
  const [, lostNumber, lost] = LOST.exec(whole) ?? []
  if (lost !== undefined) return { leaf: '', number: Number(lostNumber), lost, faults: [] }
  const { disclosures, plain } = withoutDisclosures(whole)
  const [, number, hash, text] = LINE.exec(plain) ?? []
  if (text === undefined) return { leaf: leafHash(whole), faults: [noLine(whole)] }
  const leaf = leafHash(text)
  const record = recordIn(text)
  const wrongHash = leaf === hash ? [] : ['does not match its recorded hash']
  const wrongForm = record === undefined ? ['is not RFC 8785 JSON'] : []
  return {
    leaf,
    number: Number(number),
    text,
    ...(disclosures === undefined ? {} : { disclosures }),
    ...(record && { record }),
    faults: [...wrongHash, ...wrongForm],
  }
}

const DISCLOSED = ',"disclosures":'

/**
 * Takes the disclosures out of a line. Only the text that the gateway writes is accepted, so that no byte of the record
 * can count as disclosures.
 */
function withoutDisclosures(line: string): { readonly disclosures?: JsonValue; readonly plain: string } {
  const at = line.indexOf(DISCLOSED)
  if (at < 0 || at > LONGEST_START) return { plain: line }
  try {
    const { disclosures } = JSON.parse(line) as { readonly disclosures: JsonValue }
    const part = DISCLOSED + JSON.stringify(disclosures)
    if (line.startsWith(part, at))
      return { disclosures, plain: line.slice(0, at) + line.slice(at + part.length) }
  } catch {
    // the line is reported as no line of an export
  }
  return { plain: line }
}

/** The longest text before the disclosures: the number and the hash. */
const LONGEST_START = 120

/** The first bytes of files that were compressed or converted after the export. */
const FILES: readonly (readonly [bytes: Buffer, what: string])[] = [
  [Buffer.of(0x1f, 0x8b), 'is the beginning of a gzip file: unpack it first'],
  [Buffer.of(0x28, 0xb5, 0x2f, 0xfd), 'is the beginning of a zstd file: unpack it first'],
  [Buffer.from('PK'), 'is the beginning of a zip file: unpack it first'],
  [Buffer.of(0xff, 0xfe), 'is UTF-16: the file was converted after the export'],
  [Buffer.of(0xfe, 0xff), 'is UTF-16: the file was converted after the export'],
]

function notUtf8(line: Buffer): string {
  const [, what = 'is not UTF-8'] =
    FILES.find(([bytes]) => line.subarray(0, bytes.length).equals(bytes)) ?? []
  return what
}

function noLine(text: string): string {
  if (text.startsWith('\ufeff'))
    return 'begins with a byte order mark: the file was converted after the export'
  if (text.endsWith('\r')) return 'ends with a carriage return: the file was converted after the export'
  return 'is not a line of `countersign evidence export`'
}

/** The record in the text; undefined unless it is in RFC 8785 form. */
export function recordIn(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as JsonValue
    return isObject(value) && canonicalJson(value) === text ? value : undefined
  } catch {
    return undefined
  }
}
