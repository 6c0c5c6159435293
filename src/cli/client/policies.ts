import type { InstancesView } from '../../contract/admin.ts'
import { differenceOf } from '../../gateway/jobs/instances.ts'
import { command } from '../terminal/command.ts'
import { EXIT } from '../terminal/failure.ts'
import { parse } from '../terminal/parse.ts'
import { createApi } from './api-client.ts'
import { API_FLAGS, NEEDS_ADMIN_KEY, reachAsAdmin } from './credentials.ts'

export const POLICIES = command({
  name: 'policies',
  operands: 'status',
  says: `Lists the gateways that share the store, with the bundle of each. Exits 1 if their bundles differ, if a gateway
    has no bundle, or if its last load failed. Exits 6 while a gateway still loads its first bundle.`,
  flags: {
    revision: {
      takes: 'REVISION',
      says: `also exit 1 unless every gateway has this bundle: its SHA-256, the first characters of it, or its commit`,
    },
    ...API_FLAGS,
  },
  notes: NEEDS_ADMIN_KEY,
})

type Listed = InstancesView['instances'][number]

export async function policies(args: readonly string[]): Promise<void> {
  const { values } = parse(POLICIES, args)
  const answer = await createApi(reachAsAdmin(values.url)).list_instances()
  const { instances } = answer
  const problem = problemIn(instances, values.revision)
  if (problem !== undefined) process.exitCode = isLoading(instances) ? EXIT.loading : EXIT.unexpected
  if (values.json) return console.log(JSON.stringify(answer, null, 2))
  for (const one of instances) console.log(lineOf(one))
  console.log(
    problem ??
      `${instances.length} ${instances.length === 1 ? 'gateway decides' : 'gateways decide'} by one bundle`,
  )
}

/** True while nothing is wrong yet: a gateway has not reported, or loads its first bundle. */
const isLoading = (instances: readonly Listed[]): boolean =>
  instances.length === 0 ||
  (instances.some(({ load }) => load === 'loading') && !instances.some(({ load }) => load === 'failed'))

const SAID = { loading: '  (loading)', loaded: '', failed: '  (the last load failed)' } as const

function lineOf({
  host,
  id,
  version,
  revision,
  commit,
  loaded_at,
  load,
  withdrawals,
  tiles_unreadable,
}: Listed): string {
  const bundle =
    revision === undefined
      ? 'no bundle'
      : `${revision.slice(0, 12)}${commit ? ` (${commit.slice(0, 12)})` : ''}`
  const loaded = loaded_at === undefined ? '' : `  since ${loaded_at}`
  const more = [withdrawals, tiles_unreadable]
    .map((said) => (said === undefined ? '' : `\n  ${said}`))
    .join('')
  return `${host} ${id}  ${version}  ${bundle}${loaded}${SAID[load]}${more}`
}

function problemIn(instances: readonly Listed[], wanted: string | undefined): string | undefined {
  if (instances.length === 0) return 'no gateway has reported yet'
  if (instances.some(({ load }) => load === 'failed')) return failure(instances)
  if (instances.some(({ load }) => load === 'loading')) return 'a gateway still loads its policies'
  const difference = differenceOf(instances)
  if (difference !== undefined)
    return `the gateways have different bundles in force since ${new Date(difference.since).toISOString()}; ${difference.odd.map(({ host }) => host).join(', ')} ${difference.odd.length === 1 ? 'differs' : 'differ'} from the others`
  return wanted === undefined ? undefined : notYet(instances, wanted)
}

const failure = (instances: readonly Listed[]): string =>
  instances.some(({ revision }) => revision === undefined)
    ? 'a gateway has no bundle: it rejects every call'
    : 'the last load of a gateway failed: see its log'

/** Length of a commit's name in git. */
const COMMIT_CHARS = 40

function notYet(instances: readonly Listed[], wanted: string): string | undefined {
  const has = (text: string | undefined): boolean => text?.startsWith(wanted) === true
  if (instances.every(({ revision, commit }) => has(revision) || has(commit))) return undefined
  const said = `not every gateway decides by \`${wanted}\``
  // a longer name is the SHA-256 of a bundle
  const isCommit = wanted.length <= COMMIT_CHARS
  const unnamed = isCommit && instances.every(({ commit }) => commit === undefined)
  return unnamed
    ? `${said}: no gateway knows its commit. Its policies are in no readable git checkout: name the commit in COUNTERSIGN_POLICIES_REVISION, or wait for the SHA-256 of the bundle`
    : said
}
