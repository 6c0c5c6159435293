import { DEFAULT_TOKEN_TTL_MS } from '../text/bounds.ts'
import { didYouMean } from '../text/nearest.ts'
import type { Doc, DocEntry } from '../yaml/parse.ts'
import {
  checkName,
  defined,
  PERSON_NAME,
  readBoolean,
  readDuration,
  readKeys,
  readList,
  readMap,
  readName,
  readOneOf,
  readText,
  TENANT_NAME,
  TOOL_GLOB,
  WORD,
  type Reader,
} from '../yaml/shape.ts'
import type { AgentEntry, Directory, ReviewerEntry, Tenant } from '../language/snapshot.ts'

const ROLES = ['admin'] as const

/** Checks directory.yaml (docs/policy-language.md). An agent needs `owners`, and a reviewer `groups`. */
export function checkDirectory(reader: Reader, doc: Doc): Directory | undefined {
  const root = readMap(reader, doc, 'directory.yaml')
  if (!root) return undefined
  const keys = readKeys(reader, root, {
    what: 'directory.yaml',
    required: ['tenants'],
    optional: ['identities'],
  })
  const tenants = new Map<string, Tenant>()
  for (const entry of entriesOf(reader, keys.tenants, '`tenants`')) {
    checkName(reader, { mark: entry.keyMark }, entry.key, TENANT_NAME)
    const tenant = checkTenant(reader, entry)
    if (tenant) tenants.set(entry.key, tenant)
  }
  return { tenants, groups: keys.identities ? checkIdentities(reader, keys.identities) : new Map() }
}

/** Reads `identities.groups`: groups of the directory by their names at the identity provider. */
function checkIdentities(reader: Reader, doc: Doc): ReadonlyMap<string, string> {
  const map = readMap(reader, doc, '`identities`')
  const keys = map && readKeys(reader, map, { what: '`identities`', optional: ['groups'] })
  const groups = new Map<string, string>()
  for (const { key, value } of entriesOf(reader, keys?.groups, '`groups`')) {
    const group = readName(reader, value, 'a group', WORD)
    if (group !== undefined) groups.set(key, group)
  }
  return groups
}

function entriesOf(reader: Reader, doc: Doc | undefined, what: string): readonly DocEntry[] {
  return (doc && readMap(reader, doc, what)?.entries) ?? []
}

function checkTenant(reader: Reader, tenant: DocEntry): Tenant | undefined {
  const what = `tenant \`${tenant.key}\``
  const map = readMap(reader, tenant.value, what)
  if (!map) return undefined
  const keys = readKeys(reader, map, { what, optional: ['agents', 'reviewers'] })
  const reviewers = new Map<string, ReviewerEntry>()
  for (const entry of entriesOf(reader, keys.reviewers, '`reviewers`')) {
    const reviewer = checkReviewer(reader, entry)
    if (reviewer) reviewers.set(reviewer.id, reviewer)
  }
  const agents = new Map<string, AgentEntry>()
  for (const entry of entriesOf(reader, keys.agents, '`agents`')) {
    const agent = checkAgent(reader, entry, reviewers)
    if (agent) agents.set(agent.id, agent)
  }
  return { agents, reviewers }
}

function checkReviewer(reader: Reader, { key: id, keyMark, value }: DocEntry): ReviewerEntry | undefined {
  checkName(reader, { mark: keyMark }, id, PERSON_NAME)
  const map = readMap(reader, value, `reviewer \`${id}\``)
  if (!map) return undefined
  const keys = readKeys(reader, map, {
    what: 'a reviewer',
    required: ['groups'],
    optional: ['name', 'email', 'subject', 'roles'],
  })
  const groups = names(reader, keys.groups, '`groups`', (item) => readName(reader, item, 'a group', WORD))
  const roles = names(reader, keys.roles, '`roles`', (item) => readOneOf(reader, item, '`roles`', ROLES))
  const name = (keys.name && readText(reader, keys.name, '`name`')) ?? id
  const email = keys.email && readText(reader, keys.email, '`email`')
  const subject = keys.subject && readText(reader, keys.subject, '`subject`')
  return { id, name, groups, roles, ...defined({ email, subject }) }
}

function names(
  reader: Reader,
  doc: Doc | undefined,
  what: string,
  read: (item: Doc) => string | undefined,
): readonly string[] {
  return ((doc && readList(reader, doc, what)) ?? []).flatMap((item) => read(item) ?? [])
}

function checkAgent(
  reader: Reader,
  { key: id, keyMark, value }: DocEntry,
  reviewers: ReadonlyMap<string, ReviewerEntry>,
): AgentEntry | undefined {
  checkName(reader, { mark: keyMark }, id, PERSON_NAME)
  const map = readMap(reader, value, `agent \`${id}\``)
  if (!map) return undefined
  const keys = readKeys(reader, map, {
    what: 'an agent',
    required: ['owners'],
    optional: ['tools', 'signed_approvals', 'token_ttl', 'prevent_self_review', 'rate'],
  })
  const rate = keys.rate && checkRate(reader, keys.rate)
  return {
    id,
    owners: keys.owners ? checkOwners(reader, keys.owners, reviewers) : [],
    tools: keys.tools
      ? names(reader, keys.tools, '`tools`', (item) => readName(reader, item, 'a tool', TOOL_GLOB))
      : ['*'],
    signedApprovals:
      (keys.signed_approvals && readBoolean(reader, keys.signed_approvals, '`signed_approvals`')) ?? true,
    tokenTtlMs:
      (keys.token_ttl && readDuration(reader, keys.token_ttl, '`token_ttl`')) ?? DEFAULT_TOKEN_TTL_MS,
    preventSelfReview:
      (keys.prevent_self_review && readBoolean(reader, keys.prevent_self_review, '`prevent_self_review`')) ??
      true,
    ...(rate ? { rate } : {}),
  }
}

function checkOwners(
  reader: Reader,
  doc: Doc,
  reviewers: ReadonlyMap<string, ReviewerEntry>,
): readonly string[] {
  const items = readList(reader, doc, '`owners`')
  if (items?.length === 0) reader.report('bad-value', doc, 'an agent needs at least one owner')
  return (items ?? []).flatMap((item) => {
    const owner = readText(reader, item, 'an owner')
    if (owner !== undefined && !reviewers.has(owner)) {
      const hint =
        didYouMean(owner, reviewers.keys()) ?? 'an owner must be listed under `reviewers` of the same tenant'
      reader.report('unknown-owner', item, `no reviewer named \`${owner}\` in this tenant`, hint)
    }
    return owner ?? []
  })
}

const RATE_UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 }

/** Reads `600/m`: calls per second, minute or hour. */
function checkRate(reader: Reader, doc: Doc): AgentEntry['rate'] {
  const text = readText(reader, doc, '`rate`')
  if (text === undefined) return undefined
  const match = /^([1-9]\d{0,6})\/([smh])$/.exec(text)
  if (match) return { calls: Number(match[1]), withinMs: RATE_UNITS[match[2] ?? ''] ?? 0 }
  reader.report('bad-value', doc, `\`${text}\` is not a rate`, 'write calls per s, m or h, such as `600/m`')
  return undefined
}
