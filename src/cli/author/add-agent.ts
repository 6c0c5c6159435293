import { parse } from 'yaml'
import type { BundleText } from '../../policy/bundle/check.ts'
import { type Permission, withPermission } from '../../policy/import/agent-entry.ts'
import { usage } from '../terminal/failure.ts'

/** The agent that may use the new tool. */
export interface Who {
  readonly tenant: string
  readonly agent: string
  readonly ownersMayVote: boolean
}

export interface PermissionText {
  readonly directory: BundleText
  readonly who: Who
}

interface TenantText {
  readonly agents?: Readonly<Record<string, { readonly owners?: readonly string[] }>> | null
  readonly reviewers?: Readonly<Record<string, unknown>> | null
}

interface DirectoryText {
  readonly tenants?: Readonly<Record<string, TenantText | null>> | null
}

/**
 * The directories that would let the agent use the tool, in order of preference. The caller uses the first directory
 * without errors.
 *
 * The directories differ in the owners of a new agent: the owners of the tenant's first agent, then each reviewer. The
 * last of these reviewers may also vote on the calls.
 *
 * @param agent NAME, for the first tenant, or TENANT/NAME
 * @throws CliFailure when the tenant does not exist, or when the directory has no place for an agent
 */
export function permissionTexts(
  texts: readonly BundleText[],
  { agent: named, tool }: { readonly agent: string; readonly tool: string },
): readonly PermissionText[] {
  const file = texts.find(({ path }) => path === 'directory.yaml')
  if (file === undefined) throw usage('the bundle has no directory.yaml', '`countersign init` writes one')
  const tenants = (parse(file.text, { logLevel: 'silent' }) as DirectoryText | null)?.tenants ?? {}
  const [tenant = '', agent = ''] = named.includes('/')
    ? named.split(/\/(.*)/s)
    : [Object.keys(tenants)[0], named]
  const known = tenants[tenant]
  if (!known)
    throw usage(`directory.yaml lists no tenant \`${tenant}\``, 'name one of its agents: --agent TENANT/NAME')
  const made = ownersFor(known, agent).flatMap(({ owners, ownersMayVote }): PermissionText[] => {
    const text = withPermission(file.text, { tenant, agent, tool, owners, ownersMayVote })
    const who = { tenant, agent, ownersMayVote }
    return text === undefined ? [] : [{ directory: { path: file.path, text }, who }]
  })
  if (made.length > 0) return made
  throw usage(
    `cannot add agent \`${agent}\` to tenant \`${tenant}\` in directory.yaml`,
    `add it under \`agents:\` of the tenant by hand: ${agent}: { owners: [SOMEONE], tools: [${tool}] }`,
  )
}

type Owners = Pick<Permission, 'owners' | 'ownersMayVote'>

/** The owners of the agent. An existing agent keeps its owners. */
function ownersFor({ agents, reviewers }: TenantText, agent: string): readonly Owners[] {
  if (agents?.[agent]) return [{ owners: [], ownersMayVote: false }]
  const first = Object.values(agents ?? {})[0]?.owners
  const others = Object.keys(reviewers ?? {}).toReversed()
  const all = [...(first === undefined ? [] : [first]), ...others.map((one) => [one])]
  return [false, true].flatMap((ownersMayVote) => all.map((owners) => ({ owners, ownersMayVote })))
}
