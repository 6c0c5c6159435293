import { describe, expect, it, vi } from 'vitest'
import type { JsonObject } from '../../src/contract/json.ts'
import type { Census } from '../../src/gateway/jobs/backlog.ts'
import type { EvidenceRecord } from '../../src/gateway/core/event-record.ts'
import { StoreIndeterminate } from '../../src/store/store.ts'
import type { LoadedBundle } from '../../src/telemetry/count/count-load.ts'
import { OTHER } from '../../src/metrics/labels.ts'
import { createMetrics, type Metrics, type MetricSources } from '../../src/telemetry/count/metrics.ts'
import { MAX_SAMPLES, METRICS, NODE_SAMPLES } from '../../src/metrics/table.ts'
import { ensureProgram, INSTALL_MS, run } from '../debian.ts'

const CENSUS: Census = {
  pending: new Map([['high', { count: 3, oldestAgeMs: 90_000 }]]),
  groups: new Map([['leads', 2]]),
  deliveries: 7,
  overdueMs: 45_000,
  paused: new Map([['gone', 1]]),
  frozen: new Map([['agent' as const, 2]]),
  legalHolds: new Map([['task' as const, 3]]),
  unreported: 4,
  sizes: {
    at: 1,
    claimed_until: 0,
    kinds: {
      evidence: { count: 9, bytes: 900, growth: 30_000 },
      'record thread': { count: 2, bytes: 100, growth: -10_000 },
    },
  },
}
const TRACE = 'a'.repeat(32)
const TRACEPARENT = `00-${TRACE}-${'b'.repeat(16)}-01`

function open(differing: Partial<MetricSources> = {}): Metrics & { readonly full: string[] } {
  const full: string[] = []
  const metrics = createMetrics({
    version: '1.2.3',
    knowsTool: (name) => name !== 'made.up',
    now: () => 1_700_000_000_000,
    durability: () => 'fsync',
    storeHealth: () => Promise.resolve({ roomBytes: 1_000_000 }),
    traffic: () => ({
      requests: 4,
      connections: 3,
      polls: 2,
      streams: 1,
      underWay: { propose: 7, follow: 6, people: 5 },
      waiting: { propose: 9, follow: 0, people: 0 },
      refused: { propose: 11, follow: 10, people: 0 },
    }),
    checkpointLagMs: () => 1_500,
    tiles: () => ({ lagMs: 90_000, stopped: new Map([['forked', 2]]) }),
    isReady: () => Promise.resolve(true),
    isStoreLost: () => false,
    census: () => Promise.resolve(CENSUS),
    onFull: (metric) => full.push(metric),
    ...differing,
  })
  return { ...metrics, full }
}

function record(type: EvidenceRecord['type'], details: JsonObject = {}, tool = 'known.tool'): EvidenceRecord {
  const at = '2026-01-01T00:00:00.000Z'
  const common = { tenant: 't', at, actor: { kind: 'agent', id: 'a' }, tool }
  const verdict = VERDICT_OF[type]
  const basis = verdict === undefined ? {} : { verdict, policy: 'b', by: ['r'], rules: [], reads: [] }
  return { ...common, type, details: { ...basis, ...details } } as unknown as EvidenceRecord
}

const VERDICT_OF: Readonly<Record<string, string>> = {
  'decision.allowed': 'allow',
  'decision.rejected': 'reject',
}

const evidence = (metrics: Metrics, ...given: Parameters<typeof record>): void =>
  metrics.observe({ kind: 'evidence', record: record(...given) })

const textOf = async (metrics: Metrics): Promise<string> => (await metrics.scrape('text')).text
const samplesIn = (text: string): string[] =>
  text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))

async function series(metrics: Metrics, { name }: { readonly name: string }): Promise<string[]> {
  const found = samplesIn(await textOf(metrics))
  return found.filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
}

function bundle(tools: number, rules: number, prefix = ''): LoadedBundle {
  const named = (count: number, name: string): string[] =>
    Array.from({ length: count }, (_, i) => `${prefix}${name}-${i}`)
  return {
    revision: `revision-${prefix}${tools}-${rules}`,
    tools: new Map(named(tools, 'tool').map((name) => [name, { risk: 'low' }])),
    rules: named(rules, 'rule').map((id) => ({ id, mode: 'enforced' })),
    ruleCount: rules,
    directory: { tenants: new Map([['acme', { reviewers: new Map([['ann', { groups: ['leads'] }]]) }]]) },
  }
}

