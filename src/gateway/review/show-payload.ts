import { LIMITS } from '../../contract/limits.ts'
import type { Picture, ThreadView } from '../../contract/reviewer.ts'
import { checkPicture, type CheckedPicture } from '../../domain/picture.ts'
import type { Thread } from '../../domain/thread.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { hideSensitive } from '../thread/mask-sensitive.ts'
import type { RevisionRecord } from '../core/records.ts'

/**
 * The payload as the caller may see it. A caller with a session receives tags in place of sensitive values until
 * `reveal`. A caller with a key is a program, and receives the values. Equal values of a thread have equal tags, so
 * that a changed value in a revision is visible.
 */
export function shownPayload(
  deps: Deps,
  caller: Caller,
  thread: Pick<Thread, 'tag_key' | 'tool'>,
  { payload }: Pick<RevisionRecord, 'payload'>,
): Pick<ThreadView, 'payload' | 'masked'> {
  if (caller.via === 'key') return { payload: payload as ThreadView['payload'], masked: [] }
  const shown = hideSensitive(deps, thread.tag_key, { tool: thread.tool, payload })
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
