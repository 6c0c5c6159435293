import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Which test files run on Redis as well. The first line of a file says so:
 *
 *     // @store each               what it proves may differ by store: the check runs it on Redis, too
 *     // @store each, in the soak  it reaches the store through what other files prove: only the soak runs it on Redis
 *
 * A file without the line runs on the embedded store alone, or needs no store. A file with it must open one
 * (test/end-store.ts).
 */
export type Mark = 'each' | 'each, in the soak'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The files with this mark, from the root of the repository. */
export function filesMarked(mark: Mark): string[] {
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => `test/${file.replaceAll('\\', '/')}`)
    .filter((file) => readFileSync(join(root, file), 'utf8').startsWith(`// @store ${mark}\n`))
    .sort()
}
