import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { App } from '../../app.ts'
import { defined } from '../../contract/defined.ts'
import { issueKey } from '../../gateway/auth/keys.ts'
import {
  DEMO_FILE,
  type DemoCredentials,
  readDemoCredentials,
  writeDemoCredentials,
} from '../client/credentials.ts'
import { usage } from '../terminal/failure.ts'
import { type People, peopleOf } from './people.ts'

/** The keys of a development gateway, stored next to its data. */
export interface DevKeys {
  readonly people: () => People
  readonly keyOf: (agent: string) => string | undefined
  /** Issues, in the background, a key to each agent without a key. `say` gets a line for each key. */
  readonly issueMissing: (say: (line: string) => void) => void
  /** Resolves when all pending keys have been issued. */
  readonly settled: () => Promise<void>
}

/** @throws CliFailure when the directory lists no tenant */
export async function createDevKeys(app: App, folder: string): Promise<DevKeys> {
  const known = existsSync(join(folder, DEMO_FILE)) ? readDemoCredentials(folder) : undefined
  const first = peopleNow(app, known)
  if (first === undefined)
    throw usage('directory.yaml lists no tenant', 'add one under `tenants:` and start again')
  let people = first
  let keys = await issue(app, people, known)
  writeDemoCredentials(folder, keys)

  const issueNow = async (say: (line: string) => void): Promise<void> => {
    people = peopleNow(app, keys) ?? people
    const before = keys
    keys = await issue(app, people, before)
    writeDemoCredentials(folder, keys)
    for (const id of Object.keys(keys.agent_keys))
      if (before.agent_keys[id] === undefined)
        say(`new agent ${id}: its key is in ${join(folder, DEMO_FILE)}`)
  }
  let issuing: Promise<void> = Promise.resolve()
  return {
    people: () => people,
    keyOf: (agent) => keys.agent_keys[agent],
    issueMissing: (say) => {
      issuing = issuing
        .then(() => issueNow(say))
        .catch((error: unknown) => say(`cannot issue a key: ${(error as Error).message}`))
    },
    settled: () => issuing,
  }
}

function peopleNow(app: App, known: DemoCredentials | undefined): People | undefined {
  const directory = app.deps.policies.current()?.directory
  return directory && peopleOf(directory, known)
}

/** Returns the known keys, and issues the missing keys. Keys of another tenant are ignored. */
async function issue(
  app: App,
  { tenant, agent, agents, reviewer }: People,
  known: DemoCredentials | undefined,
): Promise<DemoCredentials> {
  const kept = known?.tenant === tenant ? known : undefined
  const fresh = async (kind: 'agent' | 'reviewer', id: string): Promise<string> =>
    (await issueKey(app.deps, { tenant, kind, id })).api_key
  const agent_keys: Record<string, string> = {}
  for (const id of agents) agent_keys[id] = kept?.agent_keys[id] ?? (await fresh('agent', id))
  const keptKey = kept?.reviewer === reviewer ? kept?.reviewer_key : undefined
  const reviewer_key = reviewer && (keptKey ?? (await fresh('reviewer', reviewer)))
  const named = namedAgent(agents, kept) ?? agent
  return {
    url: app.url,
    tenant,
    ...defined({ ...keyOf(named, agent_keys), reviewer, reviewer_key }),
    agent_keys,
  }
}

/** The agent that the file names already: programs and tutorials read its `agent_key`. */
const namedAgent = (agents: readonly string[], kept?: DemoCredentials): string | undefined =>
  agents.find((id) => id === kept?.agent)

const keyOf = (
  agent: string | undefined,
  keys: DemoCredentials['agent_keys'],
): Partial<Record<'agent' | 'agent_key', string | undefined>> =>
  agent === undefined ? {} : { agent, agent_key: keys[agent] }
