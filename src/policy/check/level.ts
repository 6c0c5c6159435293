import type { JsonObject } from '../../contract/json.ts'
import {
  riskAbove,
  type Escalation,
  type ReviewRequirement,
  type Risk,
  type Seat,
  UNLIMITED_MS,
} from '../../domain/decision.ts'
import { MAX_APPROVALS, MAX_COMMENT_CHARACTERS, MAX_COMMENTS } from '../text/bounds.ts'
import type { LevelView } from '../language/level-view.ts'
import type { RoutingIr } from '../language/rule.ts'
import { duration } from '../language/time.ts'
import type { Doc, DocMap } from '../yaml/parse.ts'
import { readBoolean, readDuration, readMap, readTexts, type Reader } from '../yaml/shape.ts'
import { type Change, flag, loosens, SEEN, tightens } from './change.ts'
import {
  BOOLEAN,
  count,
  DURATION,
  GROUP,
  has,
  key,
  list,
  need,
  ON,
  oneOf,
  readSpec,
  type SoFar,
  schemaOf,
  specOf,
  value,
} from './spec.ts'
import { type Calendar, WORKING } from './working.ts'

/** A use of a group: routing or a rule requires `approvals` from the group. */
export interface GroupUse {
  readonly group: string
  readonly approvals: number
  readonly at: Doc
  /** The review level; absent for escalations and for `reviewers:` of a rule. */
  readonly level?: Risk
}

/** The members that the keys of a level give: of its seat, of its requirement, and of its view. */
type Level = Seat & Omit<ReviewRequirement, 'seats'> & LevelView

interface Around extends Calendar {
  readonly uses: GroupUse[]
}

interface Expiring {
  readonly expires_ms?: number | undefined
}

/** A time before the level expires. */
const BEFORE = value((reader, doc, what, { expires_ms = Infinity }: Expiring) => {
  const ms = readDuration(reader, doc, what)
  if (ms === undefined || ms < expires_ms) return ms
  return reader.report('bad-value', doc, `${what} is not before the level expires`)
}, DURATION.schema)
const REMINDER = value((reader, doc, what, { soFar }: SoFar<Level>) => {
  const ms = BEFORE.read(reader, doc, what, soFar)
  return ms === undefined ? undefined : [ms]
}, DURATION.schema)

const ESCALATION_KEYS = specOf<Escalation, Expiring>()('`escalate`', {
  after: need('after_ms', BEFORE, '', SEEN),
  group: need('group', GROUP, '', SEEN),
})

const CHAT_KEYS = specOf<{ readonly signed_in_within_ms?: number }>()('`chat`', {
  signed_in_within: need('signed_in_within_ms', DURATION, '', SEEN),
})
const CHAT = value(readChat, { anyOf: [BOOLEAN.schema as JsonObject, schemaOf(CHAT_KEYS)] })

const COMMENTS = value(readComments, {
  ...list({ type: 'string', minLength: 1, maxLength: MAX_COMMENT_CHARACTERS }),
  maxItems: MAX_COMMENTS,
})

const ESCALATE = value(readEscalations, (names) => {
  const step = schemaOf(ESCALATION_KEYS, names)
  return { anyOf: [step, list(step)] }
})

/** The keys of a review level in routing.yaml. */
export const LEVEL_KEYS = specOf<Level, Around>()('a review level', {
  group: need('group', GROUP, 'Who reviews.', SEEN),
  approvals: need('approvals', count(MAX_APPROVALS), 'How many of them must approve.', SEEN),
  interactive: key(
    'interactive',
    ON,
    'Whether a vote needs a sign-in to the console; a key is not enough.',
    SEEN,
  ),
  expires: need('expires_ms', DURATION, 'How long a call waits for a decision: `24h`.', SEEN),
  remind_after: key('remind_after_ms', REMINDER, 'When reviewers are reminded, once: `4h`.', SEEN),
  escalate: key('escalate', ESCALATE, 'Who may step in, and when.', SEEN),
  working: key('working', WORKING, 'The hours in which the times of the level count.', SEEN),
  comments: key('comments', COMMENTS, 'Ready-made comments, which the keys 1 to 9 insert.', SEEN),
  require_comment: key('require_comment', ON, 'Whether a rejection needs a comment.', SEEN),
  reveal: key(
    'reveal',
    oneOf(['required', 'optional']),
    'Whether hidden values are parts to see; required from medium risk up.',
    (one: string, other: string) =>
      flag('hidden values are parts to see')(one === 'required', other === 'required'),
  ),
  require_displayed: key(
    'require_displayed',
    ON,
    'Whether an approval needs proof that each part to see was displayed.',
    SEEN,
  ),
  chat: key(
    'chat',
    CHAT,
    'Whether reviewers may decide in a chat; with a time, only if they used the console within it.',
    diffChat,
  ),
})

