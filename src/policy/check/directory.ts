import { DEFAULT_TOKEN_TTL_MS } from '../text/bounds.ts'
import type { Doc, DocEntry } from '../yaml/parse.ts'
import { PERSON_NAME, readMap, readName, TENANT_NAME, WORD, type Reader } from '../yaml/shape.ts'
import type { AgentEntry, Directory, ReviewerEntry, Tenant } from '../language/snapshot.ts'
import { SEEN } from './change.ts'
import { AGENT_KEYS, REVIEWER_KEYS } from './directory-keys.ts'
import { inside, key, mapOf, name, need, readSpec, type SoFar, schemaOf, specOf, value } from './spec.ts'

/** Checks directory.yaml (docs/policy-language.md). An agent needs `owners`, and a reviewer `groups`. */
export function checkDirectory(reader: Reader, doc: Doc): Directory | undefined {
  const root = readMap(reader, doc, 'directory.yaml')
  if (!root) return undefined
  const { tenants = new Map(), identities } = readSpec(reader, root, DIRECTORY_KEYS, {}).entry
  return { tenants, groups: identities?.groups ?? new Map() }
}

const GROUP_NAMES = mapOf(
  undefined,
  (reader, { value }) => readName(reader, value, 'a group', WORD),
  name(WORD),
)
const IDENTITY_KEYS = specOf<Pick<Directory, 'groups'>>()('`identities`', {
  groups: key(
    'groups',
    GROUP_NAMES,
    'Maps group names at the identity provider to groups of this directory.',
    SEEN,
  ),
})

const AGENTS = mapOf(PERSON_NAME, checkAgent, schemaOf(AGENT_KEYS))
const REVIEWERS = mapOf(PERSON_NAME, checkReviewer, schemaOf(REVIEWER_KEYS))
const readAgents = (
  reader: Reader,
  doc: Doc,
  what: string,
  { soFar: { reviewers = new Map() } }: SoFar<Tenant>,
): Tenant['agents'] | undefined => AGENTS.read(reader, doc, what, { reviewers })

const TENANT_KEYS = specOf<Tenant>()('a tenant', {
  agents: { ...key('agents', value(readAgents, AGENTS.schema), 'The agents, by id.', SEEN), late: true },
  reviewers: key('reviewers', REVIEWERS, 'The reviewers, by id.', SEEN),
})

interface Root {
  readonly tenants: Directory['tenants']
  readonly identities?: Partial<Pick<Directory, 'groups'>>
}

/** The keys of directory.yaml. `diff` compares their entries by name. */
export const DIRECTORY_KEYS = specOf<Root>()('directory.yaml', {
  tenants: need(
    'tenants',
    mapOf(TENANT_NAME, checkTenant, schemaOf(TENANT_KEYS)),
    'The tenants, by name.',
    SEEN,
  ),
  identities: key(
    'identities',
    inside(IDENTITY_KEYS),
    'What the gateway takes from the identity provider.',
    SEEN,
  ),
})

function checkTenant(reader: Reader, { key, value }: DocEntry): Tenant | undefined {
  const what = `tenant \`${key}\``
  const map = readMap(reader, value, what)
  if (!map) return undefined
  const { agents = new Map(), reviewers = new Map() } = readSpec(
    reader,
    map,
    { ...TENANT_KEYS, what },
    {},
  ).entry
  return { agents, reviewers }
}

function checkReviewer(reader: Reader, { key: id, value }: DocEntry): ReviewerEntry | undefined {
  const map = readMap(reader, value, `reviewer \`${id}\``)
  return (
    map && {
      id,
      name: id,
      groups: [],
      roles: [],
      ...readSpec(reader, map, REVIEWER_KEYS, {}).entry,
    }
  )
}

function checkAgent(
  reader: Reader,
  { key: id, value }: DocEntry,
  around: { readonly reviewers: ReadonlyMap<string, ReviewerEntry> },
): AgentEntry | undefined {
  const map = readMap(reader, value, `agent \`${id}\``)
  return (
    map && {
      id,
      ...AGENT_DEFAULTS,
      ...readSpec(reader, map, AGENT_KEYS, around).entry,
    }
  )
}

const AGENT_DEFAULTS = {
  owners: [],
  tools: ['*'],
  signedApprovals: true,
  tokenTtlMs: DEFAULT_TOKEN_TTL_MS,
  preventSelfReview: true,
}
