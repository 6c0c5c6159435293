import { parseArgs } from 'node:util'
import type { IssuedKey } from '../../contract/admin.ts'
import { createApi } from './api-client.ts'
import { reachAsAdmin } from './credentials.ts'
import { refuseMore, usage } from '../terminal/failure.ts'

export const KEYS_USAGE = `countersign keys <command>

  Keys are for programs. People sign in to the console: \`countersign login-link TENANT/REVIEWER\`.

  issue agent TENANT/AGENT          issue a key, or rotate it: the old one and its approval tokens die at once
  issue reviewer TENANT/REVIEWER
  revoke agent TENANT/AGENT
  revoke reviewer TENANT/REVIEWER   their sessions stay: \`countersign sign-out\`

  --url URL   the gateway (COUNTERSIGN_URL)
  --json      print the API's answer

Needs COUNTERSIGN_ADMIN_KEY, or COUNTERSIGN_ADMIN_KEY_FILE.`

export async function keys(args: readonly string[]): Promise<void> {
  const options = { url: { type: 'string' }, json: { type: 'boolean', default: false } } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  const { command, kind, tenant, id } = namedIn(positionals)
  const reach = reachAsAdmin(values.url)
  const api = createApi(reach.url, reach.key)
  const path = `/api/admin/${kind}s/${encodeURIComponent(tenant)}/${encodeURIComponent(id)}/key`
  if (command === 'revoke') {
    await api.delete(path)
    return console.log(values.json ? '{}' : `the key of ${kind} ${tenant}/${id} is revoked`)
  }
  const issued = await api.post<IssuedKey>(path, 'api_key')
  if (values.json) return console.log(JSON.stringify(issued, null, 2))
  console.log(issued.api_key)
  console.error(
    `key of ${kind} ${tenant}/${id}${issued.rotated ? ', rotated: the old one is dead' : ''}. It is shown once.`,
  )
}

function namedIn(positionals: readonly string[]) {
  // one of two keys that were to be revoked would go on
  refuseMore(positionals, 3, KEYS_USAGE)
  const [command, kind, holder = ''] = positionals
  const [tenant, id, rest] = holder.split('/')
  if (!['issue', 'revoke'].includes(command ?? '') || !['agent', 'reviewer'].includes(kind ?? ''))
    throw usage('name what to do with whose key', KEYS_USAGE)
  if (!tenant || !id || rest !== undefined) throw usage(`\`${holder}\` is not TENANT/NAME`, KEYS_USAGE)
  return { command, kind, tenant, id }
}
