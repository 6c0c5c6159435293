import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The first line of a test file can mark its runs. `// @store` marks a file that runs on Redis as well, and must
 * then open a store (test/end-store.ts). A file without a mark runs in the check, on the embedded store or on none.
 *
 *     // @store each               what it proves may differ by store: the check runs it on Redis, too
 *     // @store each, in the soak  it reaches the store through what other files prove: only the soak runs it on Redis
 *     // @soak                     only the soak runs it: it measures growth or memory
 *     // @first                    it waits for minutes: a run begins with it, and does not wait for it at its end
 */
export type Mark = '@store each' | '@store each, in the soak' | '@soak' | '@first'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The files with this mark, from the root of the repository. */
export function filesMarked(mark: Mark): string[] {
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => `test/${file.replaceAll('\\', '/')}`)
    .filter((file) => readFileSync(join(root, file), 'utf8').startsWith(`// ${mark}\n`))
    .sort()
}

/** Begins with the files that are marked so. */
export class FirstThingsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const first = new Set(filesMarked('@first').map((file) => join(root, file)))
    const isFirst = ({ moduleId }: TestSpecification): boolean => first.has(moduleId)
    const sorted = await super.sort(files)
    return [...sorted.filter(isFirst), ...sorted.filter((file) => !isFirst(file))]
  }
}
