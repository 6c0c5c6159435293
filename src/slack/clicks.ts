import { isObject } from '../contract/json.ts'
import type { ChatAct, ChatAnswer, ChatClick } from '../domain/chat.ts'
import { ACTION, answerOf, answerView, DIALOG, dialogOf, type Kept, OFFERED, TYPED } from './blocks.ts'
import type { Envelope } from './socket.ts'
import type { Called } from './web-api.ts'

/** Turns envelopes into clicks, and answers the person who clicked (docs/chat.md). */
export interface ClickOptions {
  /** The verb. When it resolves, the click is stored. */
  readonly onClick: (click: ChatClick) => Promise<ChatAnswer>
  /** The workspace of the app and its bot, as Slack named them for our token. */
  readonly own: Own | undefined
  readonly call: (method: string, args: object) => Promise<Called>
  readonly onAnswer: (result: Clicked) => void
}

export interface Own {
  readonly workspace: string
  readonly bot: string
}

/** `foreign`: of another app, workspace or bot. `unanswered`: no way to the person was open. */
export type Clicked = ChatAnswer['kind'] | 'foreign' | 'unanswered'

const ACTS: readonly string[] = ['approve', 'reject', 'request_changes'] satisfies ChatAct[]
/** Slack waits this long for the acknowledgement of a dialog, ms. */
const DIALOG_MS = 3_000
const UNKNOWN: ChatAnswer = {
  kind: 'unknown',
  text: 'It is not known whether your click counted. Open the call in the console to see its votes.',
}

type Json = Readonly<Record<string, unknown>>

/** Stores the click, then acknowledges its envelope, then answers the person. Never rejects. */
export async function takeEnvelope(envelope: Envelope, options: ClickOptions): Promise<void> {
  const read = readEnvelope(envelope, options.own)
  if (read === 'foreign') options.onAnswer(read)
  if (typeof read === 'string') return void envelope.acknowledge()
  const began = performance.now()
  const answer = await options.onClick(read).catch(() => undefined)
  // without a stored click there is no acknowledgement: Slack tells the person so, and may send it again
  if (answer === undefined) return answered(await say(UNKNOWN, read, options), UNKNOWN, options)
  if (answer.kind !== 'ask' && read.comment !== undefined) {
    const inTime = performance.now() - began < DIALOG_MS
    const shown = envelope.acknowledge({ response_action: 'update', view: answerView(answer) })
    return answered((shown && inTime) || (await say(answer, read, options)), answer, options)
  }
  envelope.acknowledge()
  answered(await say(answer, read, options), answer, options)
}

function answered(isHeard: boolean, { kind }: ChatAnswer, { onAnswer }: ClickOptions): void {
  onAnswer(kind)
  if (!isHeard) onAnswer('unanswered')
}

/** Answers in the channel, for this person alone; in a dialog, when the channel takes no answer. */
async function say(answer: ChatAnswer, click: ChatClick, { call }: ClickOptions): Promise<boolean> {
  const { trigger, channel, member: user } = click
  const open = async (view: object): Promise<boolean> =>
    trigger !== undefined && (await call('views.open', { trigger_id: trigger, view })).ok
  if (answer.ask !== undefined && (await open(dialogOf(answer.ask, channel)))) return true
  const sent = await call('chat.postEphemeral', { channel, user, ...answerOf(answer) })
  return sent.ok || open(answerView(answer))
}

/** `ignored` needs no answer: an envelope of another type, or a button that only opens a page. */
function readEnvelope(
  { id, type, payload, app }: Envelope,
  own: Own | undefined,
): ChatClick | 'foreign' | 'ignored' {
  if (type !== 'interactive') return 'ignored'
  const { team, user, trigger_id: trigger } = payload
  const of = own !== undefined && app !== undefined && payload['api_app_id'] === app
  if (!of || text(team, 'id') !== own.workspace) return 'foreign'
  const member = text(user, 'id')
  const found = payload['type'] === 'view_submission' ? submitted(payload) : clicked(payload, own.bot)
  if (typeof found === 'string' || member === undefined) return typeof found === 'string' ? found : 'foreign'
  return {
    envelope: id,
    // a member of a shared channel has another workspace than the app
    workspace: text(user, 'team_id') ?? own.workspace,
    member,
    ...found,
    ...(typeof trigger === 'string' && { trigger }),
  }
}

type Found = Pick<ChatClick, 'channel' | 'message' | 'act' | 'stamp' | 'comment'>

function clicked(payload: Json, bot: string): Found | 'foreign' | 'ignored' {
  const [action] = Array.isArray(payload['actions']) ? (payload['actions'] as unknown[]) : []
  const act = text(action, 'action_id')?.slice(ACTION.length) ?? ''
  if (payload['type'] !== 'block_actions' || act === 'look') return 'ignored'
  const [channel, stamp] = [text(payload['channel'], 'id'), text(payload['container'], 'message_ts')]
  const message = text(action, 'value')
  // another app may post a message with our buttons, but not as our bot
  const isOurs = text(payload['message'], 'bot_id') === bot && text(payload['message'], 'ts') === stamp
  if (!isOurs || !ACTS.includes(act)) return 'foreign'
  if (channel === undefined || stamp === undefined || message === undefined) return 'foreign'
  return { channel, stamp, message, act: act as ChatAct }
}

function submitted(payload: Json): Found | 'foreign' {
  const view = payload['view']
  if (!isObject(view) || view['callback_id'] !== DIALOG || view['app_id'] !== payload['api_app_id'])
    return 'foreign'
  const kept = JSON.parse(text(view, 'private_metadata') ?? '{}') as Partial<Kept>
  const { message, act, channel } = kept
  if (message === undefined || act === undefined || channel === undefined) return 'foreign'
  const values = at(view['state'], 'values')
  const chosen = text(at(at(at(values, OFFERED), OFFERED), 'selected_option'), 'value')
  const offered = chosen === undefined ? undefined : kept.offered?.[Number(chosen)]
  const typed = text(at(at(values, TYPED), TYPED), 'value')
  const comment = [offered, typed].filter((one) => one !== undefined).join(' ')
  return { message, act, channel, comment }
}

const at = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined)

function text(value: unknown, name: string): string | undefined {
  const found = at(value, name)
  return typeof found === 'string' ? found : undefined
}
