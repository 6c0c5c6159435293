import { BUDGET_NAMES, type Budgets } from '../../domain/budget.ts'
import {
  RISKS,
  riskAbove,
  type Escalation,
  UNLIMITED_MS,
  type ReviewRequirement,
  type Risk,
} from '../../domain/decision.ts'
import { MAX_APPROVALS, MAX_COMMENT_CHARACTERS, MAX_COMMENTS } from '../text/bounds.ts'
import type { Scalar } from '../language/compiled-test.ts'
import { type KeptWords, WORDS_KEPT } from '../language/disclose.ts'
import type { LevelView } from '../language/level-view.ts'
import { type CheckedRetention, checkRetention } from './retention.ts'
import type { RoutingIr } from '../language/rule.ts'
import type { Doc, DocMap } from '../yaml/parse.ts'
import {
  checkName,
  readBoolean,
  readCount,
  readDuration,
  readKeys,
  readList,
  readMap,
  readName,
  readOneOf,
  readRisk,
  readText,
  readTexts,
  WORD,
  wrongType,
  type Reader,
} from '../yaml/shape.ts'
import { isTimeZone } from '../language/time.ts'
import { type Calendar, checkWorking, type Lists } from './working.ts'

/** The checked routing.yaml. `groups` lists its uses of groups, which are checked against the directory. */
export interface CheckedRouting {
  readonly routing: RoutingIr
  readonly lists: ReadonlyMap<string, readonly Scalar[]>
  readonly groups: readonly GroupUse[]
  readonly retention: CheckedRetention
}

/** A use of a group: routing or a rule requires `approvals` from the group. */
export interface GroupUse {
  readonly group: string
  readonly approvals: number
  readonly at: Doc
  /** The review level; absent for escalations and for `reviewers:` of a rule. */
  readonly level?: Risk
}

/** The parts of routing.yaml that a level refers to. */
interface Around extends Calendar {
  readonly uses: GroupUse[]
}

/** Checks routing.yaml. Defaults: `unmatched` reject, `allow_up_to` low, `timezone` UTC. Every level is required. */
export function checkRouting(
  reader: Reader,
  doc: Doc,
  withFiles = (lists: Lists): Lists => lists,
): CheckedRouting | undefined {
  const root = readMap(reader, doc, 'routing.yaml')
  if (!root) return undefined
  const keys = readKeys(reader, root, {
    what: 'routing.yaml',
    required: ['levels'],
    optional: ['unmatched', 'allow_up_to', 'timezone', 'retention', 'disclose', 'lists', 'budgets'],
  })
  const uses: GroupUse[] = []
  const lists = withFiles(keys.lists ? checkLists(reader, keys.lists) : new Map())
  const timezone = (keys.timezone && checkTimeZone(reader, keys.timezone)) ?? 'UTC'
  const levels = keys.levels && checkLevels(reader, keys.levels, { uses, lists, timezone })
  const retention = checkRetention(reader, keys.retention)
  const routing = {
    ...checkDefaults(reader, keys),
    timezone,
    budgets: keys.budgets ? checkBudgets(reader, keys.budgets) : {},
    retention: retention.retention,
    keeps: checkKeptWords(reader, keys.disclose),
  }
  return levels && { routing: { ...routing, ...levels }, lists, groups: uses, retention }
}

function checkDefaults(
  reader: Reader,
  docs: { readonly unmatched?: Doc | undefined; readonly allow_up_to?: Doc | undefined },
): Pick<RoutingIr, 'unmatched' | 'allowUpTo'> {
  const { unmatched, allow_up_to } = docs
  return {
    unmatched: (unmatched && readOneOf(reader, unmatched, '`unmatched`', ['reject', 'review'])) ?? 'reject',
    allowUpTo: (allow_up_to && readRisk(reader, allow_up_to)) ?? 'low',
  }
}

function checkBudgets(reader: Reader, doc: Doc): Partial<Budgets> {
  const map = readMap(reader, doc, '`budgets`')
  if (!map) return {}
  const keys = readKeys(reader, map, { what: '`budgets`', optional: BUDGET_NAMES })
  const most = Number.MAX_SAFE_INTEGER
  const read = BUDGET_NAMES.flatMap((name) => {
    const amount = keys[name] && readCount(reader, keys[name], `\`${name}\``, most)
    return amount === undefined ? [] : [[name, amount] as const]
  })
  return Object.fromEntries(read)
}

