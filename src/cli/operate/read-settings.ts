import { createRequire } from 'node:module'
import type * as Yaml from 'yaml'
import { ConfigError, loadConfig, type LoadedConfig } from '../../settings/config.ts'
import { CliFailure, EXIT, plainly } from '../terminal/failure.ts'
import type { Asked } from '../terminal/parse.ts'

/** Reads the settings. @throws CliFailure that names the setting, its origin and its form */
export function readSettings({ settings: args }: Pick<Asked, 'settings'>): LoadedConfig {
  try {
    return loadConfig({ args, parseYaml })
  } catch (error) {
    if (error instanceof ConfigError)
      throw new CliFailure(plainly(error.message), { exit: EXIT.usage, cause: error })
    throw error
  }
}

/** Parses YAML; loads the parser only when needed. */
function parseYaml(text: string): unknown {
  const { parse } = createRequire(import.meta.url)('yaml') as typeof Yaml
  return parse(text) as unknown
}
