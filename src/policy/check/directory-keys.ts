import type { AgentEntry, ReviewerEntry } from '../language/snapshot.ts'
import { duration } from '../language/time.ts'
import { didYouMean } from '../text/nearest.ts'
import type { Doc } from '../yaml/parse.ts'
import {
  PERSON_NAME,
  readBoolean,
  readDuration,
  readList,
  readName,
  readOneOf,
  readText,
  TOOL_GLOB,
  WORD,
  type Reader,
} from '../yaml/shape.ts'
import { amount, type Change, changed, flag, gained, lost, loosens, tightens } from './change.ts'
import { DURATION, list, name, type Spec, text } from './spec.ts'

type Reviewers = ReadonlyMap<string, unknown>

/** @param asked true when rules decide by the owners */
type AgentSpec = Spec<AgentEntry, { readonly reviewers: Reviewers }, { readonly asked: boolean }>

/** The keys of an agent in directory.yaml. */
export const AGENT_KEYS: AgentSpec = {
  owners: {
    required: true,
    read: (reader, doc, { reviewers }) => ({ owners: readOwners(reader, doc, reviewers) }),
    schema: { ...list(name(PERSON_NAME)), minItems: 1, description: 'Reviewers who answer for the agent.' },
    diff: diffOwners,
  },
  tools: {
    read: (reader, doc) => ({
      tools: readEach(reader, doc, '`tools`', (item) => readName(reader, item, 'a tool', TOOL_GLOB)),
    }),
    schema: { ...list(name(TOOL_GLOB)), description: 'The tools that it may use; all tools by default.' },
    diff: ({ tools: before }, { tools: after }) => [
      ...gained(before, after).map((tool) => loosens(`may use ${tool}`)),
      ...lost(before, after).map((tool) => tightens(`may no longer use ${tool} by that name`)),
    ],
  },
  signed_approvals: {
    read: (reader, doc) => ({ signedApprovals: readBoolean(reader, doc, '`signed_approvals`') }),
    schema: { type: 'boolean' },
    diff: (before, after) =>
      flag('approvals need a signature', before.signedApprovals, after.signedApprovals),
  },
  token_ttl: {
    read: (reader, doc) => ({ tokenTtlMs: readDuration(reader, doc, '`token_ttl`') }),
    schema: DURATION,
    diff: (before, after) => amount('token_ttl', [before.tokenTtlMs, after.tokenTtlMs], duration),
  },
  prevent_self_review: {
    read: (reader, doc) => ({ preventSelfReview: readBoolean(reader, doc, '`prevent_self_review`') }),
    schema: { type: 'boolean', description: 'Keeps owners from voting; true by default.' },
    diff: (before, after) =>
      flag('no reviewer votes on a call that they caused', before.preventSelfReview, after.preventSelfReview),
  },
  rate: {
    read: (reader, doc) => ({ rate: readRate(reader, doc) }),
    schema: { type: 'string', pattern: '^[1-9]\\d{0,6}/[smh]$', description: 'Calls per s, m or h.' },
    diff: diffRates,
  },
}

const ROLES = ['admin'] as const

