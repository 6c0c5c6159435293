import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startApp } from '../../app.ts'
import { loadConfig } from '../../settings/config.ts'
import { issueKey } from '../../gateway/auth/keys.ts'
import { createLog } from '../../telemetry/log/log.ts'
import { type DemoCredentials, readDemoCredentials } from '../client/credentials.ts'
import { usage } from '../terminal/failure.ts'
import { STOP_SIGNALS } from '../terminal/signals.ts'
import { PACKAGE_ROOT } from '../../system/package.ts'

/** The demo agent and the reviewer who decides on its calls, with their keys. */
export interface DemoCast {
  readonly url: string
  readonly agent_key: string
  readonly reviewer_key: string
}

export interface DemoGateway {
  readonly credentials: DemoCast
  close(): Promise<void>
}

const STARTER_POLICIES = fileURLToPath(new URL('policies', PACKAGE_ROOT))

/**
 * The gateway that `countersign dev` runs in this folder. With `--auto` only, a private gateway on free ports with its
 * state in a temporary directory.
 *
 * @throws CliFailure when neither gateway is available
 */
export async function demoGateway(auto: boolean, url: string | undefined): Promise<DemoGateway> {
  const known = readDemoCredentials()
  if (known !== undefined && (await answers(url ?? known.url)))
    return { credentials: castOf(known, url ?? known.url), close: () => Promise.resolve() }
  if (auto) return privateGateway()
  throw usage(
    known === undefined
      ? 'no gateway was started in this folder'
      : `no gateway answers at ${url ?? known.url}`,
    'start one in another terminal with `npm start` or `npx countersign dev`, or add --auto',
  )
}

/**
 * The agent and reviewer of the demo, which uses the tools of the starter policies.
 *
 * @throws CliFailure for a gateway without them
 */
function castOf({ agent_keys, reviewer_key }: DemoCredentials, url: string): DemoCast {
  const agent_key = agent_keys['demo-agent']
  if (agent_key === undefined || reviewer_key === undefined)
    throw usage(
      'the gateway has no `demo-agent`: the demo needs the starter policies',
      'run `countersign dev` in an empty folder, or add --auto',
    )
  return { url, agent_key, reviewer_key }
}

async function answers(url: string): Promise<boolean> {
  return fetch(new URL('/livez', url), { signal: AbortSignal.timeout(2_000) }).then(
    (response) => response.ok,
    () => false,
  )
}

async function privateGateway(): Promise<DemoGateway> {
  const directory = temporaryDirectory()
  const args = [
    '--port',
    '0',
    '--metrics-port',
    '0',
    '--store',
    `file:${directory}/data`,
    '--policies',
    STARTER_POLICIES,
  ]
  const { config } = loadConfig({ args, env: {}, parseYaml: () => ({}) })
  const app = await startApp(config, { log: createLog('error') })
  const key = async (kind: 'agent' | 'reviewer', id: string): Promise<string> =>
    (await issueKey(app.deps, { tenant: 'acme', kind, id })).api_key
  const credentials = {
    url: app.url,
    agent_key: await key('agent', 'demo-agent'),
    reviewer_key: await key('reviewer', 'alice'),
  }
  return {
    credentials,
    close: () => app.close(),
  }
}

/** A directory that is removed regardless of how the demo ends. */
function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-demo-'))
  const remove = (): void => rmSync(directory, { recursive: true, force: true })
  process.once('exit', remove)
  for (const signal of STOP_SIGNALS)
    process.once(signal, () => {
      remove()
      process.kill(process.pid, signal)
    })
  return directory
}