/** Reads `disclose`: whether evidence keeps words of people and agents. */
function checkKeptWords(reader: Reader, doc: Doc | undefined): KeptWords {
  const map = doc && readMap(reader, doc, '`disclose`')
  if (!map) return { comments: true, agent_words: true }
  const keys = readKeys(reader, map, { what: '`disclose`', optional: ['comments', 'agent_words'] })
  const keeps = (name: 'comments' | 'agent_words'): boolean => {
    const key = keys[name]
    return (key && readOneOf(reader, key, `\`${name}\``, WORDS_KEPT)) !== 'none'
  }
  return { comments: keeps('comments'), agent_words: keeps('agent_words') }
}

function checkTimeZone(reader: Reader, doc: Doc): string | undefined {
  const zone = readText(reader, doc, '`timezone`')
  if (zone === undefined || isTimeZone(zone)) return zone
  reader.report(
    'bad-value',
    doc,
    `\`${zone}\` is not a time zone`,
    'use an IANA name such as `Europe/Berlin`',
  )
  return undefined
}

function checkLevels(
  reader: Reader,
  doc: Doc,
  around: Around,
): Pick<RoutingIr, 'levels' | 'views'> | undefined {
  const map = readMap(reader, doc, '`levels`')
  if (!map) return undefined
  const keys = readKeys(reader, map, { what: '`levels`', required: RISKS })
  const levels: Partial<Record<Risk, ReviewRequirement>> = {}
  const views: Partial<Record<Risk, LevelView>> = {}
  for (const risk of RISKS) {
    const level = keys[risk] && checkLevel(reader, keys[risk], { ...around, risk })
    if (!level) continue
    levels[risk] = level.requirement
    views[risk] = level.view
  }
  checkOrder(reader, levels, keys)
  const { low, medium, high, critical } = levels
  if (!low || !medium || !high || !critical) return undefined
  return { levels: { low, medium, high, critical }, views: views as Record<Risk, LevelView> }
}

function checkLevel(
  reader: Reader,
  doc: Doc,
  { uses, risk, ...around }: Around & { readonly risk: Risk },
): { readonly requirement: ReviewRequirement; readonly view: LevelView } | undefined {
  const map = readMap(reader, doc, 'a review level')
  if (!map) return undefined
  const keys = readKeys(reader, map, {
    what: 'a review level',
    required: ['group', 'approvals', 'expires'],
    optional: ['interactive', 'remind_after', 'escalate', 'working', ...VIEW_KEYS],
  })
  const group = keys.group && readName(reader, keys.group, 'a group', WORD)
  const approvals = keys.approvals && readCount(reader, keys.approvals, '`approvals`', MAX_APPROVALS)
  const expires = keys.expires && readDuration(reader, keys.expires, '`expires`')
  if (group === undefined || keys.group === undefined || approvals === undefined || expires === undefined)
    return undefined
  uses.push({ group, approvals, at: keys.group, level: risk })
  const escalate = keys.escalate ? checkEscalations(reader, keys.escalate, { uses, expires }) : []
  const requirement = {
    seats: [{ group, approvals, escalate }],
    expires_ms: expires,
    remind_after_ms: checkReminder(reader, keys.remind_after, expires),
    ...checkWorking(reader, keys.working, { ...around, expires }),
    ...checkInteractive(reader, keys.interactive),
    ...checkVoteNeeds(reader, keys),
  }
  const view = checkView(reader, keys, risk)
  checkChatFits(reader, keys.chat, { risk, view, requirement })
  return { requirement, view }
}

/** The keys of a level that describe how reviewers look at a call. */
const VIEW_KEYS = ['comments', 'require_comment', 'reveal', 'require_displayed', 'chat'] as const
type ViewDocs = { readonly [K in (typeof VIEW_KEYS)[number]]?: Doc | undefined }

