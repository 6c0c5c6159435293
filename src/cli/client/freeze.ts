import { parseArgs } from 'node:util'
import type { FreezeView } from '../../contract/freeze.ts'
import { createApi } from './api-client.ts'
import { reachAsAdmin } from './credentials.ts'
import { refuseOptions, usage } from '../terminal/failure.ts'
import { jsonOf, onOneLine } from '../terminal/visible-text.ts'

const OPTIONS_TEXT = `  --agent AGENT   only this agent
  --tool TOOL     only this tool; with neither, everything of the tenant
  --reason TEXT   why; shown to the agent and to reviewers, and kept as evidence
  --url URL       the gateway (COUNTERSIGN_URL)
  --json          print the API's answer

Needs COUNTERSIGN_ADMIN_KEY, or COUNTERSIGN_ADMIN_KEY_FILE.`

export const FREEZE_USAGE = `countersign freeze TENANT --reason TEXT [--agent AGENT | --tool TOOL]
countersign freeze list TENANT

  Stops an agent, a tool or a whole tenant at once, on every instance. The gateway rejects new calls. It cancels held
  calls and unused approvals for good: \`countersign unfreeze\` does not revive them.

${OPTIONS_TEXT}`

export const UNFREEZE_USAGE = `countersign unfreeze TENANT --reason TEXT [--agent AGENT | --tool TOOL]

  Ends a freeze: policy decides new calls again. Calls that the freeze cancelled stay cancelled.

${OPTIONS_TEXT}`

const OPTIONS = {
  agent: { type: 'string' },
  tool: { type: 'string' },
  reason: { type: 'string' },
  url: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const

const parse = (args: readonly string[]) =>
  parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, tokens: true })

export async function freeze(args: readonly string[]): Promise<void> {
  const { values, positionals, tokens } = parse(args)
  const [tenant = '', ...more] = positionals
  const named = more[0]
  if (tenant === 'list' && named !== undefined && more.length === 1) {
    refuseOptions(tokens, [], FREEZE_USAGE)
    return list(named, values)
  }
  const { api, body } = asked(args, FREEZE_USAGE)
  const frozen = await api.freeze({ body })
  console.log(values.json ? jsonOf(frozen) : `${nameOf(frozen)} is frozen since ${frozen.frozen_at}`)
  if (!frozen.known)
    console.error(
      `the bundle in force does not know ${nameOf(frozen)}: check the spelling. It is frozen nevertheless.`,
    )
}

export async function unfreeze(args: readonly string[]): Promise<void> {
  const { api, body, json } = asked(args, UNFREEZE_USAGE)
  await api.unfreeze({ body })
  const said = `${nameOf(body)} is no longer frozen: policy decides new calls, and cancelled calls stay cancelled`
  console.log(json ? '{}' : said)
}

async function list(tenant: string, { url, json }: ReturnType<typeof parse>['values']): Promise<void> {
  const reach = reachAsAdmin(url)
  const api = createApi(reach.url, reach.key)
  const answer = await api.list_freezes({ query: { tenant } })
  if (json) return console.log(jsonOf(answer))
  console.log(answer.freezes.map(lineOf).join('\n') || 'nothing is frozen')
}

const lineOf = (one: FreezeView): string =>
  onOneLine(`${nameOf(one)}  since ${one.frozen_at}, by ${one.by}: ${one.reason}`)

function asked(args: readonly string[], help: string) {
  const { values, positionals } = parse(args)
  const { agent, tool, reason, url, json } = values
  const [tenant, ...more] = positionals
  if (tenant === undefined || more.length > 0) throw usage('name one tenant', help)
  if (agent !== undefined && tool !== undefined) throw usage('name an agent or a tool, not both', help)
  if (reason === undefined || reason.trim() === '') throw usage('give the reason with --reason', help)
  const reach = reachAsAdmin(url)
  const scope = { ...(agent === undefined ? {} : { agent }), ...(tool === undefined ? {} : { tool }) }
  return { api: createApi(reach.url, reach.key), body: { tenant, ...scope, reason }, json }
}

function nameOf({ tenant, agent, tool }: Pick<FreezeView, 'tenant' | 'agent' | 'tool'>): string {
  if (agent !== undefined) return onOneLine(`agent ${tenant}/${agent}`)
  return onOneLine(tool === undefined ? `tenant ${tenant}` : `tool ${tool} in ${tenant}`)
}
