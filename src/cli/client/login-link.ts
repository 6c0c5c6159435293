import { type Api, createApi } from './api-client.ts'
import { API_FLAGS, NEEDS_ADMIN_KEY, reachAsAdmin } from './credentials.ts'
import { holderIn } from './keys.ts'
import { command } from '../terminal/command.ts'
import { parse } from '../terminal/parse.ts'

export const LOGIN_LINK = command({
  name: 'login-link',
  operands: 'TENANT/REVIEWER',
  says: `Prints a link that signs the reviewer in to the console: once, within ten minutes. Anyone who has the link can
    sign in as the reviewer. Hand it over like a password.`,
  flags: API_FLAGS,
  notes: NEEDS_ADMIN_KEY,
})

export const SIGN_OUT = command({
  name: 'sign-out',
  operands: 'TENANT/REVIEWER',
  says: 'Ends all sessions of the reviewer at once, and all unused links. To end a key, use `countersign keys revoke`.',
  flags: API_FLAGS,
  notes: NEEDS_ADMIN_KEY,
})

export async function loginLink(args: readonly string[]): Promise<void> {
  const { api, params, name, json } = reach(LOGIN_LINK, args)
  const link = await api.issue_login_link({ params })
  if (json) return console.log(JSON.stringify(link, null, 2))
  console.log(link.url)
  console.error(`signs in ${name} once, until ${link.expires_at}. It is shown once.`)
}

export async function signOut(args: readonly string[]): Promise<void> {
  const { api, params, name, json } = reach(SIGN_OUT, args)
  await api.end_sessions({ params })
  console.log(json ? '{}' : `${name} is signed out everywhere`)
}

interface Reached {
  readonly api: Api
  readonly params: { readonly tenant: string; readonly id: string }
  readonly name: string
  readonly json: boolean
}

function reach(row: typeof LOGIN_LINK | typeof SIGN_OUT, args: readonly string[]): Reached {
  const { values, operands } = parse(row, args)
  const [name = ''] = operands
  return {
    api: createApi(reachAsAdmin(values.url)),
    params: holderIn(row, name, 'TENANT/REVIEWER'),
    name,
    json: values.json,
  }
}
