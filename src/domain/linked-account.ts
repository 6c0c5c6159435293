import { entryDigest, type Standing } from './session.ts'

/** A member of a chat's workspace who votes as a reviewer (docs/chat.md). */
export interface LinkedAccount {
  /** A random name in evidence, new for each link. */
  readonly link: string
  readonly reviewer: string
  readonly workspace: string
  readonly member: string
  readonly linked_at: number
  readonly expires_at: number
  /** Digest of the reviewer's directory entry when the link was made. */
  readonly entry: string
  /** Groups that the identity provider reported then; absent when the groups come from the directory. */
  readonly groups?: readonly string[]
}

/** The reason why a link ended, as recorded in evidence. */
export const UNLINK_REASONS = [
  'unlinked',
  'signed_out',
  'ended_by_admin',
  'frozen',
  'expired',
  'removed',
  'changed',
  /** A new link of the same two accounts. */
  'renewed',
] as const
export type UnlinkReason = (typeof UNLINK_REASONS)[number]

/** The id of a member in the gateway's records. Ids of a chat have letters and digits only. */
export const CHAT_ID = /^[A-Za-z0-9]{1,64}$/
export const accountId = ({ workspace, member }: Pick<LinkedAccount, 'workspace' | 'member'>): string =>
  `${workspace}/${member}`

/** The reason why the link is over at `now`, or undefined. */
export function linkOver(
  { expires_at, entry }: LinkedAccount,
  standing: Standing | undefined,
  now: number,
): 'expired' | 'removed' | 'changed' | undefined {
  if (now >= expires_at) return 'expired'
  if (standing === undefined) return 'removed'
  return entryDigest(standing) === entry ? undefined : 'changed'
}
