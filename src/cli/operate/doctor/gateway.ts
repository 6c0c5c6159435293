import { addressToAsk, hostInUrl } from '../../../app/listen-address.ts'
import type { SettingsView } from '../../../contract/admin.ts'
import { defined } from '../../../contract/defined.ts'
import { differenceOf } from '../../../gateway/jobs/instances.ts'
import { type Config, readReport } from '../../../settings/config.ts'
import { createApi } from '../../client/api-client.ts'
import type { CliFailure } from '../../terminal/failure.ts'
import { error, type Finding, ok, warning } from './finding.ts'
import { dateFinding } from './store.ts'

const ASK_MS = 3_000
const SEE_LOG = 'its log has the reason'
const NEARLY_FULL = /\bnearly full\b/
const MAKE_ROOM = 'free space on the disk of the store'

/** The program that answers at this configuration's address. */
export interface RunningGateway {
  readonly findings: readonly Finding[]
  /** True when the program is a gateway. A gateway reports on its store itself. */
  readonly speaks: boolean
  /** Its address. */
  readonly url?: string
  /** Its own report, when the admin key may read it. */
  readonly settings?: SettingsView
  /** The bundle revision in force. */
  readonly revision?: string
}

interface Readiness {
  readonly ready: boolean
  readonly store: string
  readonly policies: string
}

/**
 * Asks the gateway, at the named address or at that of this configuration. Undefined when no program answers. In that
 * case, the check of the ports finds other programs that use them.
 */
export async function askGateway(config: Config, named?: string): Promise<RunningGateway | undefined> {
  if (named === undefined && config.port === 0) return undefined
  const url = named ?? `http://${hostInUrl(addressToAsk(config.host))}:${config.port}`
  const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(ASK_MS) }).catch(
    (cause: unknown) => cause,
  )
  if (!(response instanceof Response))
    return (response as Error).name === 'TimeoutError' ? silent(url) : undefined
  const readiness = (await response.json().catch(() => undefined)) as Partial<Readiness> | undefined
  if (typeof readiness?.ready !== 'boolean' || typeof readiness.store !== 'string')
    return {
      findings: [error('gateway', `another program answers at ${url}`, 'end it, or choose another port')],
      speaks: false,
    }
  const date = Date.parse(response.headers.get('date') ?? '')
  const clock = Number.isNaN(date) ? [] : [dateFinding('the gateway', date, Date.now())]
  const { findings, revision, settings } = await askAsAdmin(config, url)
  return {
    findings: [readinessFinding(url, readiness as Readiness), ...clock, ...findings],
    speaks: true,
    url,
    ...defined({ revision, settings }),
  }
}

function readinessFinding(url: string, { ready, store, policies }: Readiness): Finding {
  const said = `store: ${store}; policies: ${policies}`
  if (!ready) return error('gateway', `runs at ${url} and is not ready: ${said}`, SEE_LOG)
  if (NEARLY_FULL.test(store)) return warning('gateway', `runs at ${url}: store: ${store}`, MAKE_ROOM)
  if (store !== 'ready') return error('gateway', `runs at ${url}: store: ${store}`, SEE_LOG)
  return policies === 'ready'
    ? ok('gateway', `runs at ${url} and is ready`)
    : warning('gateway', `runs at ${url}: ${said}`, 'run `countersign check` on the policies')
}

async function askAsAdmin(config: Config, url: string): Promise<Omit<RunningGateway, 'speaks'>> {
  if (config.adminKey === undefined)
    return {
      findings: [
        warning(
          'gateway',
          'this configuration has no admin key: policies in force and settings were not checked',
          'set COUNTERSIGN_ADMIN_KEY',
        ),
      ],
    }
  try {
    const api = createApi({ url, key: config.adminKey })
    const { in_force, revision } = await api.show_policies()
    const { instances } = await api.list_instances()
    // without a report, the settings of this command count
    const settings = await api.show_settings().catch(() => undefined)
    const { policyRollout } = settings === undefined ? config : readReport(settings).config
    return {
      findings: [
        ...differenceFindings(instances, policyRollout, Date.now()),
        ...unreadableFindings(instances),
      ],
      ...defined({ settings, revision: in_force ? revision : undefined }),
    }
  } catch (cause) {
    return { findings: [refusedFinding(cause as CliFailure)] }
  }
}

/** Gateways that cannot read the tiles of records that left the store. */
const unreadableFindings = (instances: Parameters<typeof differenceOf>[0]): Finding[] =>
  instances.flatMap(({ host, tiles_unreadable }) =>
    tiles_unreadable === undefined
      ? []
      : [error('tiles', `${host}: ${tiles_unreadable}`, 'bring the place back, or copy its files there')],
  )

/** An error once the gateways have had different bundles for longer than a rollout, a warning before. */
function differenceFindings(
  instances: Parameters<typeof differenceOf>[0],
  rolloutMs: number,
  now: number,
): Finding[] {
  const difference = differenceOf(instances)
  if (difference === undefined) return []
  const hosts = difference.odd.map(({ host }) => host).join(', ')
  const found = now - difference.since >= rolloutMs ? error : warning
  return [
    found(
      'gateway',
      `the gateways of this deployment decide by different policies since ${new Date(difference.since).toISOString()}: ${hosts} ${difference.odd.length === 1 ? 'has' : 'have'} another bundle`,
      '`countersign policies status` lists them; update the policies of the odd one, or stop it',
    ),
  ]
}

function refusedFinding({ code, message }: CliFailure): Finding {
  if (code === 'unauthenticated')
    return error(
      'gateway',
      `the gateway does not accept the admin key of this configuration: ${message}`,
      'check the configuration with which it was started',
    )
  return warning(
    'gateway',
    `the gateway did not report the policies in force: ${message}`,
    'its log has the reason',
  )
}

const silent = (url: string): RunningGateway => ({
  speaks: false,
  findings: [
    error(
      'gateway',
      `no answer at ${url} within ${ASK_MS / 1_000} s`,
      'look at the process that listens there, or at what drops the packets',
    ),
  ],
})
