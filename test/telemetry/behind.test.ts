import { expect, it } from 'vitest'
import { behindNotes } from '../../src/telemetry/log/clock-lag.ts'

it('commits that are late by what their tenant has seen are told for each tenant once a minute, and no others', () => {
  const told: unknown[] = []
  let now = 0
  const note = behindNotes({ error: (facts: object) => void told.push(facts) }, () => now)
  const seconds = 0.01
  const late = { ok: false, reason: 'late' } as const
  note({ kind: 'commit', tenant: 'a', seconds, error: new Error('x') })
  note({ kind: 'commit', tenant: 'a', seconds, result: { ok: true, numbers: [] } })
  note({ kind: 'commit', tenant: 'a', seconds, result: { ok: false, reason: 'guard', failed: [0] } })
  note({ kind: 'commit', tenant: 'a', seconds, result: late })
  expect(told).toEqual([])
  for (; now <= 60_000; now += 20_000)
    for (const tenant of ['a', 'b'])
      note({ kind: 'commit', tenant, seconds, result: { ...late, behindMs: 90_000 - now } })
  expect(told).toEqual([
    { tenant: 'a', behind_seconds: 90, untold: 0 },
    { tenant: 'b', behind_seconds: 90, untold: 0 },
    { tenant: 'a', behind_seconds: 30, untold: 2 },
    { tenant: 'b', behind_seconds: 30, untold: 2 },
  ])
})
