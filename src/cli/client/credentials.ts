import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { adminKeyOf, clientEnvironment, ConfigError } from '../../settings/config.ts'
import { CliFailure, usage } from '../terminal/failure.ts'

/**
 * The file that `countersign dev` writes (mode 0600), so that people need not copy keys. `serve` never writes this
 * file.
 */
export interface DemoCredentials {
  readonly url: string
  readonly tenant: string
  /** Absent, like the key, while the directory lists no agent. */
  readonly agent?: string
  readonly agent_key?: string
  /** Absent, like the key, while the directory lists no reviewer. */
  readonly reviewer?: string
  readonly reviewer_key?: string
  /** Keys of all agents of the tenant, by name. */
  readonly agent_keys: Readonly<Record<string, string>>
}

/** The flag of every command that calls a gateway. */
export const URL_FLAG = { takes: 'URL', common: true, says: 'the gateway (COUNTERSIGN_URL)' } as const
/** The flags of every command that prints an answer of the API. */
export const API_FLAGS = { url: URL_FLAG, json: { common: true, says: "print the API's answer" } } as const
export const NEEDS_ADMIN_KEY = 'Needs COUNTERSIGN_ADMIN_KEY, or COUNTERSIGN_ADMIN_KEY_FILE.'

export const DEMO_FILE = 'demo-credentials.json'
const DEFAULT_DIRECTORY = './data'

/** Replaces the whole file in one step, because another command may read it at the same time. */
export function writeDemoCredentials(directory: string, credentials: DemoCredentials): void {
  const path = join(directory, DEMO_FILE)
  writeFileSync(`${path}.new`, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/** @throws CliFailure for a file that `countersign dev` did not write */
export function readDemoCredentials(directory = DEFAULT_DIRECTORY): DemoCredentials | undefined {
  const path = join(directory, DEMO_FILE)
  if (!existsSync(path)) return undefined
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as DemoCredentials
  } catch (cause) {
    throw new CliFailure(`cannot read \`${path}\`: ${(cause as Error).message}`, {
      hint: 'delete the file and run `countersign dev` again: it issues new keys',
      cause,
    })
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
      'set COUNTERSIGN_ADMIN_KEY, or COUNTERSIGN_ADMIN_KEY_FILE; a gateway with a new store prints one once. If that key is lost, start the gateway with a key of your own',
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
 * The gateway and key of an agent, for the programs that wrap its tools. Does not read the demo's file. These commands
 * run where agents can write, and a forged file could name a gateway that allows every call.
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

/** True when the gateway of the credentials answers. */
export const isRunning = ({ url }: DemoCredentials): Promise<boolean> =>
  fetch(new URL('/livez', url), { signal: AbortSignal.timeout(2_000) }).then(
    ({ ok }) => ok,
    () => false,
  )
