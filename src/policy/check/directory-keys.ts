import { UNIT_MS } from '../text/text.ts'
import type { AgentEntry, ReviewerEntry } from '../language/snapshot.ts'
import { duration } from '../language/time.ts'
import { didYouMean } from '../text/nearest.ts'
import type { Doc } from '../yaml/parse.ts'
import { PERSON_NAME, readList, readText, TOOL_GLOB, WORD, type Reader } from '../yaml/shape.ts'
import { amount, type Change, changed, flag, gained, loosens, members, tightens } from './change.ts'
import { BOOLEAN, DURATION, each, key, list, name, named, need, oneOf, specOf, TEXT, value } from './spec.ts'

interface Around {
  readonly reviewers: ReadonlyMap<string, unknown>
}

/** True `asked` when rules decide by the owners. */
interface Asked {
  readonly asked: boolean
}

/** The keys of an agent in directory.yaml. */
export const AGENT_KEYS = specOf<Omit<AgentEntry, 'id' | 'within'>, Around, Asked>()('an agent', {
  owners: need(
    'owners',
    value(readOwners, { ...list(name(PERSON_NAME)), minItems: 1 }),
    'Reviewers who answer for the agent.',
    diffOwners,
  ),
  tools: key(
    'tools',
    each(named(TOOL_GLOB, 'a tool')),
    'The tools that it may use; all tools by default.',
    members('may use', 'may no longer use', ' by that name'),
  ),
  signed_approvals: key(
    'signedApprovals',
    BOOLEAN,
    'Whether an approval comes with a proof; true by default.',
    flag('approvals need a signature'),
  ),
  token_ttl: key(
    'tokenTtlMs',
    DURATION,
    'How long a proof is valid; `10m` by default.',
    amount('token_ttl', duration),
  ),
  prevent_self_review: key(
    'preventSelfReview',
    BOOLEAN,
    'Keeps owners from voting; true by default.',
    flag('no reviewer votes on a call that they caused'),
  ),
  rate: key(
    'rate',
    value(readRate, { type: 'string', pattern: '^[1-9]\\d{0,6}/[smh]$' }),
    'Calls per s, m or h; `60000/m` by default.',
    diffRates,
  ),
})

const SUBJECT = 'The id of the person at the identity provider (`sub`); then nothing else is matched.'

/** The keys of a reviewer in directory.yaml. */
export const REVIEWER_KEYS = specOf<Omit<ReviewerEntry, 'id' | 'withdrawn'>>()('a reviewer', {
  name: key('name', TEXT, 'As people know them; the id by default.', changed('has another name')),
  email: key(
    'email',
    TEXT,
    'The mail address, which single sign-on matches.',
    changed('has another e-mail address'),
  ),
  subject: key('subject', TEXT, SUBJECT, changed('has another id at the identity provider')),
  groups: need(
    'groups',
    each(named(WORD, 'a group')),
    'The groups for which the reviewer votes.',
    members('votes for group', 'no longer votes for group'),
  ),
  roles: key(
    'roles',
    each(oneOf(['admin'])),
    '`admin` may also administer the gateway.',
    members('has the role', 'no longer has the role'),
  ),
})

function readOwners(reader: Reader, doc: Doc, what: string, { reviewers }: Around): readonly string[] {
  const items = readList(reader, doc, what)
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
  before: readonly string[],
  after: readonly string[],
  { asked }: Asked,
): readonly Change[] {
  const why = asked ? ', and rules decide by the owners' : ''
  const added = (text: string): Change => ({ direction: asked ? 'changes' : 'tightens', text })
  return [
    ...gained(after, before).map((owner) => loosens(`${owner} is no owner any more, and may vote${why}`)),
    ...gained(before, after).map((owner) => added(`${owner} is an owner, and does not vote${why}`)),
  ]
}

/** Reads `600/m`: calls per second, minute or hour. */
function readRate(reader: Reader, doc: Doc, what: string): Rate {
  const text = readText(reader, doc, what)
  if (text === undefined) return undefined
  const match = /^([1-9]\d{0,6})\/([smh])$/.exec(text)
  if (match) return { calls: Number(match[1]), withinMs: UNIT_MS[match[2] ?? ''] ?? 0 }
  return reader.report(
    'bad-value',
    doc,
    `\`${text}\` is not a rate`,
    'write calls per s, m or h, such as `600/m`',
  )
}

type Rate = AgentEntry['rate']

/**
 * Compares rates by average and by burst. `600/h` has the same average as `10/m`, but permits 600 calls in one minute.
 */
function diffRates(old: Rate, current: Rate): readonly Change[] {
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
