import { rename, rm } from 'node:fs/promises'
import { describe, expect, it, vi } from 'vitest'
import { noteLoads } from '../../src/app/policies.ts'
import type { PolicyLoad } from '../../src/gateway/admin/policy-load-queue.ts'
import type { LoadReport } from '../../src/policy/bundle/feed.ts'
import { openWorld } from '../gateway-fixture.ts'
import { until } from '../until.ts'

function listeners() {
  const noted: PolicyLoad[] = []
  const observeLoad = vi.fn()
  const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn() }
  const note = noteLoads(
    { policies: 'policies' },
    {
      loads: { add: (load) => noted.push(load) },
      metrics: { observeLoad, observeWithdrawal: vi.fn() },
      policies: { current: () => undefined },
      log,
    },
  )
  return { note, noted, observeLoad, log }
}

const failed = (message: string, revision?: string): LoadReport => ({
  ok: false,
  at: 0,
  ...(revision === undefined ? {} : { revision }),
  diagnostics: [{ code: 'bundle-unreadable', severity: 'error', file: '.', line: 1, column: 1, message }],
})

describe('a failed load of the policies', () => {
  it('is counted each time, and is logged and recorded only when the errors change', () => {
    const { note, noted, observeLoad, log } = listeners()
    for (let i = 0; i < 100; i++) note(failed('EACCES'))
    for (let i = 0; i < 100; i++) note(failed('EIO'))
    note(failed('EACCES'))
    expect(noted.map(({ errors }) => errors)).toEqual([
      ['.:1:1 bundle-unreadable: EACCES'],
      ['.:1:1 bundle-unreadable: EIO'],
      ['.:1:1 bundle-unreadable: EACCES'],
    ])
    expect(log.error).toHaveBeenCalledTimes(3)
    expect(observeLoad).toHaveBeenCalledTimes(201)
  })

  it('is recorded again after a successful load, and for another bundle', () => {
    const { note, noted } = listeners()
    note(failed('the same', 'one'))
    note(failed('the same', 'two'))
    note({ ok: true, at: 0, revision: 'three', diagnostics: [] })
    note(failed('the same', 'two'))
    expect(noted.map(({ ok, revision }) => [ok, revision])).toEqual([
      [false, 'one'],
      [false, 'two'],
      [true, 'three'],
      [false, 'two'],
    ])
  })
})

it('writes one evidence record for a directory that stays unreadable, however often the gateway reads it', async () => {
  const world = await openWorld()
  const away = `${world.policies}-away`
  try {
    const failures = async (): Promise<unknown[]> =>
      (await world.evidence('_system')).filter(({ record }) => record.type === 'policy.failed')
    const looks = async (): Promise<number> => {
      const text = await (await fetch(world.app.metricsUrl)).text()
      return Number(/^countersign_policy_reloads_total\{result="failed"\} (\d+)$/m.exec(text)?.[1])
    }
    // at once: a directory that is removed file by file is read half-way, and fails in another way
    await rename(world.policies, away)
    await until(async () => (await looks()) >= 5)
    expect(await failures()).toHaveLength(1)
  } finally {
    await world.close()
    await rm(away, { recursive: true, force: true })
  }
})
