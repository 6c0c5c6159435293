import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Types of files that contain our prose. `OUTSIDE` excludes data, generated files and the examples of the rules. */
const SCOPE = /\.(md|m?js|tsx?|py|ya?ml)$/
const OUTSIDE =
  /^(test\/data|test\/.*\/data|schemas|grafana\/dashboards|package-lock|\.ci|prose\/rules\.mjs|deploy\/.*\.json|deploy\/kubernetes\/policies\.yaml)/

/** Returns the files with prose in these folders or files; `.` is the repository. */
export function filesUnder(places) {
  const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
  const isIn = (path) =>
    places.some((place) => place === '.' || path === place || path.startsWith(`${place}/`))
  return tracked.split('\n').filter((path) => SCOPE.test(path) && !OUTSIDE.test(path) && isIn(path))
}

/** Text of a file; empty for a file that was deleted in the work tree. */
export function read(path) {
  try {
    return readFileSync(join(root, path), 'utf8')
  } catch {
    return ''
  }
}
