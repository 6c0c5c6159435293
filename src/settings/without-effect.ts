import { type Config, type Counterpart, isEmbedded, type Setting, SETTINGS } from './settings.ts'

/*
 * Settings that were made and say nothing beside the others: replicas that are to confirm what lies in a file on this machine, a tenant for a sign-in that there
 * is not. Mostly what they are for was forgotten, and then each gateway of several has a store of its own.
 */

export interface IdleSetting {
  /** As it was written: a flag, a variable, or a key and its file. */
  readonly name: string
  /** What it is for, and what there is not. */
  readonly counts: string
}

const COUNTS: Readonly<Record<Counterpart, string>> = {
  redis: 'with a store on Redis',
  embedded: 'with the embedded store (file:<directory>)',
  oidc: 'with an identity provider (oidc_issuer)',
}

/** One that says what holds anyway is none: `store_replicas: 0` is true of a file, too. */
export function idleIn(config: Config, nameOf: (setting: Setting) => string): IdleSetting[] {
  const there = counterpartsOf(config)
  return SETTINGS.flatMap((setting) => {
    const { key, countsWith } = setting
    if (countsWith === undefined || there.has(countsWith) || config[key] === setting.default) return []
    return [{ name: nameOf(setting), counts: COUNTS[countsWith] }]
  })
}

function counterpartsOf(config: Config): Set<Counterpart> {
  const there = new Set<Counterpart>([isEmbedded(config) ? 'embedded' : 'redis'])
  if (config.oidcIssuer !== undefined) there.add('oidc')
  return there
}
