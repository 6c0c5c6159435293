import { defineConfig } from 'vitest/config'
import { PlainSummary } from './test/reporter.ts'

/** Everything that speaks to a whole gateway runs on each store. */
const ON_EACH_STORE = ['test/http/**/*.test.ts', 'test/gateway/**/*.test.ts', 'test/sdk/call-id.test.ts']

/** Kills, browsers, servers of others, and how long an event loop stood still: what else the machine does would eat up their deadlines. */
const ALONE = [
  'test/{backup,console,deploy,fault,outbound,store,telemetry,webhooks}/**/*.test.ts',
  'test/{app,old-generation,package}.test.ts',
  'test/cli/{doctor,store}.test.ts',
  'test/mcp/process.test.ts',
  'test/policy/hostile.test.ts',
  'test/policy/directory/**/*.test.ts',
  'test/sdk/guard.test.ts',
]
/** The same on each store. */
const ALONE_ON_EACH_STORE = ['test/http/{gate,load-limit,pipelining,slow,stream,tracing,traffic}.test.ts']

const onRedis = { env: { COUNTERSIGN_TEST_STORE: 'redis' } }
/** Two files at a time, then those that run alone. */
const together = { maxWorkers: 2, exclude: [...ALONE, ...ALONE_ON_EACH_STORE], sequence: { groupOrder: 1 } }
const alone = { maxWorkers: 1, sequence: { groupOrder: 2 } }

export default defineConfig({
  test: {
    globalSetup: ['test/build.ts'],
    reporters: ['default', new PlainSummary()],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    projects: [
      { extends: true, test: { name: 'embedded', include: ['test/**/*.test.ts'], ...together } },
      { extends: true, test: { name: 'redis', include: ON_EACH_STORE, ...together, ...onRedis } },
      { extends: true, test: { name: 'alone', include: [...ALONE, ...ALONE_ON_EACH_STORE], ...alone } },
      {
        extends: true,
        test: { name: 'alone-redis', include: ALONE_ON_EACH_STORE, ...alone, ...onRedis },
      },
    ],
  },
})
