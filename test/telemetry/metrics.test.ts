import { describe, expect, it } from 'vitest'
import type { EvidenceRecord } from '../../src/gateway/evidence.ts'
import { createMetrics, type Metrics, OTHER_TOOL } from '../../src/telemetry/metrics.ts'
import { METRICS, type MetricSpec } from '../../src/telemetry/table.ts'

const SPECS = Object.values<MetricSpec>(METRICS)

function open(census = { pending: new Map([['high', 3]]), oldestAgeMs: 90_000, deliveries: 7 }): Metrics {
  return createMetrics({
    version: '1.2.3',
    knowsTool: (name) => name === 'known.tool',
    census: () => Promise.resolve(census),
  })
}

function decision(
  type: EvidenceRecord['type'],
  details: EvidenceRecord['details'],
  tool = 'known.tool',
): EvidenceRecord {
  return {
    type,
    tenant: 't',
    at: '2026-01-01T00:00:00.000Z',
    actor: { kind: 'agent', id: 'a' },
    tool,
    details: details ?? {},
  }
}

async function series(metrics: Metrics, name: string): Promise<string[]> {
  const text = await metrics.registry.metrics()
  return text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
}

describe('the metrics table', () => {
  it('names follow the conventions: prefix, base units, `_total` for counters only', () => {
    for (const { kind, name, help } of SPECS) {
      expect(name).toMatch(/^countersign_[a-z_]+$/)
      expect(name.endsWith('_total')).toBe(kind === 'counter')
      if (kind === 'histogram') expect(name).toMatch(/_seconds$/)
      expect(help).toMatch(/^[A-Z0-9].*\.$/)
    }
  })

  it('no label can hold a task, thread, agent or reviewer', () => {
    const labels = SPECS.flatMap((spec) => spec.labels)
    expect(labels.filter((label) => /task|thread|agent|reviewer|tenant/.test(label))).toEqual([])
  })
})

describe('the metrics', () => {
  it('count decisions by decision, risk and registered tool; all other tools fold into one', async () => {
    const metrics = open()
    const details = {
      verdict: 'allow',
      risk: 'low',
      rules: ['r1'],
      shadow: ['s1'],
      shadow_outcome: { verdict: 'reject', risk: 'low' },
      unknown: ['r1'],
    }
    metrics.observe({ kind: 'evidence', record: decision('decision.allowed', details) })
    metrics.observe({ kind: 'evidence', record: decision('decision.rejected', { risk: 'low' }, 'made.up.1') })
    metrics.observe({ kind: 'evidence', record: decision('decision.rejected', { risk: 'low' }, 'made.up.2') })
    const found = await series(metrics, METRICS.evaluations.name)
    expect(found).toContain(`${METRICS.evaluations.name}{decision="allow",risk="low",tool="known.tool"} 1`)
    expect(found).toContain(
      `${METRICS.evaluations.name}{decision="reject",risk="low",tool="${OTHER_TOOL}"} 2`,
    )
    expect(await series(metrics, METRICS.ruleMatches.name)).toEqual([
      `${METRICS.ruleMatches.name}{rule="r1",mode="enforced"} 1`,
      `${METRICS.ruleMatches.name}{rule="s1",mode="shadow"} 1`,
    ])
    expect(await series(metrics, METRICS.shadowChanges.name)).toEqual([
      `${METRICS.shadowChanges.name}{decision="allow",shadow_decision="reject"} 1`,
    ])
    expect(await series(metrics, METRICS.ruleUnknown.name)).toEqual([
      `${METRICS.ruleUnknown.name}{rule="r1"} 1`,
    ])
    expect([...metrics.shadowCounts]).toEqual([['s1', 1]])
  })

  it('time reviews from the record of their end', async () => {
    const metrics = open()
    metrics.observe({
      kind: 'evidence',
      record: decision('review.approved', { risk: 'high', waited_ms: 30_000 }),
    })
    const found = await series(metrics, `${METRICS.reviewSeconds.name}_sum`)
    expect(found).toEqual([`${METRICS.reviewSeconds.name}_sum{verdict="approved",risk="high"} 30`])
  })

  it('count votes, mints, validations, revisions, faults, loads and store errors', async () => {
    const metrics = open()
    metrics.observe({ kind: 'evidence', record: decision('vote.cast', { decision: 'approve' }) })
    metrics.observe({ kind: 'evidence', record: decision('token.minted', {}) })
    metrics.observe({ kind: 'validated', result: 'used' })
    metrics.observe({ kind: 'revision', result: 'rejected' })
    metrics.observe({ kind: 'evaluated', verdict: 'reject', seconds: 0.001, fault: 'engine_mismatch' })
    metrics.observe({ kind: 'store', operation: 'commit', seconds: 0.01, failed: true })
    metrics.observeLoad({ ok: false, atSeconds: 5 })
    const text = await metrics.registry.metrics()
    for (const line of [
      'countersign_votes_total{decision="approve"} 1',
      'countersign_tokens_minted_total 1',
      'countersign_token_validations_total{result="used"} 1',
      'countersign_token_validations_total{result="valid"} 0',
      'countersign_revisions_total{result="rejected"} 1',
      'countersign_policy_engine_faults_total{fault="engine_mismatch"} 1',
      'countersign_store_errors_total{operation="commit"} 1',
      'countersign_policy_reloads_total{result="failed"} 1',
      'countersign_policy_stale 1',
      'countersign_build_info{version="1.2.3"} 1',
    ]) {
      expect(text).toContain(line)
    }
  })

  it('a good load names the bundle in force and ends staleness', async () => {
    const metrics = open()
    metrics.observeLoad({ ok: false, atSeconds: 5 })
    metrics.observeLoad({ ok: true, atSeconds: 9, revision: 'abc' })
    metrics.observeLoad({ ok: true, atSeconds: 10, revision: 'def' })
    expect(await series(metrics, METRICS.policyInfo.name)).toEqual([
      `${METRICS.policyInfo.name}{digest="def"} 1`,
    ])
    expect(await series(metrics, METRICS.stale.name)).toEqual([`${METRICS.stale.name} 0`])
    expect(await series(metrics, METRICS.lastLoad.name)).toEqual([`${METRICS.lastLoad.name} 10`])
  })

  it('pending threads are asked for at a scrape', async () => {
    const metrics = open()
    expect(await series(metrics, METRICS.pending.name)).toContain(`${METRICS.pending.name}{risk="high"} 3`)
    expect(await series(metrics, METRICS.oldestPending.name)).toEqual([`${METRICS.oldestPending.name} 90`])
  })

  it('a store that cannot answer does not break the scrape', async () => {
    const metrics = createMetrics({
      version: '1',
      knowsTool: () => true,
      census: () => Promise.reject(new Error('down')),
    })
    expect(await metrics.registry.metrics()).toContain('countersign_build_info')
  })
})
