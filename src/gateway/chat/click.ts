import { GatewayError } from '../../contract/errors.ts'
import { LIMITS } from '../../contract/limits.ts'
import type { ChatAnswer, ChatClick, ChatDialog } from '../../domain/chat.ts'
import type { ChatApp } from './chat-app.ts'
import type { CountedClick, PostedMessage } from '../../domain/posted-message.ts'
import { sha256 } from '../../domain/digest.ts'
import { accountId, CHAT_ID } from '../../domain/linked-account.ts'
import type { Thread } from '../../domain/thread.ts'
import { callerOfLink, type Linked, overAs } from '../auth/linked-accounts.ts'
import { lastUse } from '../auth/sessions.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { purgeAt } from '../core/expiry-index.ts'
import { freezesNow, refuseFrozenReviewer } from '../core/freezes.ts'
import { put, read, unchanged, type Versioned } from '../core/records.ts'
import { storeCall } from '../core/transact.ts'
import { displayIn } from '../review/display.ts'
import { checkPending, findThread, refuseObstacle } from '../review/obstacles.ts'
import { type Clicked, vote } from '../review/vote.ts'
import { shownHeading } from '../thread/heading.ts'
import { headingRuns } from './message.ts'

/**
 * A click in a chat is a vote of one linked reviewer (docs/chat.md), by the verb that judges every vote. The click
 * names a message, and nothing else of it is believed: the gateway knows what that message displayed. The commit of the
 * vote also stores the envelope, so that a repeated envelope is the same vote.
 */

const BUTTON = /^(chm_([a-z0-9-]{1,32})_[0-9a-f]{32})\.([1-9][0-9]{0,8})$/
/** A chat repeats an envelope for minutes. */
const REPEATS_MS = 24 * 3_600_000

/** The id that the buttons of a version of the message carry. */
export const buttonOf = (id: string, { version }: Pick<PostedMessage, 'version'>): string =>
  `${id}.${version}`

/** A click with the message that its button names. */
interface Click extends ChatClick {
  readonly tenant: string
  readonly id: string
  readonly version: number
}

/** The click with the message that its button names; undefined for another button. */
function clickOn(one: ChatClick): Click | undefined {
  const [, id = '', tenant = '', version] = BUTTON.exec(one.message) ?? []
  return version === undefined ? undefined : { ...one, tenant, id, version: Number(version) }
}

/** The answer to a click, whatever becomes of it. */
export async function click(
  deps: Deps,
  app: Pick<ChatApp, 'workspace' | 'member'>,
  chatClick: ChatClick,
): Promise<ChatAnswer> {
  const clicked = clickOn(chatClick)
  if (clicked === undefined) return refused(NOT_HERE)
  const { tenant, id } = clicked
  if (app.workspace === undefined || clicked.workspace !== app.workspace)
    return refused('This gateway belongs to another workspace.')
  const posted = await storeCall(() => read(deps.store, tenant, 'posted', id)).catch(ofGateway)
  if (posted instanceof GatewayError) return refusedBy(posted)
  const elsewhere = reasonElsewhere(posted?.value, clicked)
  if (posted === undefined || elsewhere !== undefined) return refused(elsewhere ?? NOT_HERE)
  const link = deps.threadUrl(posted.value.thread_id)
  try {
    return await answerTo(deps, app, { clicked, posted, link })
  } catch (error) {
    const refusal = ofGateway(error)
    // the first of two deliveries of one envelope may have counted in the meantime
    return (await countedBefore(deps, clicked).catch(() => undefined)) ?? refusedBy(refusal, link)
  }
}

const NOT_HERE = 'This gateway has no such message here.'

/** A message counts only where this gateway posted it. A click may be faster than the chat's answer to the gateway. */
function reasonElsewhere(posted: PostedMessage | undefined, click: Click): string | undefined {
  if (posted?.channel !== click.channel) return NOT_HERE
  if (posted.stamp === undefined) return 'This message was posted a moment ago. Click again.'
  const isAt = click.stamp === undefined ? click.comment !== undefined : click.stamp === posted.stamp
  return isAt ? undefined : NOT_HERE
}

interface Here {
  readonly clicked: Click
  readonly posted: Versioned<PostedMessage>
  readonly link: string
}

async function answerTo(
  deps: Deps,
  app: Pick<ChatApp, 'member'>,
  { clicked, posted, link }: Here,
): Promise<ChatAnswer> {
  const before = await countedBefore(deps, clicked)
  if (before !== undefined) return before
  const account = await linkedAccount(deps, clicked)
  if (account === undefined) return { ...UNKNOWN, link: pageOf(link) }
  // a chat that does not answer keeps every member from voting
  const member = await app.member(clicked.member).catch(() => 'away' as const)
  if (member === 'away')
    return refused('The chat does not say who you are now. Click again, or decide in the console.', link)
  if (member === undefined) return refused('The chat does not know you.', link)
  if (member.refused) return refused(`You cannot vote here: you are ${member.refused}.`, link)
  const caller = callerOfLink(clicked.tenant, account)
  const { thread_id } = posted.value
  const { act: decision, comment } = clicked
  if (decision !== 'approve' && comment === undefined) return ask(deps, caller, { clicked, posted, link })
  if (comment !== undefined && (comment.length > LIMITS.COMMENT_CHARS || !comment.isWellFormed()))
    return refused(`A comment has at most ${LIMITS.COMMENT_CHARS} characters.`, link)
  const { revision } = posted.value
  await vote(deps, caller, {
    thread_id,
    vote: { decision, revision, ...(comment === undefined ? {} : { comment }) },
    clicked: (thread) => judged(deps, caller, clicked, thread),
  })
  return answerOf({ act: decision, revision })
}

