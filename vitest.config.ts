import { defineConfig } from 'vitest/config'
import { PlainSummary } from './test/reporter.ts'

/** Everything that speaks to a whole gateway runs on each store. */
const ON_EACH_STORE = ['test/http/**/*.test.ts', 'test/gateway/**/*.test.ts', 'test/sdk/**/*.test.ts']

export default defineConfig({
  test: {
    globalSetup: ['test/build.ts'],
    reporters: ['default', new PlainSummary()],
    // one file at a time, however many cores there are: real gateways, stores, browsers and kills meet deadlines that other tests would eat up
    maxWorkers: 1,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    projects: [
      { extends: true, test: { name: 'embedded', include: ['test/**/*.test.ts'] } },
      {
        extends: true,
        test: { name: 'redis', include: ON_EACH_STORE, env: { COUNTERSIGN_TEST_STORE: 'redis' } },
      },
    ],
  },
})
