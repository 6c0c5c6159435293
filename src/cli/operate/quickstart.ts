import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { App, AppParts } from '../../app.ts'
import { type Config, type LoadedConfig } from '../../settings/config.ts'
import { issueKey } from '../../gateway/auth/keys.ts'
import {
  DEMO_FILE,
  type DemoCredentials,
  readDemoCredentials,
  writeDemoCredentials,
} from '../client/credentials.ts'
import { starterBundle, writeBundle } from '../author/starter.ts'
import { createReloadLines } from './reloads.ts'
import { CliFailure, usage } from '../terminal/failure.ts'
import { endAfterLastWords } from '../terminal/last-words.ts'
import {
  readSettings,
  showAdminKey,
  startOrExplain,
  untilAskedToStop,
  warnOfClock,
  warnOfSettings,
} from './serve.ts'

const TENANT = 'acme'
const AGENT = 'demo-agent'
/** Not the agent's owner: an owner could not decide on its calls. */
const REVIEWER = 'alice'

export const QUICKSTART_USAGE = `countersign quickstart [--policies DIR] [--store file:DIR] ...

  Runs the gateway with demo credentials in a file that only the owner can read. Without --policies it works on ./my-policies, and
  copies the starter policies there when that is not there yet. Takes the settings of \`countersign serve\`.`

/** `npm start`: a gateway with a copy of the starter policies in ./my-policies and demo credentials in a file that only the owner can read. */
export async function quickstart(args: readonly string[]): Promise<void> {
  const read = readSettings(args, QUICKSTART_USAGE)
  const loaded = await withOwnPolicies(read)
  const { config } = loaded
  directoryOf(config)
  const asked = untilAskedToStop()
  const { app, welcome } = await begin(loaded)
  console.log(welcome)
  const quiet = linksOnEnter(app)
  await asked
  quiet()
  console.log('\nstopping; everything that was answered is on disk')
  await app.close()
  endAfterLastWords()
}

/** Whoever edits policies edits a copy: those of the package stay as they came. */
const OWN_POLICIES = './my-policies'

async function withOwnPolicies(loaded: LoadedConfig): Promise<LoadedConfig> {
  if (loaded.origins.policies !== 'default') return loaded
  if (!existsSync(OWN_POLICIES)) await writeBundle(OWN_POLICIES, await starterBundle())
  return { ...loaded, config: { ...loaded.config, policies: OWN_POLICIES } }
}

/** What fails on the way has the admin key shown all the same: no later start knows it. */
async function begin(loaded: LoadedConfig): Promise<{ app: App; welcome: string }> {
  const { config } = loaded
  let newAdminKey: string | undefined
  try {
    const logLevel = config.logLevel === 'info' ? 'warn' : config.logLevel
    const lineOf = createReloadLines()
    const say: AppParts['onPolicyLoad'] = (report, inForce) => {
      const line = lineOf(report, inForce)
      if (line !== undefined) console.log(`  ${line}`)
    }
    const { app, log } = await startOrExplain(config, logLevel, (key) => (newAdminKey = key), say)
    warnOfSettings(log, loaded)
    warnOfClock(log, app.deps.store.now() - Date.now())
    const places = { directory: directoryOf(config), policies: config.policies }
    const credentials = await demoCredentials(app, places)
    const shown = { ...credentials, link: await signInLink(app), newAdminKey }
    return { app, welcome: banner(config, app, shown) }
  } catch (error) {
    if (newAdminKey !== undefined) showAdminKey(newAdminKey)
    throw error
  }
}

interface Places {
  readonly directory: string
  readonly policies: string
}

async function demoCredentials(app: App, { directory, policies }: Places): Promise<DemoCredentials> {
  const known = existsSync(join(directory, DEMO_FILE)) ? readDemoCredentials(directory) : undefined
  if (known?.url === app.url) return known
  if (app.deps.policies.current() === undefined) {
    await app.close()
    throw new CliFailure(`the policy bundle in \`${policies}\` does not load`, {
      hint: existsSync(policies)
        ? `run \`countersign check ${policies}\` to see why`
        : 'it is not there: `countersign init` writes a starter bundle into ./policies',
    })
  }
  const agent =
    known?.agent_key ?? (await issueKey(app.deps, { tenant: TENANT, kind: 'agent', id: AGENT })).api_key
  const reviewer =
    known?.reviewer_key ??
    (await issueKey(app.deps, { tenant: TENANT, kind: 'reviewer', id: REVIEWER })).api_key
  const credentials = {
    url: app.url,
    tenant: TENANT,
    agent: AGENT,
    agent_key: agent,
    reviewer: REVIEWER,
    reviewer_key: reviewer,
  }
  writeDemoCredentials(directory, credentials)
  return credentials
}

const signInLink = (app: App): Promise<string> => app.loginLink({ tenant: TENANT, id: REVIEWER })

/** A link works once, and a first minute has more than one browser: Enter prints another. The answer ends that. */
function linksOnEnter(app: App): () => void {
  if (!process.stdin.isTTY) return () => undefined
  const lines = createInterface({ input: process.stdin, terminal: false })
  lines.on('line', () => {
    signInLink(app).then(
      (link) => console.log(`  ${link}\n`),
      (error: unknown) => console.error(`  no link now: ${(error as Error).message}`),
    )
  })
  return () => lines.close()
}

interface Shown extends DemoCredentials {
  readonly link: string
  readonly newAdminKey: string | undefined
}

function banner(config: Config, app: App, credentials: Shown): string {
  const snapshot = app.deps.policies.current()
  const tools = snapshot?.tools.size ?? 0
  const rules = snapshot?.ruleCount ?? 0
  const admin =
    credentials.newAdminKey === undefined
      ? []
      : [
          `  Admin key    ${credentials.newAdminKey}`,
          '               shown this once; it issues everybody’s keys',
        ]
  return [
    '',
    `  Countersign is listening on ${app.url}`,
    '',
    `  Sign in as ${credentials.reviewer}, who decides what the demo agent may do:`,
    '',
    `    ${credentials.link}`,
    '',
    `  It works once, within ten minutes.${process.stdin.isTTY ? ' Enter prints another.' : ''}`,
    '',
    `  Policies     ${config.policies}: ${tools} tools, ${rules} rules, revision ${snapshot?.revision.slice(0, 12) ?? 'none'}; edit a file and it reloads`,
    `  State        ${config.store.shown}: every answer is on disk before it is given (fsync)`,
    `  Metrics      ${app.metricsUrl}`,
    ...admin,
    `  Agent key    ${credentials.agent_key}`,
    `               ${credentials.tenant}/${credentials.agent}, for this demo`,
    `  Reviewer     ${credentials.tenant}/${credentials.reviewer}; both keys are in ${join(directoryOf(config), DEMO_FILE)} (mode 0600)`,
    '',
    '  Next, in a second terminal:',
    '',
    '    npm run demo                          an agent whose calls are allowed, rejected, and held for you',
    '',
    '  and when it waits, decide in the console, or in a third:',
    '',
    '    npx countersign review list           what waits, and for whom',
    '    npx countersign review show THREAD    what would run, and why it was held',
    '    npx countersign review approve THREAD',
    '',
    '  Ctrl-C stops the gateway.',
    '',
  ].join('\n')
}

/** The directory of the embedded store. @throws CliFailure for another store */
function directoryOf({ store }: Config): string {
  if (store.kind === 'embedded') return store.path
  throw usage('the demo keeps its keys beside the embedded store', 'for Redis use `countersign serve`')
}
