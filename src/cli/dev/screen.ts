import { join } from 'node:path'
import type { App } from '../../app.ts'
import type { Config } from '../../settings/config.ts'
import { DEMO_FILE } from '../client/credentials.ts'
import { visible } from '../terminal/visible-text.ts'

export interface Shown {
  /** The directory of the store's data and the file of keys. */
  readonly data: string
  /** The link that signs the reviewer in. Absent without a reviewer. */
  readonly link: string | undefined
  readonly reviewer: string | undefined
  readonly agent: string | undefined
  /** Absent when an earlier start showed the key. */
  readonly newAdminKey: string | undefined
  /** The call in three languages, and its tool. Absent when no test of the bundle describes a call. */
  readonly call: { readonly tool: string; readonly text: string } | undefined
  /** True when Enter prints another link. */
  readonly takesEnter: boolean
}

/** The screen after the start: addresses, the next commands, the data directory, and one call. */
export function screen(config: Config, app: Pick<App, 'url' | 'metricsUrl' | 'deps'>, shown: Shown): string {
  return visible(
    [
      '',
      `  Countersign runs at ${app.url}`,
      '',
      ...row('Console', ...consoleLines(shown)),
      ...row('Policies', policiesLine(config, app)),
      ...row('Data', `${shown.data}: every answer is on disk before it is sent`),
      ...row('Keys', `${join(shown.data, DEMO_FILE)}, which only you can read`),
      ...(shown.newAdminKey === undefined
        ? []
        : row('Admin key', shown.newAdminKey, 'Shown once. It issues and revokes all keys.')),
      ...row('Metrics', app.metricsUrl ?? 'off'),
      ...row('Next', ...nextLines(shown)),
      '',
      ...callLines(shown),
      '  Ctrl-C stops the gateway.',
      '',
    ].join('\n'),
  )
}

const row = (name: string, first: string, ...more: readonly string[]): string[] => [
  `  ${name.padEnd(10)} ${first}`,
  ...more.map((line) => `${' '.repeat(13)}${line}`),
]

function consoleLines({ link, reviewer, takesEnter }: Shown): [string, ...string[]] {
  if (link === undefined) return ['no reviewer yet: list one under `reviewers:` in directory.yaml']
  const another = takesEnter ? ' Enter prints another.' : ''
  return [link, `Signs you in as ${reviewer ?? ''}, once, within ten minutes.${another}`]
}

function policiesLine({ policies }: Config, { deps }: Pick<App, 'deps'>): string {
  const snapshot = deps.policies.current()
  const counts = `${snapshot?.tools.size ?? 0} tools, ${snapshot?.ruleCount ?? 0} rules`
  return `${policies}: ${counts}. Edit a file and it reloads.`
}

const ADD_TOOL = `npx countersign add tool orders.cancel --example '{"order_id":"o_17"}'`

function nextLines({ agent, call }: Shown): [string, ...string[]] {
  if (agent !== 'demo-agent' || call === undefined) return [ADD_TOOL]
  return ['npx countersign dev --demo   watch an agent work, and decide in the console', `${ADD_TOOL}`]
}

function callLines({ agent, call }: Shown): readonly string[] {
  if (agent === undefined || call === undefined) return []
  return [
    `  A call of ${agent} to ${call.tool}. Paste one of these into another terminal:`,
    '',
    call.text,
    '',
  ]
}
