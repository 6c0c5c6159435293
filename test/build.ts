import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Worker threads need JavaScript: the sources are built once before the tests run. */
export function setup(): void {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const compiler = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url))
  const built = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.json'], {
    cwd: root,
    encoding: 'utf8',
  })
  if (built.status !== 0) throw new Error(`the build failed:\n${built.stdout}${built.stderr}`)
}
