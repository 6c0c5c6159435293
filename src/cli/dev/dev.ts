import { existsSync, readdirSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { App, AppParts } from '../../app.ts'
import type { Config, LoadedConfig } from '../../settings/config.ts'
import { starterBundle, writeBundle } from '../author/starter.ts'
import { DEFAULT_POLICIES } from '../author/default-policies.ts'
import { command } from '../terminal/command.ts'
import { CliFailure, usage } from '../terminal/failure.ts'
import { parse } from '../terminal/parse.ts'
import { usageOf } from '../terminal/usage.ts'
import { endAfterLastWords } from '../terminal/last-words.ts'
import { withProgress } from '../terminal/progress.ts'
import { readSettings } from '../operate/read-settings.ts'
import {
  showAdminKey,
  startOrExplain,
  untilAskedToStop,
  warnOfClock,
  warnOfSettings,
} from '../operate/serve.ts'
import { exampleCalls } from '../author/example-calls.ts'
import { isRunningIn, playDemo, settingsOfItsOwn } from './demo.ts'
import { createDevKeys, type DevKeys } from './dev-keys.ts'
import { exampleCallIn } from './example-payload.ts'
import { createReloadLines } from './reloads.ts'
import { screen, type Shown } from './screen.ts'
import { sdkPlaces } from '../author/sdk-places.ts'

export const DEV = command({
  name: 'dev',
  says: `Runs a gateway for development, and prints a console link and a first call in curl, TypeScript and Python. It
    reads policies from ${DEFAULT_POLICIES}. If that folder does not exist, it first copies the starter policies there. Each
    agent of the directory gets a key. The keys are in a file of the data folder that only you can read. It takes the
    settings of \`countersign serve\`: run \`countersign config\` for the list.`,
  flags: {
    demo: {
      says: `also runs a demo agent, whose calls you decide in the console. If a gateway runs in this folder already, the
        agent calls that gateway`,
    },
    auto: {
      says: `for --demo: also plays the reviewer, and starts a gateway of its own if none runs. Exits 0 only if every step
        went as the contract says`,
    },
  },
  settings: '[--policies DIR] [--store file:DIR] ...',
})

/**
 * `countersign dev`, and `npm start`: runs a gateway with the embedded store, a reviewer who can sign in, and a key for
 * each agent.
 */
export async function dev(args: readonly string[]): Promise<void> {
  const read = parse(DEV, args)
  const { demo, auto } = read.values
  if (auto && !demo) throw usage('--auto goes with --demo', usageOf(DEV))
  const loaded = readSettings(read)
  const folder = dataDirectoryOf(loaded.config)
  if (demo && (await isRunningIn(folder))) return playDemo(folder, { auto })
  if (auto) return playAlone()
  await copyStarterPolicies(loaded)
  const asked = untilAskedToStop()
  const { app, text, keys } = await withProgress('Starting Countersign', () => begin(loaded))
  console.log(text)
  const quiet = linksOnEnter(app, keys)
  if (demo) playDemo(folder, { auto }).catch(sayStopped)
  await asked
  quiet()
  console.log('\nstopping; everything that was answered is on disk')
  await keys.settled()
  await app.close()
  endAfterLastWords()
}

/** Plays the demo with a gateway of its own, which ends with it. */
async function playAlone(): Promise<void> {
  const own = settingsOfItsOwn()
  const { app } = await begin(own)
  try {
    await playDemo(dataDirectoryOf(own.config), { auto: true })
  } finally {
    await app.close()
  }
}

function sayStopped(error: unknown): void {
  console.error(`the demo ended: ${(error as Error).message}`)
}

/** The directory of the embedded store. @throws CliFailure for another store */
function dataDirectoryOf({ store }: Config): string {
  if (store.kind === 'embedded') return store.path
  throw usage(
    '`countersign dev` works with the embedded store only: --store file:DIRECTORY',
    'for Redis use `countersign serve`',
  )
}

/** Copies the policies into the default folder of every command, if it does not exist. */
async function copyStarterPolicies({ origins, config: { policies } }: LoadedConfig): Promise<void> {
  if (origins.policies !== 'default') return
  if (existsSync(policies) && readdirSync(policies).length > 0) return
  await writeBundle(policies, await starterBundle())
}

const ANY_DAY = '9999-12-31'

interface Begun {
  readonly app: App
  readonly text: string
  readonly keys: DevKeys
}

/**
 * Starts the gateway and composes the screen. The admin key is shown even after a failure, because no later start can
 * show it.
 */
async function begin(loaded: LoadedConfig): Promise<Begun> {
  const { config } = loaded
  let newAdminKey: string | undefined
  let keys: DevKeys | undefined
  try {
    const logLevel = config.logLevel === 'info' ? 'warn' : config.logLevel
    const lineOf = createReloadLines()
    const onPolicyLoad: AppParts['onPolicyLoad'] = (report, inForce) => {
      const line = lineOf(report, inForce)
      if (line !== undefined) console.log(`  ${line}`)
      if (report.ok) keys?.issueMissing((said) => console.log(`  ${said}`))
    }
    // a developer's machine rests at weekends
    const accepting = { ...loaded, config: { ...config, acceptClock: config.acceptClock ?? ANY_DAY } }
    const { app, log } = await startOrExplain(accepting, logLevel, (key) => (newAdminKey = key), onPolicyLoad)
    warnOfSettings(log, loaded)
    warnOfClock(log, app.deps.store.now() - Date.now())
    keys = await keysOf(app, loaded)
    const data = dataDirectoryOf(config)
    const shown = { ...(await shownOf(app, keys, config.policies)), data, newAdminKey }
    return { app, keys, text: screen(config, app, shown) }
  } catch (error) {
    if (newAdminKey !== undefined) showAdminKey(newAdminKey)
    throw error
  }
}

async function keysOf(app: App, { config }: LoadedConfig): Promise<DevKeys> {
  const { policies } = config
  if (app.deps.policies.current() === undefined) {
    await app.close()
    throw new CliFailure(`the policy bundle in \`${policies}\` does not load`, {
      hint: existsSync(policies)
        ? `run \`countersign check ${policies}\` to see why`
        : 'it does not exist: `countersign init` writes a starter bundle into ./policies',
    })
  }
  return createDevKeys(app, dataDirectoryOf(config))
}

async function shownOf(
  app: App,
  { people, keyOf }: DevKeys,
  policies: string,
): Promise<Omit<Shown, 'newAdminKey' | 'data'>> {
  const { tenant, agent, reviewer } = people()
  const link = reviewer === undefined ? undefined : await app.loginLink({ tenant, id: reviewer })
  const takesEnter = process.stdin.isTTY
  const key = agent === undefined ? undefined : keyOf(agent)
  if (agent === undefined || key === undefined) return { link, reviewer, agent, takesEnter, call: undefined }
  const mayUse = (tool: string): boolean => {
    const snapshot = app.deps.policies.current()
    return snapshot?.mayUse(snapshot.agentOf(tenant, agent), tool) === true
  }
  const example = await exampleCallIn(policies, mayUse)
  const call = example && {
    tool: example.tool,
    text: exampleCalls({ url: app.url, key, ...example }, sdkPlaces(process.cwd())),
  }
  return { link, reviewer, agent, takesEnter, call }
}

/**
 * Prints another link each time the user presses Enter, because a link works once and a developer may have several
 * browsers. The returned function removes the listener.
 */
function linksOnEnter(app: App, { people }: DevKeys): () => void {
  if (!process.stdin.isTTY) return () => undefined
  const lines = createInterface({ input: process.stdin, terminal: false })
  lines.on('line', () => {
    const { tenant, reviewer } = people()
    if (reviewer === undefined) return
    app.loginLink({ tenant, id: reviewer }).then(
      (link) => console.log(`  ${link}\n`),
      (error: unknown) => console.error(`  cannot make a link: ${(error as Error).message}`),
    )
  })
  return () => lines.close()
}
