import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { OverdueReporter } from './test/overdue/overdue.ts'
import { DearestFiles, PlainSummary } from './test/reporter.ts'

/** Tests of commits, of reads and of waits run on each store. */
const ON_EACH_STORE = ['test/http/**/*.test.ts', 'test/gateway/**/*.test.ts', 'test/sdk/call-id.test.ts']
/** Tests of decisions that precede the store run on one store. */
const ON_ONE_STORE = [
  'auth',
  'canary',
  'console',
  'gate',
  'hostile-*',
  'load-limit',
  'oidc',
  'pipelining',
  'rates',
  'site',
  'slow',
  'tracing',
  'traffic',
  'waits',
].map((name) => `test/http/${name}.test.ts`)

/**
 * Workers. Files run in parallel, because no test may count on time. Two cores run three files, because many files
 * wait. Browsers and clusters need the memory.
 */
const WORKERS = Math.min(4, Math.max(3, availableParallelism()))

/** The limit of one test, ms: for a test that never ends, not for a slow one. */
const PATIENCE_MS = 180_000
/** The limit of a whole file, ms. Most files take less than a minute; a soak may take hours. */
const FILE_MS = process.env['COUNTERSIGN_SOAK'] === undefined ? 15 * 60_000 : 6 * 3_600_000

/** The SDK's sources in place of its build: tests import some of its files by path, and an error has one class. */
const sdk = fileURLToPath(new URL('packages/sdk/src', import.meta.url))
const alias = [
  { find: /^@countersign\/sdk$/, replacement: `${sdk}/index.ts` },
  { find: /^@countersign\/sdk\/runtime$/, replacement: `${sdk}/runtime.ts` },
  { find: /^@countersign\/sdk\/([\w-]+)$/, replacement: `${sdk}/adapters/$1.ts` },
]

export default defineConfig({
  resolve: { alias },
  test: {
    globalSetup: ['test/build.ts'],
    setupFiles: ['test/processor.ts', 'test/seed.ts'],
    // files of one worker share what they import: to load it for each anew took a third of the time
    isolate: false,
    reporters: ['default', new PlainSummary(), new DearestFiles(), new OverdueReporter({ fileMs: FILE_MS })],
    maxWorkers: WORKERS,
    testTimeout: PATIENCE_MS,
    hookTimeout: PATIENCE_MS,
    expect: { poll: { timeout: PATIENCE_MS / 3 } },
    projects: [
      { extends: true, test: { name: 'embedded', include: ['test/**/*.test.ts'] } },
      {
        extends: true,
        test: {
          name: 'redis',
          include: ON_EACH_STORE,
          exclude: ON_ONE_STORE,
          env: { COUNTERSIGN_TEST_STORE: 'redis' },
          setupFiles: ['test/end-store.ts'],
        },
      },
    ],
  },
})
