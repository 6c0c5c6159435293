import { defineConfig } from 'vitest/config'
import { OverdueReporter } from './overdue.ts'

/** For a file that is named on the command line. */
export default defineConfig({
  test: {
    include: ['*.ts'],
    reporters: ['default', new OverdueReporter({ fileMs: 5_000 })],
    testTimeout: 10_000,
  },
})