/** Reads the parts of a level that only the reviewer's page uses. Reveals are required from medium risk up. */
function checkView(reader: Reader, { comments, reveal, chat }: ViewDocs, risk: Risk): LevelView {
  const standard = riskAbove(risk, 'low') ? 'required' : 'optional'
  return {
    comments: comments ? checkComments(reader, comments) : [],
    reveal: (reveal && readOneOf(reader, reveal, '`reveal`', ['required', 'optional'])) ?? standard,
    ...(chat ? checkChat(reader, chat) : {}),
  }
}

/** Reads `chat`: true, or a map with a time; false is the default. */
function checkChat(reader: Reader, doc: Doc): Pick<LevelView, 'chat'> {
  if (doc.kind !== 'map') return readBoolean(reader, doc, '`chat`') === true ? { chat: {} } : {}
  const keys = readKeys(reader, doc, { what: '`chat`', required: ['signed_in_within'] })
  const within = keys.signed_in_within && readDuration(reader, keys.signed_in_within, '`signed_in_within`')
  return within === undefined ? {} : { chat: { signed_in_within_ms: within } }
}

/** Reports a level whose calls a chat can never decide. */
function checkChatFits(
  reader: Reader,
  doc: Doc | undefined,
  {
    risk,
    view,
    requirement,
  }: {
    readonly risk: Risk
    readonly view: LevelView
    readonly requirement: Pick<ReviewRequirement, 'interactive'>
  },
): void {
  if (doc === undefined || view.chat === undefined) return
  if (risk === 'critical') reader.report('bad-value', doc, 'a call of critical risk is not decided in a chat')
  if (requirement.interactive === true)
    reader.report(
      'bad-value',
      doc,
      'a vote in a chat is no sign-in to the console',
      'remove `chat` or `interactive`',
    )
}

function checkComments(reader: Reader, doc: Doc): readonly string[] {
  const texts = readTexts(reader, doc, '`comments`') ?? []
  if (texts.length > MAX_COMMENTS)
    reader.report('bad-value', doc, `\`comments\` has at most ${MAX_COMMENTS} texts`)
  if (texts.some((text) => text.length > MAX_COMMENT_CHARACTERS || text.includes('\n')))
    reader.report(
      'bad-value',
      doc,
      `each comment is one line of at most ${MAX_COMMENT_CHARACTERS} characters`,
    )
  return texts
}

/** Reads the requirements of a vote. Both are false by default. */
function checkVoteNeeds(
  reader: Reader,
  docs: ViewDocs,
): Pick<ReviewRequirement, 'require_comment' | 'require_displayed'> {
  const isSet = (name: 'require_comment' | 'require_displayed'): boolean => {
    const doc = docs[name]
    return doc !== undefined && readBoolean(reader, doc, `\`${name}\``) === true
  }
  return {
    ...(isSet('require_comment') ? { require_comment: true } : {}),
    ...(isSet('require_displayed') ? { require_displayed: true } : {}),
  }
}

/** Reads `interactive`; false is the default. */
function checkInteractive(reader: Reader, doc: Doc | undefined): Pick<ReviewRequirement, 'interactive'> {
  return doc && readBoolean(reader, doc, '`interactive`') === true ? { interactive: true } : {}
}

function checkWithin(
  reader: Reader,
  doc: Doc,
  { what, expires }: { readonly what: string; readonly expires: number },
): number | undefined {
  const ms = readDuration(reader, doc, what)
  if (ms === undefined || ms < expires) return ms
  reader.report('bad-value', doc, `${what} is not before the level expires`)
  return undefined
}

function checkReminder(reader: Reader, doc: Doc | undefined, expires: number): readonly number[] {
  const remind = doc && checkWithin(reader, doc, { what: '`remind_after`', expires })
  return remind === undefined ? [] : [remind]
}

function checkEscalations(
  reader: Reader,
  doc: Doc,
  { uses, expires }: { readonly uses: GroupUse[]; readonly expires: number },
): readonly Escalation[] {
  const steps = doc.kind === 'list' ? doc.items : [doc]
  return steps.flatMap((step) => {
    const map = readMap(reader, step, '`escalate`')
    if (!map) return []
    const keys = readKeys(reader, map, { what: '`escalate`', required: ['after', 'group'] })
    const group = keys.group && readName(reader, keys.group, 'a group', WORD)
    const after = keys.after && checkWithin(reader, keys.after, { what: '`after`', expires })
    if (group === undefined || keys.group === undefined || after === undefined) return []
    uses.push({ group, approvals: 1, at: keys.group })
    return [{ group, after_ms: after }]
  })
}

