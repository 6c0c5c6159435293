import { parseArgs } from 'node:util'
import type { InstancesView } from '../../contract/admin.ts'
import { refuseMore, usage } from '../terminal/failure.ts'
import { createApi } from './api-client.ts'
import { reachAsAdmin } from './credentials.ts'

export const POLICIES_USAGE = `countersign policies status [options]

  Lists the gateways that share the store, with the bundle of each. Exits 1 if their bundles differ, if a gateway has no
  bundle, or if its last load failed.

  --revision REVISION   also exit 1 unless every gateway has this bundle: its SHA-256, the first characters of it, or
                        its commit
  --url URL             the gateway (COUNTERSIGN_URL)
  --json                print the API's answer

Needs COUNTERSIGN_ADMIN_KEY, or COUNTERSIGN_ADMIN_KEY_FILE.`

type Listed = InstancesView['instances'][number]

export async function policies(args: readonly string[]): Promise<void> {
  const text = { type: 'string' } as const
  const options = { url: text, revision: text, json: { type: 'boolean', default: false } } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  refuseMore(positionals, 1, POLICIES_USAGE)
  if (positionals[0] !== 'status') throw usage('name the command: status', POLICIES_USAGE)
  const reach = reachAsAdmin(values.url)
  const answer = await createApi(reach.url, reach.key).listInstances()
  const { instances } = answer
  const problem = problemIn(instances, values.revision)
  if (problem !== undefined) process.exitCode = 1
  if (values.json) return console.log(JSON.stringify(answer, null, 2))
  for (const one of instances) console.log(lineOf(one))
  console.log(
    problem ??
      `${instances.length} ${instances.length === 1 ? 'gateway decides' : 'gateways decide'} by one bundle`,
  )
}

function lineOf({ host, id, version, revision, commit, loaded_at, load_ok }: Listed): string {
  const bundle =
    revision === undefined
      ? 'no bundle'
      : `${revision.slice(0, 12)}${commit ? ` (${commit.slice(0, 12)})` : ''}`
  const loaded = loaded_at === undefined ? '' : `  since ${loaded_at}`
  return `${host} ${id}  ${version}  ${bundle}${loaded}${load_ok ? '' : '  (the last load failed)'}`
}

function problemIn(instances: readonly Listed[], wanted: string | undefined): string | undefined {
  if (instances.length === 0) return 'no gateway has reported yet'
  if (instances.some(({ revision }) => revision === undefined))
    return 'a gateway has no bundle: it rejects every call'
  if (instances.some(({ load_ok }) => !load_ok)) return 'the last load of a gateway failed: see its log'
  if (new Set(instances.map(({ revision }) => revision)).size > 1)
    return 'the gateways have different bundles in force'
  const isWanted = (text: string | undefined): boolean =>
    wanted === undefined || text?.startsWith(wanted) === true
  return instances.every(({ revision, commit }) => isWanted(revision) || isWanted(commit))
    ? undefined
    : `not every gateway decides by \`${wanted}\``
}
