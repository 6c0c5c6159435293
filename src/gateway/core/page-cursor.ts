import { GatewayError } from '../../contract/errors.ts'
import { dateTimeOf } from '../../policy/language/time.ts'
import type { IndexEntry } from '../../store/store.ts'

/** Shared by all lists: where a page begins, and periods of time. */

export function encodeCursor(entry: IndexEntry | undefined): string {
  return Buffer.from(JSON.stringify([entry?.score ?? 0, entry?.member ?? ''])).toString('base64url')
}

/**
 * Decodes a cursor.
 *
 * @param form the pattern of the list's members
 * @throws GatewayError `invalid_request` for a cursor that the gateway did not issue
 */
export function decodeCursor(text: string, form: RegExp): IndexEntry {
  try {
    const [score, member] = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as unknown[]
    const ours = Number.isFinite(score) && typeof member === 'string' && form.test(member)
    if (ours) return { score: score as number, member }
  } catch {
    // falls through to the refusal
  }
  throw unfit(
    '/cursor',
    'use the `next_cursor` of the previous page',
    'the gateway did not issue this cursor',
  )
}

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