/** Reports a higher level that is looser than a lower level of the same group. */
function checkOrder(
  reader: Reader,
  levels: Partial<Record<Risk, ReviewRequirement>>,
  docs: Readonly<Partial<Record<Risk, Doc>>>,
): void {
  RISKS.forEach((risk, index) => {
    for (const lower of RISKS.slice(0, index)) {
      const problem = looserThan(levels[risk], levels[lower])
      if (problem !== undefined && docs[risk])
        reader.report('level-order', docs[risk], `level ${risk} ${problem} level ${lower} of the same group`)
    }
  })
}

const DROPPED = [
  ['interactive', 'does without the sign-in of'],
  ['require_displayed', 'does without the displayed parts of'],
] as const

function looserThan(
  high: ReviewRequirement | undefined,
  low: ReviewRequirement | undefined,
): string | undefined {
  const [a, b] = [high?.seats[0], low?.seats[0]]
  if (!high || !low || !a || !b || a.group !== b.group) return undefined
  if (a.approvals < b.approvals) return 'asks for fewer approvals than'
  const dropped = DROPPED.find(([flag]) => low[flag] === true && high[flag] !== true)
  if (dropped) return dropped[1]
  return high.expires_ms > low.expires_ms ? 'waits longer than' : undefined
}

function checkLists(reader: Reader, doc: Doc): ReadonlyMap<string, readonly Scalar[]> {
  const lists = new Map<string, readonly Scalar[]>()
  for (const entry of readMap(reader, doc, '`lists`')?.entries ?? []) {
    checkName(reader, { mark: entry.keyMark }, entry.key, WORD)
    const items = readList(reader, entry.value, `list \`${entry.key}\``)
    if (items?.length === 0) reader.report('bad-value', entry.value, `list \`${entry.key}\` is empty`)
    lists.set(
      entry.key,
      (items ?? []).flatMap((item) => readLiteral(reader, item, 'lists do not contain lists') ?? []),
    )
  }
  return lists
}

/** Reads a literal as in a test, where a leading `$$` means $. Reports a `$list`. */
export function readLiteral(reader: Reader, item: Doc, why: string): Scalar | undefined {
  const value = readScalar(reader, item)
  if (typeof value !== 'string' || !value.startsWith('$')) return value
  if (value.startsWith('$$')) return value.slice(1)
  const hint = 'write its values out, or `$$` for a text that begins with $'
  reader.report('bad-value', item, `\`${value}\` is no value: ${why}`, hint)
  return undefined
}

/** Reads text, a number, true or false. */
export function readScalar(reader: Reader, doc: Doc): Scalar | undefined {
  if (doc.kind === 'text' || doc.kind === 'number' || doc.kind === 'boolean') return doc.value
  return wrongType(reader, doc, 'a value', 'text, a number or true or false')
}

/** Checks `reviewers:` of a rule. Approvals default to 1. Without `expires`, only the levels limit the time. */
export function checkReviewers(reader: Reader, map: DocMap, uses: GroupUse[]): ReviewRequirement | undefined {
  const keys = readKeys(reader, map, {
    what: '`reviewers`',
    required: ['group'],
    optional: ['approvals', 'interactive', 'expires'],
  })
  const group = keys.group && readName(reader, keys.group, 'a group', WORD)
  const approvals = keys.approvals ? readCount(reader, keys.approvals, '`approvals`', MAX_APPROVALS) : 1
  const expires = keys.expires ? readDuration(reader, keys.expires, '`expires`') : UNLIMITED_MS
  if (group === undefined || keys.group === undefined || approvals === undefined || expires === undefined)
    return undefined
  uses.push({ group, approvals, at: keys.group })
  return {
    seats: [{ group, approvals, escalate: [] }],
    expires_ms: expires,
    remind_after_ms: [],
    ...checkInteractive(reader, keys.interactive),
  }
}
