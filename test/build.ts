import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { spawnSync } from './sync-child.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Vitest's global setup: tests that start child processes need dist/, so it is built when it is older than its sources. */
export function setup(): void {
  const folders = ['src', 'packages/sdk/src', 'policies', 'examples/policies']
  const sources = folders.map((folder) => newest(join(root, folder)))
  if (Math.max(...sources) <= newest(join(root, 'dist'))) return
  const { status } = spawnSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' })
  if (status !== 0) throw new Error('the build failed')
}

/** The time of the latest change below a folder, 0 when there is none. */
function newest(folder: string): number {
  try {
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    return Math.max(0, ...files.map((file) => statSync(join(folder, file)).mtimeMs))
  } catch {
    return 0
  }
}
