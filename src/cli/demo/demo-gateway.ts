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

export interface DemoGateway {
  readonly credentials: DemoCredentials
  close(): Promise<void>
}

const STARTER_POLICIES = fileURLToPath(new URL('policies', PACKAGE_ROOT))

/** The gateway of `npm start`, or, for `--auto` alone, a private one on free ports with its state in a temporary directory. */
export async function demoGateway(auto: boolean, url: string | undefined): Promise<DemoGateway> {
  const known = readDemoCredentials()
  if (known !== undefined && (await answers(url ?? known.url))) {
    return { credentials: { ...known, url: url ?? known.url }, close: () => Promise.resolve() }
  }
  if (auto) return privateGateway()
  throw usage(
    'no gateway is running here',
    'start one in another terminal with `npm start`, or run `npm run demo -- --auto`',
  )
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
    tenant: 'acme',
    agent: 'demo-agent',
    agent_key: await key('agent', 'demo-agent'),
    reviewer: 'alice',
    reviewer_key: await key('reviewer', 'alice'),
  }
  return {
    credentials,
    close: () => app.close(),
  }
}

/** For a gateway of which nothing is left, however the demo ends. */
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
