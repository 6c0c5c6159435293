import type { IssuedKey } from '../../contract/admin.ts'
import { defined } from '../../contract/defined.ts'
import { parseDuration } from '../../policy/text/text.ts'
import { createApi } from './api-client.ts'
import { API_FLAGS, NEEDS_ADMIN_KEY, reachAsAdmin } from './credentials.ts'
import { type Command, command } from '../terminal/command.ts'
import { usage } from '../terminal/failure.ts'
import { parse } from '../terminal/parse.ts'
import { usageOf } from '../terminal/usage.ts'

const HOLDER = 'agent|reviewer TENANT/NAME'

export const KEYS = command({
  name: 'keys',
  says: 'Keys are for programs. People sign in to the console: `countersign login-link TENANT/REVIEWER`.',
  subcommands: {
    issue: { operands: HOLDER, says: 'Issues a key. An old key and its proofs are void at once.' },
    rotate: {
      operands: HOLDER,
      flags: ['overlap'],
      says: 'Issues the next key. With --overlap, the old key works for some time longer.',
    },
    revoke: {
      operands: HOLDER,
      says: 'Ends the key. To end the sessions of a reviewer, use `countersign sign-out`.',
    },
  },
  flags: {
    overlap: { takes: 'DURATION', says: 'time in which the old key still works, such as 10m, at most 7d' },
    ...API_FLAGS,
  },
  notes: NEEDS_ADMIN_KEY,
})

export async function keys(args: readonly string[]): Promise<void> {
  const { values, subcommand, operands } = parse(KEYS, args)
  const [kind = '', holder = ''] = operands
  const { tenant, id } = holderIn(KEYS, holder, 'TENANT/NAME')
  const body = overlapOf(values.overlap)
  const api = createApi(reachAsAdmin(values.url))
  const params = { tenant, id }
  if (subcommand === 'revoke') {
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

function overlapOf(text: string | undefined): { overlap_ms: number } | undefined {
  if (text === undefined) return undefined
  const overlap_ms = parseDuration(text)
  if (overlap_ms === undefined || overlap_ms > MOST_MS)
    throw usage(`\`${text}\` is not an overlap: write digits and s, m, h or d, at most 7d`)
  return { overlap_ms }
}

/** @throws CliFailure for text that is not two names */
export function holderIn(row: Command, name: string, form: string) {
  const [tenant, id, rest] = name.split('/')
  if (!tenant || !id || rest !== undefined) throw usage(`\`${name}\` is not ${form}`, usageOf(row))
  return { tenant, id }
}
