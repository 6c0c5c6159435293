import { parseArgs } from 'node:util'
import type { IssuedKey } from '../../contract/admin.ts'
import { defined } from '../../contract/defined.ts'
import { parseDuration } from '../../policy/text/text.ts'
import { createApi } from './api-client.ts'
import { reachAsAdmin } from './credentials.ts'
import { refuseMore, usage } from '../terminal/failure.ts'

export const KEYS_USAGE = `countersign keys <command>

  Keys are for programs. People sign in to the console: \`countersign login-link TENANT/REVIEWER\`.

  issue agent TENANT/AGENT          issue a key; an old key and its proofs are void at once
  issue reviewer TENANT/REVIEWER
  rotate agent TENANT/AGENT         issue the next key; with --overlap, the old key works for some time longer
  rotate reviewer TENANT/REVIEWER
  revoke agent TENANT/AGENT
  revoke reviewer TENANT/REVIEWER   end the key; to end sessions, use \`countersign sign-out\`

  --overlap DURATION   for rotate: time in which the old key still works, such as 10m, at most 7d
  --url URL            the gateway (COUNTERSIGN_URL)
  --json               print the API's answer

Needs COUNTERSIGN_ADMIN_KEY, or COUNTERSIGN_ADMIN_KEY_FILE.`

export async function keys(args: readonly string[]): Promise<void> {
  const text = { type: 'string' } as const
  const options = { url: text, overlap: text, json: { type: 'boolean', default: false } } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  const { command, kind, tenant, id } = namedIn(positionals)
  const body = overlapOf(command, values.overlap)
  const reach = reachAsAdmin(values.url)
  const api = createApi(reach.url, reach.key)
  const params = { tenant, id }
  if (command === 'revoke') {
    await (kind === 'agent' ? api.revoke_agent_key : api.revoke_reviewer_key)({ params })
    return console.log(values.json ? '{}' : `the key of ${kind} ${tenant}/${id} is revoked`)
  }
  const issue = kind === 'agent' ? api.issue_agent_key : api.issue_reviewer_key
  const issued = await issue({ params, ...defined({ body }) })
  if (values.json) return console.log(JSON.stringify(issued, null, 2))
  console.log(issued.api_key)
  console.error(`key of ${kind} ${tenant}/${id}${fateOf(issued)}. It is shown once.`)
}

function fateOf({ rotated, old_key_until }: IssuedKey): string {
  if (!rotated) return ''
  return old_key_until === undefined
    ? ', rotated: the old key is void'
    : `, rotated: the old key works until ${old_key_until}, and each proof under its own key`
}

const MOST_MS = 7 * 24 * 3_600_000

function overlapOf(
  command: string | undefined,
  text: string | undefined,
): { overlap_ms: number } | undefined {
  if (text === undefined) return undefined
  if (command !== 'rotate') throw usage('`--overlap` goes with `rotate`', KEYS_USAGE)
  const overlap_ms = parseDuration(text)
  if (overlap_ms === undefined || overlap_ms > MOST_MS)
    throw usage(`\`${text}\` is not an overlap: write digits and s, m, h or d, at most 7d`, KEYS_USAGE)
  return { overlap_ms }
}

function namedIn(positionals: readonly string[]) {
  // refuses further arguments, because a second key would stay valid
  refuseMore(positionals, 3, KEYS_USAGE)
  const [command, kind, holder = ''] = positionals
  const [tenant, id, rest] = holder.split('/')
  if (!['issue', 'rotate', 'revoke'].includes(command ?? '') || !['agent', 'reviewer'].includes(kind ?? ''))
    throw usage('name a command (issue, rotate or revoke) and the holder of the key', KEYS_USAGE)
  if (!tenant || !id || rest !== undefined) throw usage(`\`${holder}\` is not TENANT/NAME`, KEYS_USAGE)
  return { command, kind, tenant, id }
}
