import { existsSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { spawnSync } from '../sync-child.ts'

/** Programs stay here between runs. */
const KEPT = join(homedir(), '.cache', 'countersign-tests', 'go')
const INSTALL_MS = 600_000

/**
 * The path of a Go program at this version, such as `github.com/versity/versitygw/cmd/versitygw@v1.8.0`. Returns
 * undefined where Go, or its module proxy, is missing, and says so in one line.
 */
export function goProgram(named: string): string | undefined {
  const [module = '', version = ''] = named.split('@')
  const folder = join(KEPT, version)
  const path = join(folder, basename(module))
  if (existsSync(path)) return path
  mkdirSync(folder, { recursive: true })
  const env = { ...process.env, GOBIN: folder, PATH: `${process.env['PATH'] ?? ''}:/usr/local/go/bin` }
  // several test files may ask at the same time
  const locked = [join(KEPT, 'lock'), 'go', 'install', named]
  const { status, stderr, error } = spawnSync('flock', locked, { env, timeout: INSTALL_MS })
  if (status === 0) return path
  const why = error?.message ?? (stderr.trim().split('\n').at(-1) || 'Go is missing')
  console.warn(`tests with ${basename(module)} are skipped: ${why}`)
  return undefined
}
