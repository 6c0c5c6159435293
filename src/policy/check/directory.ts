import { DEFAULT_TOKEN_TTL_MS } from '../text/bounds.ts'
import type { Doc, DocEntry } from '../yaml/parse.ts'
import {
  checkName,
  PERSON_NAME,
  readKeys,
  readMap,
  readName,
  TENANT_NAME,
  WORD,
  type Reader,
} from '../yaml/shape.ts'
import type { AgentEntry, Directory, ReviewerEntry, Tenant } from '../language/snapshot.ts'
import { AGENT_KEYS, REVIEWER_KEYS } from './directory-keys.ts'
import { readSpec } from './spec.ts'

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
  const parts = map && readSpec(reader, map, { what: 'a reviewer', spec: REVIEWER_KEYS, around: undefined })
  return parts && { id, name: id, groups: [], roles: [], ...parts }
}

function checkAgent(
  reader: Reader,
  { key: id, keyMark, value }: DocEntry,
  reviewers: ReadonlyMap<string, ReviewerEntry>,
): AgentEntry | undefined {
  checkName(reader, { mark: keyMark }, id, PERSON_NAME)
  const map = readMap(reader, value, `agent \`${id}\``)
  const parts = map && readSpec(reader, map, { what: 'an agent', spec: AGENT_KEYS, around: { reviewers } })
  return parts && { id, ...AGENT_DEFAULTS, ...parts }
}

const AGENT_DEFAULTS = {
  owners: [],
  tools: ['*'],
  signedApprovals: true,
  tokenTtlMs: DEFAULT_TOKEN_TTL_MS,
  preventSelfReview: true,
}