/** Reads a level. Reveals are required from medium risk up. */
export function checkLevel(
  reader: Reader,
  doc: Doc,
  { risk, ...around }: Around & { readonly risk: Risk },
): { readonly requirement: ReviewRequirement; readonly view: LevelView } | undefined {
  const map = readMap(reader, doc, 'a review level')
  if (!map) return undefined
  const { entry, at } = readSpec(reader, map, LEVEL_KEYS, around)
  if (!at.group || !has(entry, 'group', 'approvals', 'expires_ms')) return undefined
  const reveal = riskAbove(risk, 'low') ? ('required' as const) : ('optional' as const)
  const { group, approvals, escalate, comments, ...parts } = { escalate: [], comments: [], reveal, ...entry }
  const { chat, reveal: shown, ...rest } = parts
  around.uses.push({ group, approvals, at: at.group, level: risk })
  if (at.chat && chat) reportChat(reader, at.chat, { risk, interactive: rest.interactive })
  return {
    requirement: { seats: [{ group, approvals, escalate }], remind_after_ms: [], ...rest },
    view: { comments, reveal: shown, ...(chat && { chat }) },
  }
}

/** The entry of a checked level. */
export function levelOf({ levels, views }: Pick<RoutingIr, 'levels' | 'views'>, risk: Risk): Level {
  const { seats, ...rest } = levels[risk]
  return { ...(seats[0] as Seat), ...rest, ...views[risk] }
}

/** Reads `chat`: true, or a map with a time; false is the default. */
function readChat(reader: Reader, doc: Doc, what: string): LevelView['chat'] {
  if (doc.kind === 'map') {
    const { entry } = readSpec(reader, doc, CHAT_KEYS, {})
    return has(entry, 'signed_in_within_ms') ? entry : undefined
  }
  return readBoolean(reader, doc, what) === true ? {} : undefined
}

/** Reports a level whose calls a chat can never decide. */
function reportChat(
  reader: Reader,
  at: Doc,
  { risk, interactive }: { readonly risk: Risk; readonly interactive: boolean | undefined },
): void {
  if (risk === 'critical') reader.report('bad-value', at, 'a call of critical risk is not decided in a chat')
  const hint = 'remove `chat` or `interactive`'
  if (interactive) reader.report('bad-value', at, 'a vote in a chat is no sign-in to the console', hint)
}

/** Compares where a level may be decided. A chat proves less than the console. */
function diffChat(before: LevelView['chat'], after: LevelView['chat']): readonly Change[] {
  const [one, other] = [before, after].map((chat) => (chat ? (chat.signed_in_within_ms ?? Infinity) : 0))
  if (one === undefined || other === undefined || one === other) return []
  const who = other === Infinity ? '' : ` by those who used the console within ${duration(other)}`
  const text = other === 0 ? 'is not decided in a chat' : `may be decided in a chat${who}`
  return [other > one ? loosens(text) : tightens(text)]
}

function readComments(reader: Reader, doc: Doc, what: string): readonly string[] {
  const texts = readTexts(reader, doc, what) ?? []
  if (texts.length > MAX_COMMENTS)
    reader.report('bad-value', doc, `${what} has at most ${MAX_COMMENTS} texts`)
  const long = `each comment is one line of at most ${MAX_COMMENT_CHARACTERS} characters`
  if (texts.some((text) => text.length > MAX_COMMENT_CHARACTERS || text.includes('\n')))
    reader.report('bad-value', doc, long)
  return texts
}

function readEscalations(
  reader: Reader,
  doc: Doc,
  what: string,
  { uses, soFar: { expires_ms } }: Around & SoFar<Level>,
): readonly Escalation[] {
  const steps = doc.kind === 'list' ? doc.items : [doc]
  return steps.flatMap((step) => {
    const map = readMap(reader, step, what)
    if (!map) return []
    const { entry, at } = readSpec(reader, map, ESCALATION_KEYS, { expires_ms })
    const { group, after_ms } = entry
    if (group === undefined || !at.group || after_ms === undefined) return []
    uses.push({ group, approvals: 1, at: at.group })
    return [{ group, after_ms }]
  })
}

/** The keys of `reviewers` in a rule. */
export const REVIEWERS_KEYS = specOf<Pick<Level, 'group' | 'approvals' | 'interactive' | 'expires_ms'>>()(
  '`reviewers`',
  {
    group: need('group', GROUP, 'Who reviews.', SEEN),
    approvals: key('approvals', count(MAX_APPROVALS), 'How many of them must approve; 1 by default.', SEEN),
    interactive: key('interactive', ON, 'Whether a vote needs a sign-in to the console.', SEEN),
    expires: key('expires_ms', DURATION, 'The call waits at most so long: `1h`.', SEEN),
  },
)

/** Checks `reviewers:` of a rule. Approvals default to 1. Without `expires`, only the levels limit the time. */
export function checkReviewers(reader: Reader, map: DocMap, uses: GroupUse[]): ReviewRequirement | undefined {
  const { entry, at } = readSpec(reader, map, REVIEWERS_KEYS, {})
  const { group, approvals = 1, ...rest } = entry
  if (group === undefined || !at.group) return undefined
  uses.push({ group, approvals, at: at.group })
  return {
    seats: [{ group, approvals, escalate: [] }],
    expires_ms: UNLIMITED_MS,
    remind_after_ms: [],
    ...rest,
  }
}
