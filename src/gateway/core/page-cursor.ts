import { GatewayError } from '../../contract/errors.ts'
import { dateTimeOf } from '../../policy/language/time.ts'
import type { IndexEntry } from '../../store/store.ts'

/** Shared by all lists: where a page begins, and periods of time. */

/** @param segment the part of the list, for a list of several parts */
export function encodeCursor(entry: IndexEntry | undefined, segment = 0): string {
  const place = [entry?.score ?? 0, entry?.member ?? '', ...(segment === 0 ? [] : [segment])]
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

/** A place in a list of several parts. Without `after`, the place is before the part's first entry. */
export interface Place {
  readonly segment: number
  readonly after: IndexEntry | undefined
}

/** Decodes a cursor of a list of `segments` parts. @throws GatewayError as `decodeCursor` does */
export function decodePlace(text: string, form: RegExp, segments: number): Place {
  const [score, member, segment = 0] = partsOf(text)
  const isPart = Number.isInteger(segment) && (segment as number) >= 0 && (segment as number) < segments
  if (!isPart) throw foreign()
  if (score === 0 && member === '') return { segment: segment as number, after: undefined }
  return { segment: segment as number, after: decodeCursor(text, form) }
}

function partsOf(text: string): readonly unknown[] {
  try {
    const parts = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as unknown
    if (Array.isArray(parts)) return parts
  } catch {
    // falls through to the refusal
  }
  throw foreign()
}

/**
 * Decodes a cursor.
 *
 * @param form the pattern of the list's members
 * @throws GatewayError `invalid_request` for a cursor that the gateway did not issue
 */
export function decodeCursor(text: string, form: RegExp): IndexEntry {
  const [score, member] = partsOf(text)
  const ours = Number.isFinite(score) && typeof member === 'string' && form.test(member)
  if (ours) return { score: score as number, member }
  throw foreign()
}

const foreign = (): GatewayError =>
  unfit('/cursor', 'use the `next_cursor` of the previous page', 'the gateway did not issue this cursor')

/** RFC 3339 as ms since 1970. @throws GatewayError `invalid_request` that points at the member */
export function instant(text: string, pointer: string): number {
  const ms = dateTimeOf(text)
  if (Number.isFinite(ms)) return ms
  throw unfit(pointer, 'must be a date and time in RFC 3339 format')
}

function unfit(
  pointer: string,
  message: string,
  detail = 'the request does not fit the contract',
): GatewayError {
  return new GatewayError('invalid_request', detail, { errors: [{ pointer, message }] })
}
