import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Makes a directory, and those above it that are missing; one that is there is left as it is. For `mkdirSync` with `recursive`, ENOENT always means that
 * a parent is missing: below one in which nothing can be made and which says so by ENOENT (an automounter's, /proc) it goes round for ever, without a
 * turn for timers or signals.
 *
 * @throws NodeJS.ErrnoException; EEXIST for what is there and no directory, ENOENT for a link that leads nowhere
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
