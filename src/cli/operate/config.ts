import { describeConfig } from '../../settings/config.ts'
import { command } from '../terminal/command.ts'
import { parse } from '../terminal/parse.ts'
import { readSettings } from './read-settings.ts'
import { FLAGS_OF_SERVE } from './serve.ts'

export const CONFIG = command({
  name: 'config',
  says: 'Prints every setting that `serve` would use with the same flags, and the origin of each value.',
  flags: {},
  settings: FLAGS_OF_SERVE,
})

/** `countersign config`: prints the settings of `serve` with the same flags, and the source of each. */
export async function config(args: readonly string[]): Promise<void> {
  const rows = describeConfig(readSettings(parse(CONFIG, args)))
  const width = Math.max(...rows.map(({ name }) => name.length))
  const values = Math.max(...rows.map(({ value }) => value.length))
  for (const { name, value, origin } of rows) {
    console.log(`${name.padEnd(width)}  ${value.padEnd(values)}  ${origin}`)
  }
}
