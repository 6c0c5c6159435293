import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadConfig, type LoadedConfig } from '../../settings/config.ts'
import { PACKAGE_ROOT } from '../../system/package.ts'
import { isRunning, readDemoCredentials } from '../client/credentials.ts'
import { usage } from '../terminal/failure.ts'
import { STOP_SIGNALS } from '../terminal/signals.ts'
import { type DemoCast, runDemo } from './demo-script.ts'

const STARTER_POLICIES = fileURLToPath(new URL('policies', PACKAGE_ROOT))

/** Runs the demo agent with the keys in the folder of a running gateway. The exit code reports its result. */
export async function playDemo(folder: string, options: { readonly auto: boolean }): Promise<void> {
  process.exitCode = (await runDemo(castIn(folder), options)) ? 0 : 1
}

/**
 * The agent and the reviewer of the demo, which uses the tools of the starter policies.
 *
 * @throws CliFailure for a gateway without them
 */
function castIn(folder: string): DemoCast {
  const { url = '', agent_keys = {}, reviewer_key } = readDemoCredentials(folder) ?? {}
  const agent_key = agent_keys['demo-agent']
  if (agent_key === undefined || reviewer_key === undefined)
    throw usage(
      'the gateway has no `demo-agent`: the demo needs the starter policies',
      'run `countersign dev --demo` in an empty folder, or add --auto',
    )
  return { url, agent_key, reviewer_key }
}

/** True when `countersign dev` runs with this folder. */
export async function isRunningIn(folder: string): Promise<boolean> {
  const known = readDemoCredentials(folder)
  return known !== undefined && isRunning(known)
}

/** The settings of a gateway on free ports, with the starter policies, whose state ends with this process. */
export function settingsOfItsOwn(): LoadedConfig {
  const ports = ['--port', '0', '--metrics-port', '0', '--log-level', 'error']
  const args = [...ports, '--store', `file:${temporaryDirectory()}/data`, '--policies', STARTER_POLICIES]
  return loadConfig({ args, env: {}, parseYaml: () => ({}) })
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
