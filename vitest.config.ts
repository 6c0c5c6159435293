import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { OverdueReporter } from './test/overdue/overdue.ts'
import { PlainSummary } from './test/reporter.ts'

/** What commits, reads commits or waits for them runs on each store. */
const ON_EACH_STORE = ['test/http/**/*.test.ts', 'test/gateway/**/*.test.ts', 'test/sdk/call-id.test.ts']
/** What is decided before a store is asked: one store is enough. */
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

/** No test may count on time, so files may run beside each other. Three on two cores, because many wait; browsers and clusters take their memory. */
const WORKERS = Math.min(4, Math.max(3, availableParallelism()))

/** Of what never ends, not of what is slow. */
const PATIENCE_MS = 180_000
/** Of a whole file, where the longest takes a minute. A soak takes what it takes. */
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
    setupFiles: ['test/seed.ts'],
    // files of one worker share what they import: to load it for each anew took a third of the time
    isolate: false,
    reporters: ['default', new PlainSummary(), new OverdueReporter({ fileMs: FILE_MS })],
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
