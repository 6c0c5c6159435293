import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vite'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { OverdueReporter } from './test/overdue/overdue.ts'
import { DearestFiles, PlainSummary } from './test/reporter.ts'
import { IS_LONG, IS_SOAK } from './test/runs.ts'
import { filesMarked, FirstThingsFirst, type Mark } from './test/marks.ts'

/**
 * Workers. Files run in parallel, because no test may count on time. Two cores run three files, because many files
 * wait. Browsers and clusters need the memory.
 */
const WORKERS = Math.min(4, Math.max(3, availableParallelism()))

/** The limit of one test, ms: for a test that never ends, not for a slow one. */
const PATIENCE_MS = 180_000
/** The limit of a whole file, ms. Most files take less than a minute; a long soak may take hours. */
const FILE_MS = IS_LONG ? 6 * 3_600_000 : 15 * 60_000

/** The SDK's sources in place of its build: tests import some of its files by path, and an error has one class. */
const sdk = fileURLToPath(new URL('packages/sdk/src', import.meta.url))
const alias = [
  { find: /^@countersign\/sdk$/, replacement: `${sdk}/index.ts` },
  { find: /^@countersign\/sdk\/runtime$/, replacement: `${sdk}/runtime.ts` },
  { find: /^@countersign\/sdk\/testing$/, replacement: `${sdk}/testing/index.ts` },
  { find: /^@countersign\/sdk\/([\w-]+)$/, replacement: `${sdk}/adapters/$1.ts` },
]

/** A folder with other versions of the agent frameworks (test/sdk/adapters/versions.test.ts). */
const elsewhere = process.env['COUNTERSIGN_TEST_FRAMEWORKS']
const otherVersions: Plugin = {
  name: 'other-versions',
  enforce: 'pre',
  resolveId(source) {
    if (elsewhere === undefined || !/^(?:ai|langchain|zod|@langchain|@openai)(?:\/|$)/.test(source))
      return null
    return this.resolve(source, `${elsewhere}/index.js`, { skipSelf: true })
  },
}

export default defineConfig({
  plugins: [otherVersions],
  resolve: { alias },
  test: {
    globalSetup: ['test/build.ts'],
    setupFiles: ['test/processor.ts', 'test/seed.ts'],
    // files of one worker share what they import: to load it for each anew took a third of the time
    isolate: false,
    reporters: ['default', new PlainSummary(), new DearestFiles(), new OverdueReporter({ fileMs: FILE_MS })],
    maxWorkers: WORKERS,
    sequence: { sequencer: FirstThingsFirst },
    testTimeout: PATIENCE_MS,
    hookTimeout: PATIENCE_MS,
    expect: { poll: { timeout: PATIENCE_MS / 3 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'embedded',
          include: ['test/**/*.test.ts'],
          exclude: IS_SOAK ? [] : filesMarked('@soak'),
        },
      },
      onRedis('redis', '@store each'),
      onRedis('redis-soak', '@store each, in the soak'),
    ],
  },
})

/** A project that runs test files with this mark on Redis. */
function onRedis(name: string, mark: Mark): TestProjectInlineConfiguration {
  const env = { COUNTERSIGN_TEST_STORE: 'redis' }
  return {
    extends: true,
    test: { name, include: filesMarked(mark), env, setupFiles: ['test/end-store.ts'] },
  }
}
