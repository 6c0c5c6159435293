import { defined } from '../../contract/defined.ts'
import type { FreezeView } from '../../contract/freeze.ts'
import { createApi } from './api-client.ts'
import { API_FLAGS, NEEDS_ADMIN_KEY, reachAsAdmin } from './credentials.ts'
import { command } from '../terminal/command.ts'
import { usage } from '../terminal/failure.ts'
import { type Asked, parse } from '../terminal/parse.ts'
import { usageOf } from '../terminal/usage.ts'
import { jsonOf, onOneLine } from '../terminal/visible-text.ts'

const FLAGS = {
  agent: { takes: 'AGENT', says: 'only this agent' },
  tool: { takes: 'TOOL', says: 'only this tool' },
  reviewer: { takes: 'NAME', says: 'only this reviewer; with none of these, everything of the tenant' },
  reason: {
    takes: 'TEXT',
    needed: true,
    says: 'why; shown to the agent and to reviewers, and kept as evidence',
  },
  ...API_FLAGS,
} as const

export const FREEZE = command({
  name: 'freeze',
  operands: 'TENANT',
  says: `Stops an agent, a tool, a reviewer or a whole tenant at once, on every instance. The gateway rejects new
    calls. It cancels held calls and unused approvals for good: \`countersign unfreeze\` does not revive them. A frozen
    reviewer is signed out and refused, and the votes of the reviewer never count again.`,
  subcommands: { list: { operands: 'TENANT', says: 'Lists the freezes of the tenant.' } },
  flags: FLAGS,
  notes: NEEDS_ADMIN_KEY,
})

export const UNFREEZE = command({
  name: 'unfreeze',
  operands: 'TENANT',
  says: `Ends a freeze: policy decides new calls again. Calls that the freeze cancelled stay cancelled, and votes of a
    frozen reviewer stay void.`,
  flags: FLAGS,
  notes: NEEDS_ADMIN_KEY,
})

type FreezeCommand = typeof FREEZE | typeof UNFREEZE

export async function freeze(args: readonly string[]): Promise<void> {
  const read = parse(FREEZE, args)
  if (read.subcommand === 'list') return list(read)
  const { api, body, json } = asked(FREEZE, read)
  const frozen = await api.freeze({ body })
  console.log(json ? jsonOf(frozen) : `${nameOf(frozen)} is frozen since ${frozen.frozen_at}`)
  if (!frozen.known)
    console.error(
      `the bundle in force does not know ${nameOf(frozen)}: check the spelling. It is frozen nevertheless.`,
    )
}

export async function unfreeze(args: readonly string[]): Promise<void> {
  const { api, body, json } = asked(UNFREEZE, parse(UNFREEZE, args))
  await api.unfreeze({ body })
  const means =
    body.reviewer === undefined
      ? 'policy decides new calls, and cancelled calls stay cancelled'
      : 'this reviewer may sign in and vote again, and earlier votes stay void'
  const said = `${nameOf(body)} is no longer frozen: ${means}`
  console.log(json ? '{}' : said)
}

async function list({ operands: [tenant = ''], values: { url, json } }: Asked<typeof FREEZE>): Promise<void> {
  const api = createApi(reachAsAdmin(url))
  const answer = await api.list_freezes({ query: { tenant } })
  if (json) return console.log(jsonOf(answer))
  console.log(answer.freezes.map(lineOf).join('\n') || 'nothing is frozen')
}

const lineOf = (one: FreezeView): string =>
  onOneLine(`${nameOf(one)}  since ${one.frozen_at}, by ${one.by}: ${one.reason}`)

function asked(row: FreezeCommand, { values, operands: [tenant = ''] }: Asked<FreezeCommand>) {
  const { agent, tool, reviewer, reason, url, json } = values
  const scope = defined({ agent, tool, reviewer })
  if (Object.keys(scope).length > 1)
    throw usage('name an agent, a tool or a reviewer, and only one', usageOf(row))
  return { api: createApi(reachAsAdmin(url)), body: { tenant, ...scope, reason }, json }
}

function nameOf({
  tenant,
  agent,
  tool,
  reviewer,
}: Pick<FreezeView, 'tenant' | 'agent' | 'tool' | 'reviewer'>): string {
  if (reviewer !== undefined) return onOneLine(`reviewer ${tenant}/${reviewer}`)
  if (agent !== undefined) return onOneLine(`agent ${tenant}/${agent}`)
  return onOneLine(tool === undefined ? `tenant ${tenant}` : `tool ${tool} in ${tenant}`)
}
