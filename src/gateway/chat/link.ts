import type { ChatAccounts, LinkedChat } from '../../contract/chat.ts'
import { GatewayError } from '../../contract/errors.ts'
import { LIMITS } from '../../contract/limits.ts'
import { SignInError } from '../../contract/sign-in-problems.ts'
import { reviewerNamed, TIMER } from '../../domain/evidence.ts'
import { accountId, CHAT_ID, type LinkedAccount } from '../../domain/linked-account.ts'
import { SEAL_NONCE_BYTES, seal, unseal } from '../../domain/sealed.ts'
import { entryDigest } from '../../domain/session.ts'
import type { Identity } from '../auth/identity-provider.ts'
import { LOOK_AT_LINK_MS, overAs, unlinked, workspaceOf } from '../auth/linked-accounts.ts'
import { list, signInsOf, standingOf } from '../auth/sessions.ts'
import { reviewerGuards } from '../auth/standing.ts'
import { type Caller, unauthenticated } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { isoTime, record } from '../core/event-record.ts'
import { purged } from '../core/expiry-index.ts'
import { put, read, unchanged } from '../core/records.ts'
import { type Plan, storeCall, transact } from '../core/transact.ts'

/**
 * Links an account of a chat to the signed-in reviewer (docs/chat.md). The chat's statement about the member is
 * encrypted, and works only in the session that asked for it.
 */

const PURPOSE = 'countersign linked account, version 1'

interface Proposal {
  readonly tenant: string
  /** SHA-256 of the session that began the flow. */
  readonly session: string
  readonly until: number
  readonly workspace: string
  readonly member: string
  /** The names that the page displays before it asks. They are not kept. */
  readonly names: readonly [workspace: string, member: string]
}

const NAME_CHARS = 80

/** Encrypts the chat's statement for the session that began the flow. @throws SignInError `invalid` */
export function proposeLink(
  deps: Deps,
  { claims }: Identity,
  { tenant, session }: { readonly tenant: string; readonly session: string },
): string {
  const claim = (name: string, other = ''): string => {
    const value = claims[name]
    return (typeof value === 'string' ? value : other).slice(0, NAME_CHARS)
  }
  const [workspace, member] = [claim('https://slack.com/team_id'), claim('https://slack.com/user_id')]
  if (!CHAT_ID.test(workspace) || !CHAT_ID.test(member))
    throw new SignInError('invalid', 'the chat named no workspace and member')
  const proposal: Proposal = {
    tenant,
    session,
    until: deps.store.now() + LIMITS.LINK_MS,
    workspace,
    member,
    names: [claim('https://slack.com/team_name', workspace), claim('name', member)],
  }
  return seal(deps.commitmentSecret, PURPOSE, JSON.stringify(proposal), deps.random(SEAL_NONCE_BYTES))
}

/** The two accounts that the proposal would link. @throws GatewayError `not_permitted` */
export function accountsOf(deps: Deps, caller: Caller, sealed: string): ChatAccounts {
  const { workspace, member, names } = proposalOf(deps, caller, sealed)
  const [workspace_name, member_name] = names
  return { reviewer: caller.id, workspace, member, workspace_name, member_name }
}

function proposalOf(deps: Deps, caller: Caller, sealed: string): Proposal {
  const text = unseal(deps.commitmentSecret, PURPOSE, sealed)
  const proposal = text === undefined ? undefined : (JSON.parse(text) as Proposal)
  const isOurs = proposal?.tenant === caller.tenant && proposal.session === caller.keyHash
  if (proposal === undefined || !isOurs || deps.store.now() >= proposal.until)
    throw new GatewayError('not_permitted', 'begin again: this was begun in another session, or too long ago')
  return proposal
}

/**
 * Links the two accounts. A member has one reviewer in a tenant, and a reviewer one member of a workspace.
 *
 * @throws GatewayError `not_permitted` for a proposal of another session, `already_linked`, `unauthenticated`
 */
export async function link(deps: Deps, caller: Caller, sealed: string): Promise<LinkedChat> {
  const { tenant, id: reviewer } = caller
  const { workspace, member } = proposalOf(deps, caller, sealed)
  const id = accountId({ workspace, member })
  const { answer } = await transact(deps, tenant, async (): Promise<Plan<LinkedChat>> => {
    const own = workspaceOf(reviewer, workspace)
    const [earlier, held] = await Promise.all([
      read(deps.store, tenant, 'linked', id),
      read(deps.store, tenant, 'linked_in', own),
    ])
    const over = earlier && overAs(deps, tenant, earlier)
    if (over === undefined) refuseOther(earlier?.value.reviewer, reviewer, 'this member is another reviewer')
    refuseOther(held?.value.member, member, 'you are another member of this workspace')
    const actor = reviewerNamed(reviewer)
    const ending = over === undefined ? { reason: 'renewed' as const, actor } : { reason: over, actor: TIMER }
    const ended = earlier && unlinked(deps, tenant, earlier, ending)
    const account = newAccount(deps, caller, { workspace, member })
    const { link, linked_at, expires_at, groups } = account
    const details = { link, expires_at: isoTime(expires_at), groups }
    const disclosed = { workspace, member }
    return {
      answer: viewOf(account),
      guards: [
        unchanged('linked', id, earlier),
        unchanged('linked_in', own, held),
        ...(await reviewerGuards(deps, caller)),
      ],
      writes: [
        ...(ended?.writes ?? []),
        put('linked', id, account),
        put('linked_in', own, { member }),
        ...list(reviewer, purged('linked', id), {
          over: expires_at,
          look: Math.min(expires_at, linked_at + LOOK_AT_LINK_MS),
        }),
      ],
      evidence: [
        ...(ended?.evidence ?? []),
        record(linked_at, actor, { tenant }, { type: 'chat.linked', details, disclosed }),
      ],
    }
  })
  return answer
}

/** Only a person who is signed in links an account. Vouched groups last as long as the session's. */
function newAccount(
  deps: Deps,
  { tenant, id: reviewer, session, via }: Caller,
  account: Pick<LinkedAccount, 'workspace' | 'member'>,
): LinkedAccount {
  const standing = standingOf(deps, tenant, reviewer)
  if (session === undefined || via === 'slack' || standing === undefined) throw unauthenticated()
  const linked_at = deps.store.now()
  const longest = linked_at + deps.chatLinkMs
  const { groups, expiresAt } = session
  return {
    link: deps.nextId(),
    reviewer,
    ...account,
    linked_at,
    expires_at: groups === undefined ? longest : Math.min(longest, expiresAt),
    entry: entryDigest(standing),
    ...(groups === undefined ? {} : { groups }),
  }
}

function refuseOther(known: string | undefined, wanted: string, detail: string): void {
  if (known !== undefined && known !== wanted)
    throw new GatewayError('already_linked', `${detail}: that account has to be unlinked first`)
}

const viewOf = ({ workspace, member, linked_at, expires_at }: LinkedAccount): LinkedChat => ({
  workspace,
  member,
  linked_at: isoTime(linked_at),
  expires_at: isoTime(expires_at),
})

/** The linked accounts of the caller. */
export async function listLinks(deps: Deps, caller: Caller): Promise<LinkedChat[]> {
  const { tenant } = caller
  return storeCall(async () => {
    const ids = await signInsOf(deps, caller, 'linked')
    const found = await Promise.all(ids.map((id) => read(deps.store, tenant, 'linked', id)))
    return found.flatMap((one) => (one && overAs(deps, tenant, one) === undefined ? [viewOf(one.value)] : []))
  })
}
