import { createHmac } from 'node:crypto'
import { LIMITS } from '../contract/limits.ts'
import type { JsonValue } from '../contract/json.ts'
import type { Picture, ThreadView } from '../contract/reviewer.ts'
import { canonicalJson } from '../domain/digest.ts'
import { checkPicture, type CheckedPicture } from '../domain/picture.ts'
import { maskPayload } from '../policy/mask.ts'
import type { Caller } from './caller.ts'
import type { Deps } from './deps.ts'
import type { RevisionRecord } from './records.ts'

const TAG_CHARS = 8

/**
 * The payload as the caller sees it. In a session sensitive values stand as tags until somebody asks for them (`reveal`); a key, which a program
 * holds, gets them as they are. Equal values of a thread have equal tags, so that a revision cannot change one unseen.
 */
export function shownPayload(
  deps: Deps,
  caller: Caller,
  { thread_id, tool, payload }: Pick<RevisionRecord, 'payload'> & { thread_id: string; tool: string },
): Pick<ThreadView, 'payload' | 'masked'> {
  if (caller.via === 'key') return { payload: payload as ThreadView['payload'], masked: [] }
  const sensitive = deps.policies.current()?.tools.get(tool)?.sensitive
  const tag = (value: JsonValue): string => {
    const text = JSON.stringify([thread_id, canonicalJson(value)])
    const digest = createHmac('sha256', deps.commitmentSecret).update(text).digest('hex')
    return `[hidden ${digest.slice(0, TAG_CHARS)}]`
  }
  const shown = maskPayload(payload, sensitive, tag)
  return { payload: shown.payload as ThreadView['payload'], masked: [...shown.masked] }
}

export function picturesOf({ claims }: RevisionRecord): Picture[] {
  return (claims.images ?? []).map((image) => {
    const checked = checkImage(image)
    if (!checked.shown) return checked
    const { bytes: _, ...picture } = checked
    return picture
  })
}

export function checkImage(image: string): CheckedPicture {
  return checkPicture(image, { bytes: LIMITS.IMAGE_BYTES, pixels: LIMITS.IMAGE_SIDE_PIXELS })
}
