import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { spawnSync } from './sync-child.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Vitest's global setup. Tests that start child processes need dist/, so the setup builds it when the compiled files
 * or the bundles are older than their sources.
 */
export function setup(): void {
  const folders = ['src', 'packages/sdk/src', 'policies', 'examples/policies']
  const source = Math.max(...folders.map((folder) => newest(join(root, folder))))
  if (['dist/tsconfig.tsbuildinfo', 'dist/bin/main.js'].every((file) => source <= timeOf(join(root, file))))
    return
  const { status } = spawnSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' })
  if (status !== 0) throw new Error('the build failed')
}

const timeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** The time of the latest change below a folder; 0 for a folder that is missing or empty. */
function newest(folder: string): number {
  try {
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    return Math.max(0, ...files.map((file) => statSync(join(folder, file)).mtimeMs))
  } catch {
    return 0
  }
}
