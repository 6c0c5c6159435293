import type { LegalHoldView } from '../../contract/legal-hold.ts'
import { legalHoldKind, scopeOf } from '../../domain/legal-hold.ts'
import { createApi } from './api-client.ts'
import { API_FLAGS, NEEDS_ADMIN_KEY, reachAsAdmin } from './credentials.ts'
import { command } from '../terminal/command.ts'
import { usage } from '../terminal/failure.ts'
import { type Asked, parse } from '../terminal/parse.ts'
import { usageOf } from '../terminal/usage.ts'
import { jsonOf, onOneLine } from '../terminal/visible-text.ts'

const SCOPE = ['thread', 'task', 'agent', 'reason']

export const LEGAL_HOLD = command({
  name: 'legal-hold',
  says: `Keeps threads from deletion at the end of their retention: one thread, the threads of a task or of an agent,
    or, with none of these flags, of the whole tenant. Evidence records each legal hold.`,
  subcommands: {
    add: {
      flags: SCOPE,
      needs: ['reason'],
      says: 'Adds a legal hold, in place of an earlier one of the same scope.',
    },
    list: { says: 'Lists the legal holds of the tenant.' },
    remove: { flags: SCOPE, needs: ['reason'], says: 'Ends a legal hold: retention applies again.' },
  },
  flags: {
    tenant: { takes: 'TENANT', needed: true, common: true, says: 'the tenant' },
    thread: { takes: 'THREAD', says: 'only this thread' },
    task: { takes: 'TASK', says: 'only threads of this task' },
    agent: { takes: 'AGENT', says: 'only threads of this agent' },
    reason: { takes: 'TEXT', says: 'why; shown to reviewers, and kept as evidence' },
    ...API_FLAGS,
  },
  notes: NEEDS_ADMIN_KEY,
})

export async function legalHold(args: readonly string[]): Promise<void> {
  const asked = parse(LEGAL_HOLD, args)
  const { tenant, url, json } = asked.values
  const body = { tenant, ...scopeIn(asked), reason: asked.values.reason ?? '' }
  const reach = reachAsAdmin(url)
  const api = createApi(reach.url, reach.key)
  switch (asked.subcommand) {
    case 'add': {
      const added = await api.add_legal_hold({ body })
      console.log(json ? jsonOf(added) : `${nameOf(added)} is under a legal hold since ${added.started_at}`)
      return warnOf(added)
    }
    case 'remove':
      await api.remove_legal_hold({ body })
      return console.log(
        json ? '{}' : `${nameOf(body)} is no longer under this legal hold: retention applies again`,
      )
    case 'list': {
      const answer = await api.list_legal_holds({ query: { tenant } })
      const text = answer.legal_holds.map(lineOf).join('\n') || 'nothing is under a legal hold'
      return console.log(json ? jsonOf(answer) : text)
    }
  }
}

function warnOf(added: LegalHoldView & { readonly known: boolean; readonly replaced?: string }): void {
  if (added.replaced !== undefined)
    console.error(onOneLine(`it replaced an earlier legal hold, whose reason was: ${added.replaced}`))
  if (!added.known)
    console.error(
      `${nameOf(added)} is not known: check the spelling. The legal hold is in force nevertheless.`,
    )
}

const lineOf = (one: LegalHoldView): string =>
  onOneLine(`${nameOf(one)}  since ${one.started_at}, by ${one.by}: ${one.reason}`)

function scopeIn({ values: { thread, task, agent } }: Asked<typeof LEGAL_HOLD>) {
  const scope = scopeOf({ thread_id: thread, task_id: task, agent })
  if (Object.keys(scope).length < 2) return scope
  throw usage('name a thread, a task or an agent, but only one of them', usageOf(LEGAL_HOLD))
}

function nameOf(hold: Pick<LegalHoldView, 'tenant' | 'thread_id' | 'task_id' | 'agent'>): string {
  const [name] = Object.values(scopeOf(hold))
  const kind = legalHoldKind(hold)
  return onOneLine(name === undefined ? `tenant ${hold.tenant}` : `${kind} ${name} in ${hold.tenant}`)
}
