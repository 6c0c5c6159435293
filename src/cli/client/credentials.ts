import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { adminKeyOf, clientEnvironment, ConfigError } from '../../settings/config.ts'
import { CliFailure, usage } from '../terminal/failure.ts'

/** What `npm start` writes (mode 0600) so that a first minute needs no copying of keys. `serve` never writes it. */
export interface DemoCredentials {
  readonly url: string
  readonly tenant: string
  readonly agent: string
  readonly agent_key: string
  readonly reviewer: string
  readonly reviewer_key: string
}

export const DEMO_FILE = 'demo-credentials.json'
const DEFAULT_DIRECTORY = './data'

export function writeDemoCredentials(directory: string, credentials: DemoCredentials): void {
  writeFileSync(join(directory, DEMO_FILE), `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 })
}

export function readDemoCredentials(directory = DEFAULT_DIRECTORY): DemoCredentials | undefined {
  const path = join(directory, DEMO_FILE)
  if (!existsSync(path)) return undefined
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as DemoCredentials
  } catch (cause) {
    throw new CliFailure(`\`${path}\` cannot be read`, { hint: 'delete it and run `npm start` again', cause })
  }
}

export interface Reach {
  readonly url: string
  readonly key: string
}

const DEFAULT_URL = 'http://127.0.0.1:8787'

export function reachAsReviewer(url: string | undefined): Reach {
  const env = clientEnvironment()
  const demo = env.reviewerKey === undefined ? readDemoCredentials() : undefined
  const key = env.reviewerKey ?? demo?.reviewer_key
  if (key === undefined) {
    throw usage(
      'no reviewer key',
      'set COUNTERSIGN_REVIEWER_KEY; an administrator issues one with `countersign keys issue reviewer TENANT/NAME`',
    )
  }
  return { url: url ?? env.url ?? demo?.url ?? DEFAULT_URL, key }
}

export function reachAsAdmin(url: string | undefined): Reach {
  const key = adminKey()
  if (key === undefined) {
    throw usage(
      'no admin key',
      'set COUNTERSIGN_ADMIN_KEY, or COUNTERSIGN_ADMIN_KEY_FILE; a gateway with a new store prints one once. When that is lost, start the gateway with one of your own',
    )
  }
  return { url: url ?? clientEnvironment().url ?? DEFAULT_URL, key }
}

function adminKey(): string | undefined {
  try {
    return adminKeyOf()
  } catch (error) {
    if (error instanceof ConfigError) throw usage(error.message)
    throw error
  }
}

/**
 * Of the agent itself, beside what wraps its tools. Not from the demo's file: these commands run where agents write, and a file there could name a gateway that
 * allows everything.
 */
export function reachAsAgent(url: string | undefined): Reach {
  const env = clientEnvironment()
  if (env.agentKey === undefined) {
    throw usage(
      'no agent key',
      'set COUNTERSIGN_AGENT_KEY; an administrator issues one with `countersign keys issue agent TENANT/NAME`',
    )
  }
  return { url: url ?? env.url ?? DEFAULT_URL, key: env.agentKey }
}
