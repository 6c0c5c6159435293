import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Creates a directory and its missing parents. An existing directory is unchanged. `mkdirSync` with `recursive` always
 * treats ENOENT as a missing parent. Below a directory that refuses entries with ENOENT (that of an automounter, or
 * /proc), `mkdirSync` loops forever and blocks timers and signals.
 *
 * @throws NodeJS.ErrnoException; EEXIST for an existing file, ENOENT for a dangling link
 */
export function makeDirectory(path: string, mode = 0o777): void {
  const parent = dirname(resolve(path))
  if (!existsSync(parent)) makeDirectory(parent, mode)
  try {
    mkdirSync(path, { mode })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST' || !statSync(path).isDirectory()) throw cause
  }
}
