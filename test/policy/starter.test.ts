import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import * as bounds from '../../src/policy/text/bounds.ts'
import { printDiagnostics } from '../../src/policy/report/diagnostics.ts'
import { prepareDirectory } from '../../src/policy/bundle/directory.ts'
import type { PreparedBundle } from '../../src/policy/bundle/load.ts'
import { NOON } from './support.ts'

const policies = fileURLToPath(new URL('../../policies', import.meta.url))

describe('the starter policies', () => {
  let prepared: PreparedBundle
  beforeAll(async () => {
    prepared = await prepareDirectory(policies, { now: NOON })
  })
  const ready = (): Extract<PreparedBundle, { ok: true }> => {
    if (!prepared.ok) throw new Error(printDiagnostics(prepared.diagnostics))
    return prepared
  }

  it('the starter policies load without a single diagnostic', () => {
    expect(ready().snapshot.diagnostics).toEqual([])
    expect(ready().snapshot.tools.size).toBeGreaterThanOrEqual(8)
  })

  it('the starter policies have a test that fires every rule', () => {
    const fired = new Set(
      ready().results.flatMap((result) => result.outcome?.fired.map((rule) => rule.id) ?? []),
    )
    expect(
      ready()
        .snapshot.rules.map((rule) => rule.id)
        .filter((id) => !fired.has(id)),
    ).toEqual([])
  })

  it('the starter policies let a demo agent be allowed, reviewed and rejected', async () => {
    const decide = async (tool: string, payload: Record<string, string | number>) =>
      (await ready().snapshot.decide({ tool, payload, tenant: 'acme', agent: 'demo-agent', at: NOON }))
        .verdict
    const transfer = (amount_cents: number) =>
      decide('ledger.transfer', { from: 'acct_a', to: 'acct_b', amount_cents, currency: 'eur', memo: 'x' })
    expect(await Promise.all([transfer(100), transfer(50_000), transfer(5_000_000)])).toEqual([
      'allow',
      'review',
      'reject',
    ])
    const write = (path: string) => decide('file.write', { path, content: 'hello' })
    expect(
      await Promise.all([write('/workspace/notes/a.md'), write('/workspace/a.py'), write('/etc/x')]),
    ).toEqual(['allow', 'review', 'reject'])
  })

  it('the starter policies have reviewers who do not own the agent at every level', () => {
    const { directory, snapshot } = { directory: ready().snapshot.directory, snapshot: ready().ir.head }
    for (const tenant of directory.tenants.values()) {
      for (const agent of tenant.agents.values()) {
        for (const level of Object.values(snapshot.routing.levels)) {
          const seat = level.seats[0]
          const eligible = [...tenant.reviewers.values()].filter(
            (person) => seat && person.groups.includes(seat.group) && !agent.owners.includes(person.id),
          )
          expect(eligible.length).toBeGreaterThanOrEqual(seat?.approvals ?? 99)
        }
      }
    }
  })
})

describe('the limits', () => {
  const docs = readFileSync(new URL('../../docs/policy-language.md', import.meta.url), 'utf8')

  it('the limits match the documentation', () => {
    for (const [name, value] of Object.entries(bounds))
      expect(docs).toContain(`| \`${name}\` | ${value.toLocaleString('en-US')} |`)
  })
})
