import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { startApp } from '../src/app.ts'
import { loadConfig } from '../src/config.ts'
import type { BundleChild } from '../src/policy/directory/start.ts'
import { createLog } from '../src/telemetry/log.ts'

it('a gateway that ends does not wait for the load that is under way', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-app-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const { config } = loadConfig({
    args: ['--policies', directory, '--port', '0', '--metrics-port', '0'],
    parseYaml: () => undefined,
  })
  let asked = (): void => undefined
  const loading = new Promise<void>((resolve) => (asked = resolve))
  let die: (how: string) => void = () => undefined
  const ended = new Promise<string>((resolve) => (die = resolve))
  /** It never answers. */
  const bundleChild: BundleChild = {
    pid: undefined,
    ended,
    onPart: () => undefined,
    next: () => asked(),
    end: () => {
      die('SIGKILL')
      return ended.then(() => undefined)
    },
  }
  const starting = startApp(config, {
    log: createLog('silent'),
    bundleChild,
    openStore: () => loading.then(() => Promise.reject(new Error('there is no store'))),
  })
  await expect(starting).rejects.toThrow('there is no store')
  expect(await ended).toBe('SIGKILL')
})
