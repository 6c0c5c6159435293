import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { startApp } from '../../src/app.ts'
import { loadConfig } from '../../src/settings/config.ts'
import type { BundleChild } from '../../src/policy/bundle/start.ts'
import { createLog } from '../../src/telemetry/log/log.ts'
import { freePort } from '../ports.ts'

it('a gateway that ends does not wait for the load in progress', async () => {
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

it('closes its listener when a start fails after it began to listen', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-app-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const port = await freePort()
  const { config } = loadConfig({
    args: ['--policies', directory, '--store', `file:${directory}-data`, '--port', String(port)],
    env: { COUNTERSIGN_METRICS_PORT: '0', COUNTERSIGN_PUBLIC_URL: 'http://countersign.example' },
    parseYaml: () => undefined,
  })
  onTestFinished(() => rmSync(`${directory}-data`, { recursive: true, force: true }))
  const log = createLog('silent')
  // the last thing that a start does is to warn of an address without https
  vi.spyOn(log, 'warn').mockImplementation(() => {
    throw new Error('no more')
  })
  const loadPolicies = () => Promise.resolve({ ok: false as const, diagnostics: [] })
  await expect(startApp(config, { log, loadPolicies, onNewAdminKey: () => undefined })).rejects.toThrow(
    'no more',
  )
  await expect(fetch(`http://127.0.0.1:${port}/livez`)).rejects.toThrow('fetch failed')
})