/** The part of a vote that is the click's: read anew for each attempt of its commit. */
async function judged(deps: Deps, caller: Caller, clicked: Click, thread: Thread): Promise<Clicked> {
  const { tenant, id, act } = clicked
  const posted = await read(deps.store, tenant, 'posted', id)
  if (posted === undefined) throw changed()
  checkShown(posted.value, clicked, thread)
  await checkLevel(deps, caller, thread)
  const { places, drawn_at: since, revision } = posted.value
  const envelope = sha256(clicked.envelope)
  return {
    displayed: await displayIn(deps, caller, thread, { places, since }),
    guards: [unchanged('posted', id, posted), unchanged('clicked', envelope, undefined)],
    writes: [
      put('clicked', envelope, { account: accountId(clicked), act, revision }),
      purgeAt('clicked', envelope, deps.store.now() + REPEATS_MS),
    ],
  }
}

/** Refuses a click on an older version of the message, and an approval of a part of a call. */
function checkShown(posted: PostedMessage, { act, version }: Click, thread: Thread): void {
  if (posted.version !== version || posted.revision !== thread.revision) throw changed()
  if (act === 'approve' && !posted.whole)
    throw new GatewayError('displayed_required', 'the message does not hold the whole call: look and decide')
}

const changed = (): GatewayError =>
  new GatewayError('stale_revision', 'the message has changed since: look at it again')

/** Refuses a vote in a chat that the level does not have. */
async function checkLevel(deps: Deps, { tenant, id }: Caller, { risk }: Thread): Promise<void> {
  const chat = deps.policies.current()?.views[risk].chat
  if (chat === undefined)
    throw new GatewayError('sign_in_required', `calls of ${risk} risk are decided in the console`)
  const { signed_in_within_ms: within } = chat
  if (within === undefined) return
  const used = await lastUse(deps, tenant, id)
  if (used === undefined || deps.store.now() - used > within) {
    const minutes = Math.ceil(within / 60_000)
    throw new GatewayError('sign_in_required', `use the console first: it must be within ${minutes} minutes`)
  }
}

/** The dialog for the comment, if the vote would count now. */
async function ask(deps: Deps, caller: Caller, { clicked, posted, link }: Here): Promise<ChatAnswer> {
  const { value: thread } = await storeCall(() => findThread(deps, caller.tenant, posted.value.thread_id))
  const rejects = clicked.act === 'reject'
  const freezes = await storeCall(() => freezesNow(deps, caller.tenant))
  refuseFrozenReviewer(freezes, caller.id)
  checkPending(thread, { now: deps.store.now(), freezes, rejects })
  refuseObstacle(deps, caller, thread, { freezes, rejects })
  checkShown(posted.value, clicked, thread)
  await storeCall(() => checkLevel(deps, caller, thread))
  const snapshot = deps.policies.current()
  const dialog: ChatDialog = {
    message: clicked.message,
    act: clicked.act,
    heading: headingRuns(shownHeading(snapshot, thread.tool, thread.heading), true),
    offered: snapshot?.views[thread.risk].comments ?? [],
    required: rejects && thread.requirement.require_comment === true,
  }
  return { kind: 'ask', text: 'Say why.', link, ask: dialog }
}

/** The account's link in force. */
async function linkedAccount(deps: Deps, { tenant, workspace, member }: Click): Promise<Linked | undefined> {
  if (!CHAT_ID.test(workspace) || !CHAT_ID.test(member)) return undefined
  const found = await storeCall(() => read(deps.store, tenant, 'linked', accountId({ workspace, member })))
  return found && overAs(deps, tenant, found) === undefined ? found : undefined
}

/** The same answer as before, for an envelope that was counted. */
async function countedBefore(deps: Deps, clicked: Click): Promise<ChatAnswer | undefined> {
  const { tenant, envelope } = clicked
  const known = await storeCall(() => read(deps.store, tenant, 'clicked', sha256(envelope)))
  return known?.value.account === accountId(clicked) ? answerOf(known.value) : undefined
}

const SAID = { approve: 'approved', reject: 'rejected', request_changes: 'asked for changes to' } as const

const answerOf = ({ act, revision }: Pick<CountedClick, 'act' | 'revision'>): ChatAnswer => ({
  kind: 'counted',
  text: `Your vote counts: you ${SAID[act]} revision ${revision}.`,
})

const UNKNOWN: ChatAnswer = {
  kind: 'unknown',
  text: 'This account is linked to no reviewer here. Sign in to the console, and link it on the page Chats.',
}
/** The page of the console on which an account is linked. */
const pageOf = (link: string): string => link.replace(/#.*$/s, '#/chats')

const refused = (text: string, link?: string): ChatAnswer => ({ kind: 'refused', text, link })

/** Codes after which the vote may have been counted, or may count at another click. */
const LATER: Readonly<Partial<Record<string, string>>> = {
  outcome_unknown: 'The gateway does not know whether your vote counts: look in the console.',
  store_unavailable: 'Your vote was not counted: the store does not answer now. Click again.',
  not_ready: 'Your vote was not counted: no policy is in force now. Click again.',
}

function refusedBy({ code, message }: GatewayError, link?: string): ChatAnswer {
  if (code === 'unauthenticated') return { ...UNKNOWN, link: link && pageOf(link) }
  return refused(LATER[code] ?? `Your vote was not counted: ${message}.`, link)
}

/** @throws the error itself when it is a fault of the program */
function ofGateway(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  throw error
}
