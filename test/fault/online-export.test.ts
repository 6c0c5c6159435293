import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCli } from '../cli/run.ts'
import {
  evidenceAfter,
  inDirectory,
  SMALL_CENTS,
  startGateway,
  transfer,
  TRANSFER_PATH,
  verdictOn,
  withGateway,
} from './gateway.ts'
import { until } from '../until.ts'

/** `store export` and `store check` beside a running gateway on the embedded store, under load. */

describe('an embedded store that a gateway uses', () => {
  it('is exported and checked at one moment, while the gateway decides; the backup restores and verifies', async () => {
    await inDirectory(async (directory) => {
      const gateway = await startGateway({ directory })
      const key = await gateway.key('agent', 'demo-agent')
      let loading = true
      let allowed = 0
      const load = async (name: string): Promise<void> => {
        for (let i = 0; loading; i++) {
          const call = {
            method: 'POST',
            path: TRANSFER_PATH(`${name}-${i}`),
            key,
            body: transfer(SMALL_CENTS),
          }
          if ((await gateway.ask(call)).body['status'] === 'allow') allowed += 1
        }
      }
      const loads = ['a', 'b', 'c', 'd'].map(load)
      await until(() => Promise.resolve(allowed > 200))
      const data = ['--store', `file:${directory}/data`]
      const store = (...args: string[]) => runCli(['store', ...args], { cwd: directory })
      const before = allowed
      const backup = join(directory, 'backup')
      expect(await store('export', backup, ...data)).toMatchObject({ code: 0, err: '' })
      expect(await store('check', ...data)).toMatchObject({ code: 0, out: expect.stringMatching(/^fine/) })
      expect(allowed).toBeGreaterThan(before)
      loading = false
      await Promise.all(loads)
      expect(await gateway.process.kill('SIGTERM')).toMatchObject({ code: 0 })

      const restored = join(directory, 'restored')
      const there = ['--store', `file:${restored}/data`]
      expect((await store('restore', backup, ...there)).code).toBe(0)
      expect((await store('check', ...there)).code).toBe(0)
      await withGateway({ directory: restored }, async (second) => {
        const records = await evidenceAfter(second, 0)
        expect(records.length).toBeGreaterThan(before)
        const verdict = await verdictOn(second, directory)
        expect(verdict.faults).toEqual([])
      })
      expect(existsSync(backup) && readFileSync(backup).length).toBeGreaterThan(1_000)
    })
  })
})
