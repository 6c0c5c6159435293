import { defineConfig } from 'vitest/config'
import { PlainSummary } from './test/reporter.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/build.ts'],
    reporters: ['default', new PlainSummary()],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
})
