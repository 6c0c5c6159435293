/*
 * Runs every benchmark, one after another. The first comment of each benchmark contains the command to run it alone.
 * With `--against <folder of another checkout, built>`, also compares this build with the other one.
 */
import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { fileURLToPath } from 'node:url'
import { LANES } from './lanes.mjs'

const { against } = parseArgs({ options: { against: { type: 'string' } } }).values

const compared = against === undefined ? [] : [['compare', against]]
for (const [name, ...args] of [...compared, ...LANES.map((one) => [one])]) {
  console.log(`\n## ${name}\n`)
  const script = fileURLToPath(new URL(`./${name}.mjs`, import.meta.url))
  const { status } = spawnSync(process.execPath, [script, ...args], { stdio: 'inherit' })
  if (status !== 0) process.exitCode = 1
}