const load = (metrics: Metrics, loaded: LoadedBundle): void =>
  metrics.observeLoad({ ok: true, atSeconds: 9, bundle: loaded })

describe('the metrics', () => {
  it('the metrics count decisions by decision, risk and registered tool, with all other tools as one', async () => {
    const metrics = open()
    evidence(metrics, 'decision.allowed', {
      verdict: 'allow',
      risk: 'low',
      rules: ['r1'],
      shadow: ['s1'],
      shadow_outcome: { verdict: 'reject', risk: 'low' },
      unknown: ['r1'],
    })
    evidence(metrics, 'decision.rejected', { risk: 'low', by: ['unknown_tool'] }, 'made.up')
    evidence(metrics, 'decision.rejected', { risk: 'low', by: ['transfer-blocked'] }, 'made.up')
    const { name } = METRICS.evaluations
    expect(await series(metrics, METRICS.evaluations)).toEqual([
      `${name}{decision="allow",risk="low",tool="known.tool"} 1`,
      `${name}{decision="reject",risk="low",tool="${OTHER}"} 2`,
    ])
    expect(await series(metrics, METRICS.folded)).toEqual([`${METRICS.folded.name} 0`])
    const rejections = await series(metrics, METRICS.rejections)
    expect(rejections).toContain('countersign_rejections_total{reason="unknown_tool"} 1')
    expect(rejections).toContain('countersign_rejections_total{reason="rule"} 1')
    expect(await series(metrics, METRICS.ruleMatches)).toEqual([
      `${METRICS.ruleMatches.name}{rule="r1",mode="enforced"} 1`,
      `${METRICS.ruleMatches.name}{rule="s1",mode="shadow"} 1`,
    ])
    expect(await series(metrics, METRICS.shadowChanges)).toContain(
      `${METRICS.shadowChanges.name}{decision="allow",shadow_decision="reject"} 1`,
    )
    expect(await series(metrics, METRICS.ruleUnknown)).toEqual([`${METRICS.ruleUnknown.name}{rule="r1"} 1`])
    expect([...metrics.shadowCounts]).toEqual([['s1', 1]])
    expect(await series(metrics, METRICS.evidenceRecords)).toEqual([`${METRICS.evidenceRecords.name} 3`])
    expect(await series(metrics, METRICS.evidenceLast)).toEqual([
      `${METRICS.evidenceLast.name} ${Date.UTC(2026, 0, 1) / 1000}`,
    ])
  })

  it('the metrics time reviews by the record of their end, and do not count an uncollected approval as expired', async () => {
    const metrics = open()
    evidence(metrics, 'review.approved', { risk: 'high', waited_ms: 30_000 })
    evidence(metrics, 'review.expired', { risk: 'high', was: 'approved', waited_ms: 4_000 })
    evidence(metrics, 'review.expired', { risk: 'high', was: 'pending_review', waited_ms: 5_000 })
    evidence(metrics, 'review.frozen', { risk: 'high', was: 'approved', waited_ms: 6_000 })
    const sums = await series(metrics, { name: `${METRICS.reviewSeconds.name}_sum` })
    const found = sums.filter((line) => !line.endsWith(' 0'))
    expect(found.map((line) => line.slice(`${METRICS.reviewSeconds.name}_sum`.length))).toEqual([
      '{verdict="approved",risk="high"} 30',
      '{verdict="expired",risk="high"} 5',
      '{verdict="uncollected",risk="high"} 4',
      '{verdict="frozen",risk="high"} 6',
    ])
  })

  it('the metrics count every other event of verbs and adapters', async () => {
    const metrics = open()
    evidence(metrics, 'vote.cast', { decision: 'approve', via: 'link' })
    evidence(metrics, 'token.minted')
    evidence(metrics, 'approval.revoked', { code: 'policy_changed' })
    evidence(metrics, 'review.withdrawn', { was: 'approved' })
    evidence(metrics, 'review.escalated')
    evidence(metrics, 'session.opened', { via: 'oidc' })
    metrics.observe({ kind: 'validated', result: 'used' })
    metrics.observe({ kind: 'revision', result: 'rejected' })
    metrics.observe({ kind: 'evaluated', verdict: 'reject', seconds: 0.001, fault: 'engine_mismatch' })
    metrics.observe({ kind: 'replayed', decision: 'review' })
    metrics.observe({ kind: 'voted', decision: 'approve', lookedMs: 1_500, thread_id: 'thr_1' })
    metrics.observe({ kind: 'sign_in_failed', via: 'link', problem: 'refused' })
    metrics.observe({
      kind: 'commit',
      tenant: 'acme',
      commitId: 'c',
      seconds: 0.01,
      error: new StoreIndeterminate('x'),
    })
    metrics.observe({
      kind: 'commit',
      tenant: 'acme',
      commitId: 'c',
      seconds: 0.01,
      result: { ok: false, reason: 'guard', failed: [0] },
    })
    metrics.observeDelivery({ result: 'delivered', code: '2xx', seconds: 0.1, lagMs: 200 })
    metrics.observeDelivery({ result: 'retry', code: 'of another planet', seconds: 0.1 })
    metrics.observeHttp({ method: 'POST', route: '/r', status: 429, seconds: 0.1, problem: 'rate_limited' })
    metrics.observeHttp({ method: 'BREW', route: '/r', status: 418, seconds: 0.1 })
    metrics.observeAborted()
    metrics.observeTimer(false)
    metrics.observeLoad({ ok: false, atSeconds: 5 })
    const text = await textOf(metrics)
    for (const line of [
      'countersign_votes_total{decision="approve",via="link"} 1',
      'countersign_tokens_minted_total 1',
      'countersign_approvals_revoked_total{reason="policy_changed"} 1',
      'countersign_withdrawals_total{was="approved"} 1',
      'countersign_review_announcements_total{kind="escalation"} 1',
      'countersign_sign_ins_total{via="oidc",result="ok"} 1',
      'countersign_sign_ins_total{via="link",result="refused"} 1',
      'countersign_token_validations_total{result="used"} 1',
      'countersign_token_validations_total{result="valid"} 0',
      'countersign_revisions_total{result="rejected"} 1',
      'countersign_policy_engine_faults_total{fault="engine_mismatch"} 1',
      'countersign_idempotent_replays_total{decision="review"} 1',
      'countersign_vote_attention_seconds_bucket{le="1",decision="approve"} 0',
      'countersign_vote_attention_seconds_bucket{le="2.5",decision="approve"} 1',
      'countersign_store_errors_total{operation="commit",error="indeterminate"} 1',
      'countersign_store_conflicts_total{reason="guard"} 1',
      'countersign_store_operation_duration_seconds_count{operation="commit"} 2',
      'countersign_webhook_tries_total{result="delivered",code="2xx"} 1',
      'countersign_webhook_tries_total{result="retry",code="_other"} 1',
      'countersign_webhook_lag_seconds_sum 0.2',
      'countersign_http_requests_total{method="POST",route="/r",status="429"} 1',
      'countersign_http_requests_total{method="_other",route="/r",status="_other"} 1',
      'countersign_http_requests_aborted_total 1',
      'countersign_problems_total{code="rate_limited"} 1',
      'countersign_timer_rounds_total{result="failed"} 1',
      'countersign_policy_reloads_total{result="failed"} 1',
      'countersign_policy_stale 1',
      'countersign_build_info{version="1.2.3"} 1',
    ]) {
      expect(text).toContain(`${line}\n`)
    }
  })

  it('never show a negative time between two clocks, because a falling sum looks like a restart', async () => {
    const metrics = open()
    const tried = { result: 'delivered', code: '2xx', seconds: 0.1 } as const
    metrics.observeDelivery({ ...tried, lagMs: 2_000 })
    metrics.observeDelivery({ ...tried, lagMs: -1_500 })
    const text = await textOf(metrics)
    expect(text).toContain('countersign_webhook_lag_seconds_sum 2\n')
    expect(text).toContain('countersign_webhook_lag_seconds_count 2\n')
  })

  it('the metrics name the bundle in force after a good load, and end staleness', async () => {
    const metrics = open()
    metrics.observeLoad({ ok: false, atSeconds: 5 })
    load(metrics, bundle(1, 1))
    load(metrics, bundle(2, 3))
    const { name } = METRICS.policyInfo
    expect(await series(metrics, METRICS.policyInfo)).toEqual([`${name}{digest="revision-2-3"} 1`])
    expect(await series(metrics, METRICS.stale)).toEqual([`${METRICS.stale.name} 0`])
    expect(await series(metrics, METRICS.lastLoad)).toEqual([`${METRICS.lastLoad.name} 9`])
    expect(await series(metrics, METRICS.policyTools)).toEqual([`${METRICS.policyTools.name} 2`])
    expect(await series(metrics, METRICS.policyRules)).toEqual([`${METRICS.policyRules.name} 3`])
    expect(await series(metrics, METRICS.groupReviewers)).toEqual([
      `${METRICS.groupReviewers.name}{group="leads"} 1`,
    ])
  })

  it('the metrics read waiting and open items at a scrape', async () => {
    const text = await textOf(open())
    for (const line of [
      'countersign_threads_pending{risk="high"} 3',
      'countersign_threads_pending{risk="low"} 0',
      'countersign_thread_oldest_pending_seconds{risk="high"} 90',
      'countersign_group_threads_waiting{group="leads"} 2',
      'countersign_freezes_in_force{scope="agent"} 2',
      'countersign_freezes_in_force{scope="tenant"} 0',
      'countersign_legal_holds_in_force{scope="task"} 3',
      'countersign_calls_unreported 4',
      'countersign_legal_holds_in_force{scope="thread"} 0',
      'countersign_store_entries{kind="evidence"} 9',
      'countersign_store_bytes{kind="record thread"} 100',
      'countersign_store_growth_bytes{kind="record thread"} -10000',
      'countersign_webhook_deliveries_waiting 7',
      'countersign_webhook_overdue_seconds 45',
      'countersign_webhooks_paused{reason="gone"} 1',
      'countersign_http_requests_in_flight 4',
      'countersign_http_connections 3',
      'countersign_polls_held 2',
      'countersign_review_streams 1',
      'countersign_requests_under_way{kind="propose"} 7',
      'countersign_requests_waiting{kind="propose"} 9',
      'countersign_requests_refused_total{kind="propose"} 11',
      'countersign_requests_refused_total{kind="people"} 0',
      'countersign_ready 1',
      'countersign_clock_seconds 1700000000',
      'countersign_store_info{durability="fsync"} 1',
      'countersign_checkpoint_lag_seconds 1.5',
      'countersign_tiles_lag_seconds 90',
      'countersign_tiles_stopped{reason="forked"} 2',
      'countersign_tiles_stopped{reason="damaged"} 0',
      'countersign_store_room_bytes 1000000',
    ])
      expect(text).toContain(`${line}\n`)
  })

  it('the metrics serve a scrape even when the store cannot answer', async () => {
    const down = (): Promise<never> => Promise.reject(new Error('down'))
    const text = await textOf(open({ census: down, isReady: down, storeHealth: down }))
    expect(text).not.toContain('countersign_store_room_bytes 1')
    expect(text).toContain('countersign_build_info')
    expect(text).toContain('countersign_ready 0\n')
  })

  it('the metrics show a late count at the next scrape, with its age', async () => {
    vi.useFakeTimers()
    try {
      let now = 0
      const answers: ((census: Census) => void)[] = []
      const asked = (): Promise<Census> => new Promise((resolve) => answers.push(resolve))
      const metrics = open({ census: asked, now: () => now })
      const shown = async (): Promise<string[]> => {
        const text = textOf(metrics)
        await vi.advanceTimersByTimeAsync(2_000)
        return (await text)
          .split('\n')
          .filter((line) =>
            /^countersign_(?:census_age_seconds|thread_oldest_pending_seconds{risk="high"}) /.test(line),
          )
      }
      now = 15_000
      expect(await shown()).toEqual(['countersign_census_age_seconds 15'])
      now = 20_000
      answers[0]?.(CENSUS)
      await vi.advanceTimersByTimeAsync(0)
      now = 30_000
      expect(await shown()).toEqual([
        'countersign_thread_oldest_pending_seconds{risk="high"} 90',
        'countersign_census_age_seconds 10',
      ])
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('series', () => {
  it('series of tools, rules and routes exist from the start, so that a rate sees the first event', async () => {
    const metrics = open()
    metrics.expectRoute({ method: 'POST', route: '/api/agent/tasks/:taskID/requests' })
    load(metrics, bundle(1, 1))
    const text = await textOf(metrics)
    for (const line of [
      'countersign_evaluations_total{decision="allow",risk="low",tool="tool-0"} 0',
      'countersign_evaluations_total{decision="reject",risk="low",tool="_other"} 0',
      'countersign_rule_matches_total{rule="rule-0",mode="enforced"} 0',
      'countersign_rule_unknown_total{rule="rule-0"} 0',
      'countersign_http_requests_total{method="POST",route="/api/agent/tasks/:taskID/requests",status="503"} 0',
      'countersign_votes_total{decision="reject",via="key"} 0',
    ])
      expect(text).toContain(`${line}\n`)
  })

  it('series of another bundle are dropped with it, and common ones keep their count', async () => {
    const metrics = open()
    load(metrics, bundle(2, 2))
    evidence(metrics, 'decision.allowed', { risk: 'low', rules: ['rule-0', 'rule-1'] }, 'tool-0')
    load(metrics, bundle(1, 1))
    expect(await series(metrics, METRICS.ruleMatches)).toEqual([
      `${METRICS.ruleMatches.name}{rule="rule-0",mode="enforced"} 1`,
    ])
    const tools = (await series(metrics, METRICS.evaluations)).join('\n')
    expect(tools).toContain('{decision="allow",risk="low",tool="tool-0"} 1')
    expect(tools).not.toContain('tool-1')
  })

  it('series of rules start again when the next bundle has too many, without work for each', async () => {
    const metrics = open()
    const crowd = bundle(1, METRICS.ruleMatches.atMost * 2)
    load(metrics, crowd)
    evidence(metrics, 'decision.allowed', { risk: 'low', rules: ['rule-0'] })
    expect(await series(metrics, METRICS.ruleMatches)).toHaveLength(1)
    const asked: string[] = []
    const watched = {
      ...crowd,
      get rules() {
        asked.push('rules')
        return crowd.rules
      },
    }
    load(metrics, watched)
    expect(asked).toEqual([])
    expect(await series(metrics, METRICS.ruleMatches)).toEqual([])
  })

  it('fold into one when there is no room, and that is logged once', async () => {
    const metrics = open()
    const { atMost, name } = METRICS.ruleMatches
    load(metrics, bundle(1, atMost * 2))
    expect(await series(metrics, METRICS.ruleMatches)).toEqual([])
    const ids = Array.from({ length: atMost * 2 }, (_, i) => `rule-${i}`)
    for (let i = 0; i < 2; i++) evidence(metrics, 'decision.allowed', { risk: 'low', rules: ids })
    const found = await series(metrics, METRICS.ruleMatches)
    expect(found.length).toBeLessThanOrEqual(atMost)
    const counts = found.map((line) => Number(line.split(' ').at(-1)))
    expect(counts.reduce((sum, count) => sum + count)).toBe(atMost * 4)
    expect(found.filter((line) => line.includes('rule="_other"'))).toHaveLength(1)
    expect(metrics.full).toEqual([name])
    const [folded] = await series(metrics, METRICS.folded)
    expect(Number(folded?.split(' ').at(-1))).toBe(2 * (atMost * 2 - (found.length - 1)))
  })

  it('never exceed the bound of an instance, whatever agents send and bundles contain', async () => {
    const metrics = open()
    flood(metrics)
    const { text } = await metrics.scrape('text')
    const samples = samplesIn(text)
    const node = samples.filter((line) => !line.startsWith('countersign_'))
    expect(node.length).toBeLessThan(NODE_SAMPLES)
    expect(samples.length).toBeLessThanOrEqual(MAX_SAMPLES)
    // the flood reached the bounds, so the figure above says something
    expect(samples.length).toBeGreaterThan(MAX_SAMPLES * 0.8)
    expect(metrics.full).toContain(METRICS.evaluations.name)
  })
})

/** More of everything than there is room for. */
function flood(metrics: Metrics): void {
  for (let round = 0; round < 3; round++) load(metrics, bundle(2_000, 2_000, `round-${round}-`))
  for (let i = 0; i < 2_000; i++) {
    const rules = [`rule-${i}`]
    const risk = ['low', 'medium', 'high', 'critical'][i % 4] ?? 'low'
    evidence(metrics, 'decision.allowed', { risk, rules, unknown: rules }, `tool-${i}`)
    evidence(metrics, 'decision.rejected', { risk: `risk-${i}` }, `tool-${i}`)
    metrics.observeHttp({ method: `M${i}`, route: `/r/${i}`, status: 200 + i, seconds: 1 })
    metrics.observeHttp({ method: 'GET', route: `/r/${i}`, status: 200, seconds: 1 })
    metrics.observeDelivery({ result: 'retry', code: `code-${i}`, seconds: 1, lagMs: 1 })
  }
}

describe('the two formats', () => {
  it(
    'the classic text passes promtool',
    async () => {
      ensureProgram('promtool', 'prometheus')
      const metrics = open()
      metrics.expectRoute({ method: 'GET', route: '/readyz' })
      load(metrics, bundle(2, 2))
      evidence(metrics, 'decision.allowed', { risk: 'low', traceparent: TRACEPARENT })
      const { contentType, text } = await metrics.scrape('text')
      expect(contentType).toBe('text/plain; version=0.0.4; charset=utf-8')
      const { status, out, err } = run('promtool', ['check', 'metrics'], { input: text })
      expect({ status, out, err }).toEqual({ status: 0, out: '', err: '' })
      expect(
        run('promtool', ['check', 'metrics'], { input: 'countersign_bad_total 1\n# TYPE x gauge\n' }).status,
      ).not.toBe(0)
    },
    INSTALL_MS,
  )

  it('OpenMetrics names families without `_total`, has exemplars, and ends with EOF', async () => {
    const metrics = open()
    evidence(metrics, 'decision.allowed', { risk: 'low', traceparent: TRACEPARENT })
    metrics.observe({ kind: 'evaluated', verdict: 'allow', seconds: 0.0001, traceparent: TRACEPARENT })
    metrics.observe({ kind: 'voted', decision: 'approve', lookedMs: 1_500, thread_id: 'thr_1' })
    metrics.observeHttp({ method: 'GET', route: '/r', status: 200, seconds: 0.1, traceparent: TRACEPARENT })
    const { contentType, text } = await metrics.scrape('openmetrics')
    expect(contentType).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
    expect(text).toContain('# TYPE countersign_evaluations counter\n')
    const trace = `# {trace_id="${TRACE}"}`
    for (const start of [
      `countersign_evaluations_total{decision="allow",risk="low",tool="known.tool"} 1 ${trace} 1 `,
      `countersign_evaluation_duration_seconds_bucket{le="0.0001",decision="allow"} 1 ${trace} 0.0001 `,
      `countersign_http_request_duration_seconds_bucket{le="0.1",method="GET",route="/r"} 1 ${trace} 0.1 `,
      `countersign_vote_attention_seconds_bucket{le="2.5",decision="approve"} 1 # {thread_id="thr_1"} 1.5 `,
    ])
      expect(text).toContain(`\n${start}`)
    expect(text.endsWith('\n# EOF\n')).toBe(true)
  })

  it('the two formats contain the same data in any order, and do not change each other', async () => {
    const metrics = open()
    load(metrics, bundle(1, 1))
    evidence(metrics, 'decision.allowed', { risk: 'low' })
    const own = (text: string): string[] => samplesIn(text).filter((line) => line.startsWith('countersign_'))
    const texts = []
    for (const format of ['text', 'openmetrics', 'text', 'openmetrics'] as const)
      texts.push(own((await metrics.scrape(format)).text))
    expect(texts[0]?.length).toBeGreaterThan(100)
    for (const text of texts) expect(text).toEqual(texts[0])
  })
})
