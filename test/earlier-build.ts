import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'countersign-tests/builds')

/** The version of 24 November 2026, the first with the current format of the store. */
export const FIRST_OF_FORMAT_1 = 'f345105eff00'

/**
 * Builds an earlier version from its commit, and keeps the build for later runs.
 *
 * @returns its program; undefined when this clone lacks the commit
 */
export async function earlierBuild(commit: string): Promise<string | undefined> {
  const place = join(CACHE, commit)
  const program = join(place, 'dist/bin/main.js')
  if (existsSync(program)) return program
  const known = await run('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: ROOT }).catch(
    () => undefined,
  )
  if (known === undefined) return undefined
  mkdirSync(CACHE, { recursive: true })
  const making = mkdtempSync(join(CACHE, 'making-'))
  try {
    const archive = join(making, 'source.tar')
    await run('git', ['archive', '--output', archive, commit], { cwd: ROOT })
    await run('tar', ['-xf', archive, '-C', making])
    await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: making })
    await run('npm', ['run', 'build'], { cwd: making })
    rmSync(archive)
    // another run may have been faster
    if (!existsSync(place)) renameSync(making, place)
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
  return program
}
