import { describeConfig } from '../../settings/config.ts'
import { readSettings } from './serve.ts'

export const CONFIG_USAGE = `countersign config [the flags of countersign serve]

  Prints every setting that \`serve\` would use with the same flags, and the origin of each value.`

/** `countersign config`: prints the settings of `serve` with the same flags, and the source of each. */
export async function config(args: readonly string[]): Promise<void> {
  const rows = describeConfig(readSettings(args, CONFIG_USAGE))
  const width = Math.max(...rows.map(({ name }) => name.length))
  const values = Math.max(...rows.map(({ value }) => value.length))
  for (const { name, value, origin } of rows) {
    console.log(`${name.padEnd(width)}  ${value.padEnd(values)}  ${origin}`)
  }
}
