import { parseArgs } from 'node:util'
import { type Api, createApi } from './api-client.ts'
import { reachAsAdmin } from './credentials.ts'
import { usage } from '../terminal/failure.ts'

const OPTIONS = `  --url URL   the gateway (COUNTERSIGN_URL)
  --json      print the API's answer

Needs COUNTERSIGN_ADMIN_KEY, or COUNTERSIGN_ADMIN_KEY_FILE.`

export const LOGIN_LINK_USAGE = `countersign login-link TENANT/REVIEWER

  Prints a link that signs the reviewer in to the console: once, within ten minutes. Anyone who has the link can sign
  in as the reviewer. Hand it over like a password.

${OPTIONS}`

export const SIGN_OUT_USAGE = `countersign sign-out TENANT/REVIEWER

  Ends all sessions of the reviewer at once, and all unused links. To end a key, use \`countersign keys revoke\`.

${OPTIONS}`

export async function loginLink(args: readonly string[]): Promise<void> {
  const { api, params, name, json } = reach(args, LOGIN_LINK_USAGE)
  const link = await api.issue_login_link({ params })
  if (json) return console.log(JSON.stringify(link, null, 2))
  console.log(link.url)
  console.error(`signs in ${name} once, until ${link.expires_at}. It is shown once.`)
}

export async function signOut(args: readonly string[]): Promise<void> {
  const { api, params, name, json } = reach(args, SIGN_OUT_USAGE)
  await api.end_sessions({ params })
  console.log(json ? '{}' : `${name} is signed out everywhere`)
}

interface Reached {
  readonly api: Api
  readonly params: { readonly tenant: string; readonly id: string }
  readonly name: string
  readonly json: boolean
}

function reach(args: readonly string[], help: string): Reached {
  const options = { url: { type: 'string' }, json: { type: 'boolean', default: false } } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  const [name = '', ...more] = positionals
  const [tenant, id, rest] = name.split('/')
  if (!tenant || !id || rest !== undefined || more.length > 0)
    throw usage(`\`${positionals.join(' ')}\` is not TENANT/REVIEWER`, help)
  const { url, key } = reachAsAdmin(values.url)
  return { api: createApi(url, key), params: { tenant, id }, name, json: values.json }
}
