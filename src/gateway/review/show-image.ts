import { GatewayError } from '../../contract/errors.ts'
import type { CheckedPicture } from '../../domain/picture.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { reviewerEntry } from '../auth/standing.ts'
import { read, revisionId } from '../core/records.ts'
import { checkImage } from './show-payload.ts'
import { storeCall } from '../core/transact.ts'
import { findThread } from './obstacles.ts'

/** Returns one well-formed image of a revision. @throws GatewayError `not_found` for everything else */
export async function showImage(
  deps: Deps,
  caller: Caller,
  {
    thread_id,
    number,
    index,
  }: { readonly thread_id: string; readonly number: number; readonly index: number },
): Promise<CheckedPicture & { readonly shown: true }> {
  reviewerEntry(deps.policies.current(), caller)
  const revision = await storeCall(async () => {
    await findThread(deps, caller.tenant, thread_id)
    return read(deps.store, caller.tenant, 'revision', revisionId(thread_id, number))
  })
  const image = revision?.value.claims.images?.[index]
  const picture = image === undefined ? undefined : checkImage(image)
  if (picture?.shown === true) return picture
  throw new GatewayError(
    'not_found',
    picture === undefined ? 'no such image' : `not shown: ${picture.reason}`,
  )
}
