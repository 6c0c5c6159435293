import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { clientEnvironment, type Config, type LoadedConfig, readReport } from '../../../settings/config.ts'
import { prepareDirectory } from '../../../policy/bundle/directory.ts'
import { lookAtCertificates } from './certificates.ts'
import { lookAtFiles, newestOf } from './files.ts'
import { error, type Finding, ok, warning } from './finding.ts'
import { askGateway } from './gateway.ts'
import { lookAtIssuer } from './issuer.ts'
import { lookAtRetention } from './retention.ts'
import { lookAtCombinations, lookAtConfig, lookAtNode, lookAtPorts } from './settings.ts'
import { clockSanity, lookAtStore } from './store.ts'
import { lookAtTiles } from './tiles.ts'
import { command } from '../../terminal/command.ts'
import { CliFailure, EXIT } from '../../terminal/failure.ts'
import { parse } from '../../terminal/parse.ts'
import { readSettings } from '../read-settings.ts'
import { FLAGS_OF_SERVE } from '../serve.ts'

export const DOCTOR = command({
  name: 'doctor',
  says: `Checks everything that a gateway with this configuration needs: settings, store and durability, tiles, clocks, policies, retention,
    permissions, certificates, ports, the identity provider. The gateway may run or not. Without flags, and with
    COUNTERSIGN_URL set, it examines the gateway at that address, by its own report of its settings. Each finding is one
    line and says what to do. Leaves no record. Exits 3 on an error; warnings alone exit 0.`,
  flags: { json: { says: 'prints the findings as JSON' } },
  settings: FLAGS_OF_SERVE,
})

/** `countersign doctor`: finds problems before they cause damage. */
export async function doctor(args: readonly string[]): Promise<void> {
  const { values, settings } = parse(DOCTOR, args)
  const findings = await examine(settings)
  const wrong = findings.filter(({ level }) => level === 'error').length
  if (wrong > 0) process.exitCode = EXIT.doesNotCheck
  if (values.json) return console.log(JSON.stringify({ ok: wrong === 0, findings }, undefined, 2))
  for (const finding of findings) console.log(lineOf(finding))
  const doubtful = findings.filter(({ level }) => level === 'warning').length
  const errors = wrong === 0 ? 'no errors' : counted(wrong, 'error')
  console.log(wrong + doubtful === 0 ? 'fine' : `${errors}, ${counted(doubtful, 'warning')}`)
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

function lineOf({ level, check, what, todo }: Finding): string {
  return `${level.padEnd(7)}  ${check.padEnd(12)}  ${what}${todo === undefined ? '' : ` -> ${todo}`}`
}

async function examine(settings: readonly string[]): Promise<Finding[]> {
  let loaded: LoadedConfig
  try {
    loaded = readSettings({ settings })
  } catch (cause) {
    if (!(cause instanceof CliFailure)) throw cause
    return [lookAtNode(process.versions), error('config', cause.message, 'a gateway would not start')]
  }
  const { config, files } = loaded
  const { url: named } = clientEnvironment()
  if (named !== undefined && settings.length === 0) return examineNamed(config, named)
  // reads this time before opening the store, because opening updates the time of its file
  const newest = newestOf(filesOf(config))
  const running = await askGateway(config)
  const bundle = await prepareDirectory(config.policies)
  const speaks = running?.speaks === true
  return [
    lookAtNode(process.versions),
    ...lookAtConfig(loaded),
    ...lookAtCombinations(config),
    ...(running?.findings ?? [ok('gateway', 'no gateway runs on this port')]),
    ...(running === undefined ? await lookAtPorts(config) : []),
    ...(await lookAtStore(config, speaks)),
    ...(await lookAtTiles(config, speaks ? running.url : undefined)),
    ...clockSanity(newest, Date.now()),
    lookAtPolicies(config.policies, bundle, running?.revision),
    ...(bundle.ok ? await lookAtRetention(config, bundle.snapshot.retention) : []),
    ...lookAtFiles(config, files),
    ...(await lookAtCertificates(config)),
    ...(await lookAtIssuer(config)),
  ]
}

/** The gateway that COUNTERSIGN_URL names, from its own report of its settings: this shell may have others. */
async function examineNamed(config: Config, url: string): Promise<Finding[]> {
  const running = await askGateway(config, url)
  const missing = error(
    'gateway',
    `no gateway answers at ${url} (COUNTERSIGN_URL)`,
    'start it, or name another',
  )
  if (running?.settings === undefined) return [...(running?.findings ?? [missing]), ONLY_ASKED]
  const reported = readReport(running.settings)
  return [
    lookAtNode(running.settings.node),
    ...lookAtConfig(reported),
    ...lookAtCombinations(reported.config),
    ...running.findings,
    ok(
      'elsewhere',
      'its store, files, ports and certificates are examined on its own machine: run the doctor there with the flags of its `serve`',
    ),
  ]
}

const ONLY_ASKED = warning(
  'config',
  'the settings of the gateway that COUNTERSIGN_URL names are unknown: only the gateway itself was asked',
  'set its COUNTERSIGN_ADMIN_KEY, or run the doctor on its machine with the flags of its `serve`',
)

/** Files whose newest change is certainly in the past. */
function filesOf(config: Config): string[] {
  const data = config.store.kind === 'embedded' ? [join(config.store.path, 'store.mdb')] : []
  return [fileURLToPath(import.meta.url), config.policies, ...data]
}

/** Compares the bundle on disk with the bundle in force. */
function lookAtPolicies(
  directory: string,
  bundle: Awaited<ReturnType<typeof prepareDirectory>>,
  inForce: string | undefined,
): Finding {
  const check = `\`countersign check ${directory}\` names the places`
  if (!bundle.ok) {
    const errors = bundle.diagnostics.filter(({ severity }) => severity === 'error').length
    return error('policies', `${directory} would not load: ${counted(errors, 'error')}`, check)
  }
  const { snapshot } = bundle
  const said = `${directory}: ${snapshot.tools.size} tools, ${snapshot.ruleCount} rules, revision ${snapshot.revision.slice(0, 12)}`
  if (inForce !== undefined && inForce !== snapshot.revision)
    return warning(
      'policies',
      `${said}, but ${inForce.slice(0, 12)} is in force`,
      'wait for the next load, or check which directory the gateway uses',
    )
  if (snapshot.diagnostics.length > 0)
    return warning('policies', `${said}: ${counted(snapshot.diagnostics.length, 'warning')}`, check)
  return ok('policies', said)
}
