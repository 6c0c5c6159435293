/* Runs every benchmark, one after another. The first comment of each benchmark contains the command to run it alone. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

for (const name of [
  'http',
  'collections',
  'overload',
  'waits',
  'policy',
  'reload',
  'memory',
  'disk',
  'start',
  'store',
  'check',
  'diff',
  'verify',
  'redis',
  'webhooks',
  'metrics',
  'console',
]) {
  console.log(`\n## ${name}\n`)
  const script = fileURLToPath(new URL(`./${name}.mjs`, import.meta.url))
  const { status } = spawnSync(process.execPath, [script], { stdio: 'inherit' })
  if (status !== 0) process.exitCode = 1
}
