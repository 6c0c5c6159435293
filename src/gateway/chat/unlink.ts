import { GatewayError } from '../../contract/errors.ts'
import { reviewerNamed } from '../../domain/evidence.ts'
import { accountId, CHAT_ID, type LinkedAccount } from '../../domain/linked-account.ts'
import { unlinked } from '../auth/linked-accounts.ts'
import { reviewerGuards } from '../auth/standing.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { read } from '../core/records.ts'
import { type Plan, transact } from '../core/transact.ts'

/** Ends a link of the caller. @throws GatewayError `not_found` */
export async function unlink(
  deps: Deps,
  caller: Caller,
  account: Pick<LinkedAccount, 'workspace' | 'member'>,
): Promise<void> {
  const { tenant, id } = caller
  await transact(deps, tenant, async (): Promise<Plan<void>> => {
    const isAccount = CHAT_ID.test(account.workspace) && CHAT_ID.test(account.member)
    const found = isAccount ? await read(deps.store, tenant, 'linked', accountId(account)) : undefined
    if (found?.value.reviewer !== id) throw new GatewayError('not_found', 'no such linked account')
    const end = unlinked(deps, tenant, found, { reason: 'unlinked', actor: reviewerNamed(id) })
    return { ...end, guards: [...end.guards, ...(await reviewerGuards(deps, caller))] }
  })
}