/** The keys of a reviewer in directory.yaml. */
export const REVIEWER_KEYS: Spec<ReviewerEntry> = {
  name: {
    read: (reader, doc) => ({ name: readText(reader, doc, '`name`') }),
    schema: text('As people know them.'),
    diff: (before, after) => changed('has another name', before.name, after.name),
  },
  email: {
    read: (reader, doc) => ({ email: readText(reader, doc, '`email`') }),
    schema: text('The mail address, which single sign-on matches.'),
    diff: (before, after) => changed('has another e-mail address', before.email, after.email),
  },
  subject: {
    read: (reader, doc) => ({ subject: readText(reader, doc, '`subject`') }),
    schema: text('The id of the person at the identity provider (`sub`); then nothing else is matched.'),
    diff: (before, after) =>
      changed('has another id at the identity provider', before.subject, after.subject),
  },
  groups: {
    required: true,
    read: (reader, doc) => ({
      groups: readEach(reader, doc, '`groups`', (item) => readName(reader, item, 'a group', WORD)),
    }),
    schema: list(name(WORD)),
    diff: ({ groups: before }, { groups: after }) => [
      ...gained(before, after).map((group) => loosens(`votes for group ${group}`)),
      ...lost(before, after).map((group) => tightens(`no longer votes for group ${group}`)),
    ],
  },
  roles: {
    read: (reader, doc) => ({
      roles: readEach(reader, doc, '`roles`', (item) => readOneOf(reader, item, '`roles`', ROLES)),
    }),
    schema: list({ enum: ROLES }),
    diff: ({ roles: before }, { roles: after }) => [
      ...gained(before, after).map((role) => loosens(`has the role ${role}`)),
      ...lost(before, after).map((role) => tightens(`no longer has the role ${role}`)),
    ],
  },
}

function readEach(
  reader: Reader,
  doc: Doc,
  what: string,
  read: (item: Doc) => string | undefined,
): readonly string[] {
  return (readList(reader, doc, what) ?? []).flatMap((item) => read(item) ?? [])
}

function readOwners(reader: Reader, doc: Doc, reviewers: Reviewers): readonly string[] {
  const items = readList(reader, doc, '`owners`')
  if (items?.length === 0) reader.report('bad-value', doc, 'an agent needs at least one owner')
  return (items ?? []).flatMap((item) => {
    const owner = readText(reader, item, 'an owner')
    if (owner !== undefined && !reviewers.has(owner)) {
      const hint =
        didYouMean(owner, reviewers.keys() as Iterable<string>) ??
        'an owner must be listed under `reviewers` of the same tenant'
      reader.report('unknown-owner', item, `no reviewer named \`${owner}\` in this tenant`, hint)
    }
    return owner ?? []
  })
}

function diffOwners(
  { owners: before }: AgentEntry,
  { owners: after }: AgentEntry,
  { asked }: { readonly asked: boolean },
): readonly Change[] {
  const why = asked ? ', and rules decide by the owners' : ''
  const added = (text: string): Change => ({ direction: asked ? 'changes' : 'tightens', text })
  return [
    ...lost(before, after).map((owner) => loosens(`${owner} is no owner any more, and may vote${why}`)),
    ...gained(before, after).map((owner) => added(`${owner} is an owner, and does not vote${why}`)),
  ]
}

const RATE_UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 }

/** Reads `600/m`: calls per second, minute or hour. */
function readRate(reader: Reader, doc: Doc): Rate {
  const text = readText(reader, doc, '`rate`')
  if (text === undefined) return undefined
  const match = /^([1-9]\d{0,6})\/([smh])$/.exec(text)
  if (match) return { calls: Number(match[1]), withinMs: RATE_UNITS[match[2] ?? ''] ?? 0 }
  reader.report('bad-value', doc, `\`${text}\` is not a rate`, 'write calls per s, m or h, such as `600/m`')
  return undefined
}

type Rate = AgentEntry['rate']

/**
 * Compares rates by average and by burst. `600/h` has the same average as `10/m`, but permits 600 calls in one minute.
 */
function diffRates({ rate: old }: AgentEntry, { rate: current }: AgentEntry): readonly Change[] {
  const said = `rate ${showRate(old)} -> ${showRate(current)}`
  if (isFaster(current, old)) return [loosens(said)]
  return isFaster(old, current) ? [tightens(said)] : []
}

/** Returns true when `one` permits a larger burst or a higher average than `other`. */
function isFaster(one: Rate, other: Rate): boolean {
  if (!one || !other) return !one && !!other
  return one.calls > other.calls || one.calls * other.withinMs > other.calls * one.withinMs
}

const showRate = (rate: Rate): string => (rate ? `${rate.calls} calls/${duration(rate.withinMs)}` : 'none')
