import { Readable } from 'node:stream'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject, JsonValue } from '../../../src/contract/json.ts'
import { canonicalJson, leafHash } from '../../../src/domain/digest.ts'
import { backtest, type Backtest } from '../../../src/policy/backtest/compare.ts'
import { printBacktest, printBacktestMarkdown } from '../../../src/policy/backtest/print.ts'
import {
  type Decided,
  type Export,
  type RecordedEvent,
  readExport,
} from '../../../src/policy/backtest/records.ts'
import { createReplay, type Judgement } from '../../../src/policy/backtest/replay.ts'
import type { CompiledSnapshot } from '../../../src/policy/evaluate/compile.ts'
import { loadBundle } from '../../../src/policy/bundle/directory.ts'
import { prepareBundle } from '../../../src/policy/bundle/load.ts'
import { linesOf } from '../../../src/system/lines.ts'
import { printDiagnostics } from '../../../src/policy/report/diagnostics.ts'
import { BUNDLE } from '../../bundle.ts'
import { rounds } from '../../runs.ts'
import { ann, bot, eachAgentWorld, world } from '../../agent-world.ts'
import { type Agent, HOUR, MINUTE, openWorld, type World } from '../../gateway-fixture.ts'

/** `countersign backtest` against evidence that a real gateway wrote. */

/** All of an export, to be replayed as often as a test likes. */
async function readAll(text: string): Promise<Export & { readonly events: readonly RecordedEvent[] }> {
  const lines = linesOf(Readable.from([Buffer.from(text)]), text.length + 1)
  const { events, fromTheStart } = readExport(lines)
  const all: RecordedEvent[] = []
  for await (const one of events) all.push(one)
  return { events: all, fromTheStart }
}

const FILES: Record<string, string> = {
  'tools/spend.yaml': `tool: spend
description: Spend money.
risk: low
labels: [money]
sensitive: [payload.card]
input_schema:
  type: object
  additionalProperties: false
  required: [amount]
  properties:
    amount: { type: integer, minimum: 0 }
    to: { type: string }
    card: { type: string }
    memo: { type: string }
`,
  'tools/read.yaml':
    'tool: read\ndescription: Read.\nrisk: low\nlabels: [untrusted]\ninput_schema: { type: object }\n',
  'rules/read.yaml': 'tool: read\nrules:\n  - id: read-open\n    allow: Reading is fine.\n',
  'rules/spend.yaml': `tool: spend
rules:
  - id: spend-some
    allow: Up to 100.
    when: { payload.amount: { at_most: 100 } }
  - id: spend-more
    review: More than 100.
    when: { payload.amount: { over: 100 } }
  - id: spend-after-read
    review: This task has read.
    when: { task.labels: { some: untrusted } }
  - id: spend-often
    reject: This agent has read today, and pays seven.
    when: { agent.tools: { some: read }, payload.amount: 7 }
  - id: spend-stolen
    reject: The card is stolen.
    when: { payload.card: { starts_with: x } }
missing_means:
  payload.card: nothing
limits:
  - id: spend-daily
    review: More than 300 in a day.
    sum: payload.amount
    at_most: 300
    within: 24h
    per: agent
  - id: spend-calls
    reject: More than 4 calls in an hour of a task.
    count: calls
    at_most: 4
    within: 1h
    per: task
  - id: spend-to
    mode: shadow
    reject: More than 150 to one.
    sum: payload.amount
    at_most: 150
    within: 12h
    per: payload.to
`,
  'directory.yaml': `tenants:
  acme:
    agents:
      bot:   { owners: [olga], token_ttl: 5m }
      other: { owners: [olga], token_ttl: 5m }
      free:  { owners: [olga], signed_approvals: false }
    reviewers:
      ann:  { name: Ann Ash, groups: [desk, leads, board, audit] }
      eve:  { name: Eve Elm, groups: [desk, leads, board, audit] }
      olga: { name: Olga Orr, groups: [desk, leads, board, audit] }
`,
}

let other: Agent
let current: CompiledSnapshot

eachAgentWorld({ files: FILES })
beforeEach(async () => {
  other = await world.agent('other')
  const loaded = await loadBundle(world.policies)
  if (!loaded.ok) throw new Error('the bundle of the test does not check')
  current = loaded.snapshot as CompiledSnapshot
})

const exported = async (): Promise<string> =>
  (await world.admin('GET', 'evidence?tenant=acme&disclosures=true&after=0&limit=10000')).text

/** The bundle of the world with a passage of a file replaced. */
async function edited(path: string, from: string, to: string): Promise<CompiledSnapshot> {
  const files = { ...BUNDLE, ...FILES }
  const text = files[path] ?? ''
  expect(text).toContain(from)
  const texts = Object.entries({ ...files, [path]: text.replace(from, to) })
  const prepared = await prepareBundle(texts.map(([name, content]) => ({ path: name, text: content })))
  if (!prepared.ok) throw new Error(printDiagnostics(prepared.diagnostics))
  return prepared.snapshot
}
const run = async (after: CompiledSnapshot): Promise<Backtest> =>
  backtest(await readAll(await exported()), current, after)
const spend = (payload: object, task = 't1', agent = bot) =>
  agent.submit(task, { tool_name: 'spend', payload: { to: 'x', ...payload } })

describe('a backtest', () => {
  it('finds the calls between the old and the new threshold, loosened calls first', async () => {
    for (const amount of [10, 100, 101, 150, 151]) await spend({ amount }, `t${amount}`)
    const report = await run(await edited('rules/spend.yaml', 'over: 100 }', 'over: 150 }'))
    expect(report).toMatchObject({ calls: 5, unchanged: 3, untold: [], checked: { calls: 5, differing: 0 } })
    expect(report.flips).toMatchObject([{ direction: 'tightens', after: { by: ['unmatched'] }, calls: 2 }])
    const both = await run(await edited('rules/spend.yaml', 'at_most: 100 }', 'at_most: 50 }'))
    expect(both.flips).toMatchObject([
      {
        direction: 'tightens',
        tool: 'spend',
        before: { verdict: 'allow', by: ['spend-some'] },
        after: { verdict: 'reject', by: ['unmatched'] },
        calls: 1,
        examples: [{ tenant: 'acme' }],
      },
    ])
    const rejecting = await edited('rules/spend.yaml', 'review: More than 100.', 'reject: More than 100.')
    const text = printBacktest(await backtest(await readAll(await exported()), rejecting, current))
    expect(text).toContain('5 calls replayed on')
    expect(text).toMatch(/3 changed \(3 loosened\)/)
    expect(text).toMatch(
      /^LOOSENS  spend: reject\/low by spend-more -> review\/low by spend-more, 3 calls \(acme#\d+, /m,
    )
  })

  it('counts fewer approvals and more time as looser, other groups as changed, and names the reviewers', async () => {
    await spend({ amount: 150 })
    const asking = (reviewers: string): Promise<CompiledSnapshot> =>
      edited('rules/spend.yaml', '{ over: 100 } }', `{ over: 100 } }\n    reviewers: { ${reviewers} }`)
    const two = await asking('group: desk, approvals: 2')
    const sooner = await asking('group: desk, approvals: 2, expires: 1h')
    const [board, audit] = [await asking('group: board'), await asking('group: audit')]
    const evidence = await readAll(await exported())
    const found = await Promise.all([
      backtest(evidence, two, current),
      backtest(evidence, current, two),
      backtest(evidence, sooner, two),
      backtest(evidence, board, audit),
    ])
    const directions = found.map(({ flips }) => flips.map(({ direction }) => direction))
    expect(directions).toEqual([['loosens'], ['tightens'], ['loosens'], ['changes']])
    expect(printBacktest(found[0] as Backtest)).toContain(
      'LOOSENS  spend: review/low (2 of desk within 8h) by spend-more -> review/low (1 of desk within 8h) by spend-more, 1 call (acme#',
    )
  })

  it('counts the calls that a limit would have stopped, as allowed calls add up', async () => {
    for (let i = 0; i < 6; i++) await spend({ amount: 40 }, `t${i}`)
    const report = await run(await edited('rules/spend.yaml', 'at_most: 300', 'at_most: 100'))
    expect(report.flips).toMatchObject([
      { direction: 'tightens', after: { verdict: 'review', by: ['spend-daily'] }, calls: 4 },
    ])
  })

  it('refunds nothing for a collected approval without a proof, as the gateway does', async () => {
    const free = await world.agent('free')
    const { body } = await spend({ amount: 250 }, 't1', free)
    const thread_id = body.thread_id ?? ''
    await ann.approve(thread_id)
    expect((await free.poll({ thread_id })).body.status).toBe('approved')
    const freeze = { tenant: 'acme', agent: 'free', reason: 'stop' }
    await world.admin('POST', 'freeze', { body: freeze })
    await world.due()
    await world.admin('POST', 'unfreeze', { body: freeze })
    expect((await spend({ amount: 100 }, 't2', free)).body.status).toBe('pending_review')
    const report = await run(await edited('rules/spend.yaml', 'at_most: 300', 'at_most: 400'))
    expect(report.flips).toMatchObject([{ direction: 'loosens', before: { by: ['spend-daily'] }, calls: 1 }])
  })

  it('cannot tell the revision of a call that would not have been reviewed', async () => {
    const { body } = await spend({ amount: 120 })
    const thread = body.thread_id ?? ''
    const request_payload = { amount: 90, to: 'x' }
    await bot.revise('t1', thread, { tool_name: 'spend', revision_id: 'r1', request_payload })
    await ann.vote(thread, { decision: 'approve', revision: 2, comment: 'c' })
    expect((await spend({ amount: 100 }, 't2')).body.status).toBe('allow')
    const report = await run(
      await edited('rules/spend.yaml', 'review: More than 100.', 'allow: More than 100.'),
    )
    // There 120 are spent without a question, and 100 more fit into the day, unless the agent pays the 90, too.
    expect(report.flips).toMatchObject([{ direction: 'loosens', before: { by: ['spend-more'] }, calls: 1 }])
    expect(report.untold).toMatchObject([{ because: ['limit spend-daily'], calls: 1 }])
  })

  it('keeps the risk and the reviewers of the first call for its revision, as the gateway does', async () => {
    const { body } = await spend({ amount: 120 })
    const request_payload = { amount: 90, to: 'x' }
    const revision = { tool_name: 'spend', revision_id: 'r1', request_payload }
    await bot.revise('t1', body.thread_id ?? '', revision)
    const replay = createReplay(
      await edited('rules/spend.yaml', 'than 100.\n', 'than 100.\n    risk: high\n'),
      true,
    )
    const found: Judgement[] = []
    for (const one of (await readAll(await exported())).events)
      if (one.kind === 'decided') found.push(await replay.decide(one))
    const [first, second] = found
    expect([first?.verdict, first?.risk]).toEqual(['review', 'high'])
    expect([second?.verdict, second?.risk]).toEqual(['allow', 'high'])
    expect(second?.requirement).toEqual(first?.requirement)
  })

  it('names the missing fields, which no rule read at the time', async () => {
    await spend({ amount: 10, memo: 'hello' })
    await spend({ amount: 7, memo: 'hello' }, 't2')
    const next = await edited(
      'rules/spend.yaml',
      'rules:\n',
      'rules:\n  - id: memo\n    review: No hellos.\n    when: { payload.memo: { contains: hello } }\n',
    )
    const report = await run(next)
    expect(report.untold.reduce((sum, { calls }) => sum + calls, 0)).toBe(2)
    expect(report.untold[0]).toMatchObject({ tool: 'spend', because: ['payload.memo'], calls: 1 })
    expect(printBacktest(report)).toContain(
      'CANNOT TELL spend: 1 call, because not recorded or not certain: payload.memo',
    )
    expect(printBacktestMarkdown(report)).toContain('| spend | 1 | payload.memo | acme#')
  })

  it('has the owners of each bundle, whatever evidence has', async () => {
    await spend({ amount: 10 })
    const rule = 'rules:\n  - id: owned\n    review: Of ann.\n    when: { agent.owners: { some: ann } }\n'
    const before = await edited('rules/spend.yaml', 'rules:\n', rule)
    const after = await edited('rules/spend.yaml', 'rules:\n', rule.replace('some: ann', 'some: olga'))
    const report = await backtest(await readAll(await exported()), before, after)
    expect(report).toMatchObject({ calls: 1, untold: [], flips: [{ direction: 'tightens', calls: 1 }] })
  })

  it('has the rules that were in force at the time of the call', async () => {
    await spend({ amount: 10 })
    const rule = 'rules:\n  - id: frozen\n    reject: Frozen.\n    from: 2000-01-01\n'
    const inForce = await run(await edited('rules/spend.yaml', 'rules:\n', rule))
    expect(inForce).toMatchObject({ untold: [], flips: [{ direction: 'tightens', calls: 1 }] })
    const over = await run(await edited('rules/spend.yaml', 'rules:\n', `${rule}    until: 2000-01-31\n`))
    expect(over).toMatchObject({ untold: [], flips: [], unchanged: 1 })
  })

  it('decides when the missing field makes no difference', async () => {
    await bot.submit('t1', { tool_name: 'read' })
    await spend({ amount: 7, memo: 'hello' })
    const next = await edited(
      'rules/spend.yaml',
      'rules:\n',
      'rules:\n  - id: memo\n    review: No hellos.\n    when: { payload.memo: { contains: hello } }\n',
    )
    expect(await run(next)).toMatchObject({ calls: 2, unchanged: 2, untold: [] })
  })

  it('cannot decide by a value that evidence contains only as a commitment', async () => {
    await spend({ amount: 10, card: 'x-1' })
    const next = await edited('rules/spend.yaml', 'starts_with: x', 'starts_with: y')
    expect((await run(next)).untold).toMatchObject([{ because: ['payload.card'] }])
  })

  it('does not count calls of a tenant as unchanged when neither bundle has the tenant', async () => {
    await spend({ amount: 10 })
    const without = await edited('directory.yaml', '  acme:', '  acme-2:')
    const report = await backtest(await readAll(await exported()), without, without)
    expect(report).toMatchObject({ calls: 1, unchanged: 0, flips: [] })
    expect(printBacktest(report)).toContain('tenant acme, which neither bundle has')
    // One that has it judges, and the other rejects.
    const gained = await backtest(await readAll(await exported()), without, current)
    expect(gained.flips).toMatchObject([{ direction: 'loosens', before: { by: ['unknown_tenant'] } }])
  })

  it('cannot apply a default inside an object when evidence does not show whether the object was present', async () => {
    const tool =
      'tool: nest\ndescription: d\nrisk: low\ninput_schema:\n  type: object\n  properties: { meta: { type: object, properties: { deep: { type: string, default: b } } } }\n'
    const rule = 'tool: nest\nrules:\n  - { id: nest-b, allow: B., when: { payload.meta.deep: b } }\n'
    const nested = await openWorld({ files: { 'tools/nest.yaml': tool, 'rules/nest.yaml': rule } })
    try {
      const agent = await nested.agent('other')
      for (const payload of [{ meta: {} }, {}, { meta: { deep: 'c' } }])
        await agent.submit('t1', { tool_name: 'nest', payload })
      const loaded = await loadBundle(nested.policies)
      if (!loaded.ok) throw new Error('the bundle of the test does not check')
      const { events } = await readAll(
        (await nested.admin('GET', 'evidence?tenant=acme&disclosures=true&after=0&limit=100')).text,
      )
      const replay = createReplay(loaded.snapshot as CompiledSnapshot, true)
      const found: (string | undefined)[][] = []
      for (const one of events)
        if (one.kind === 'decided')
          found.push([one.verdict, (await replay.decide({ ...one, policy: 'another' })).verdict])
      expect(found).toEqual([
        ['allow', undefined],
        ['reject', undefined],
        ['reject', 'reject'],
      ])
    } finally {
      await nested.close()
    }
  })

  it('reports an export without its beginning, and cannot decide by history or limits', async () => {
    await spend({ amount: 10 })
    await spend({ amount: 20 })
    const lines = (await exported()).trim().split('\n')
    const next = await edited('rules/spend.yaml', 'tool: spend', 'tool: spend\nowner: somebody')
    const report = await backtest(await readAll(lines.slice(-1).join('\n')), current, next)
    expect(report).toMatchObject({ calls: 1, unchanged: 0, incomplete: ['acme'] })
    expect(report.untold[0]?.because).toContain('task.labels')
    expect(printBacktest(report)).toContain('the first records of acme are not in the export')
  })

  it.each([
    ['{', 'line 1 is not JSON'],
    ['{"number":1}', 'line 1 is not a line of `countersign evidence export`'],
    [
      '{"number":1,"leaf_hash":"00","record":{"tenant":"a","type":"t"}}',
      'record 1 does not match its recorded hash',
    ],
  ])('refuses %s', async (text, message) => {
    await expect(readAll(text)).rejects.toThrow(message)
  })

  it('reads an export record by record, because it may not fit in memory', async () => {
    for (const amount of [1, 2]) await spend({ amount })
    const lines = (await exported()).trim().split('\n')
    let taken = 0
    async function* source(): AsyncGenerator<{ bytes: Buffer }> {
      for (const line of lines) {
        taken++
        yield { bytes: Buffer.from(line) }
      }
    }
    const { events, fromTheStart } = readExport(source())
    for await (const { number } of events) {
      expect([taken, fromTheStart.has('acme')]).toEqual([number, true])
      break
    }
    expect(taken).toBeGreaterThan(0)
    expect(taken).toBeLessThan(lines.length)
  })

  it('refuses an export with a gap', async () => {
    for (const amount of [1, 2, 3]) await spend({ amount })
    const lines = (await exported()).trim().split('\n')
    await expect(readAll([lines[0], lines[2]].join('\n'))).rejects.toThrow('follows 1')
  })

  it('refuses records that no gateway writes, even with the right hash', async () => {
    await spend({ amount: 1 })
    const [line = ''] = (await exported()).trim().split('\n')
    const { record } = JSON.parse(line) as { record: JsonObject }
    const none = 'line 1 is not a line of `countersign evidence export`'
    const refused = async (told: unknown, number: unknown = 1): Promise<void> => {
      const leaf_hash = leafHash(canonicalJson(told as JsonValue))
      await expect(readAll(JSON.stringify({ number, leaf_hash, record: told }))).rejects.toThrow(none)
    }
    for (const odd of [{ actor: 'bot' }, { at: 'today' }, { tenant: 7 }, { details: [] }])
      await refused({ ...record, ...odd })
    for (const missing of [{}, [null], 'payload.amount'])
      await refused({ ...record, details: { ...(record['details'] as JsonObject), missing } })
    await refused([])
    for (const number of [1.5, '1']) await refused(record, number)
    const half = line.replace('"tenant"', '"x":"\\ud800","tenant"')
    await expect(readAll(half)).rejects.toThrow('does not match its recorded hash')
    const deep = line.replace('"tenant"', `"x":${'['.repeat(5_000)}${']'.repeat(5_000)},"tenant"`)
    await expect(readAll(deep)).rejects.toThrow('does not match its recorded hash')
  })
})

/** An act of an agent, a reviewer or the clock in a random history. */
type Act =
  | {
      readonly do: 'spend'
      readonly amount: number
      readonly task: string
      readonly other: boolean
      readonly card: boolean
    }
  | { readonly do: 'read'; readonly task: string; readonly other: boolean }
  | { readonly do: 'vote'; readonly decision: string }
  | { readonly do: 'collect' | 'redeem' | 'due' }
  | { readonly do: 'revise'; readonly amount: number }
  | { readonly do: 'wait'; readonly ms: number }

const task = fc.constantFrom('t1', 't2')
const amount = fc.constantFrom(7, 20, 60, 90, 120)
const acts = (card: fc.Arbitrary<boolean>): fc.Arbitrary<Act> =>
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('spend' as const),
        amount,
        task,
        other: fc.boolean(),
        card,
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('read' as const), task, other: fc.boolean() }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('vote' as const),
        decision: fc.constantFrom('approve', 'approve', 'reject', 'request_changes'),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constantFrom('collect' as const, 'redeem' as const, 'due' as const) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('revise' as const), amount }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('wait' as const),
        ms: fc.constantFrom(MINUTE, 20 * MINUTE, 5 * HOUR, 13 * HOUR),
      }),
    },
  )

interface Open {
  readonly agent: Agent
  readonly task: string
  readonly thread: string
  revision: number
  payload: object
  token?: string | undefined
}

async function play(list: readonly Act[]): Promise<void> {
  const open: Open[] = []
  for (const act of list) {
    const last = open.at(-1)
    if (act.do === 'wait') world.clock.advance(act.ms)
    if (act.do === 'due') await world.due()
    if (act.do === 'read') await (act.other ? other : bot).submit(act.task, { tool_name: 'read' })
    if (act.do === 'spend') {
      const agent = act.other ? other : bot
      const payload = { amount: act.amount, to: 'x', ...(act.card ? { card: 'y-1' } : {}) }
      const { body } = await agent.submit(act.task, { tool_name: 'spend', payload })
      if (body.thread_id !== undefined)
        open.push({ agent, task: act.task, thread: body.thread_id, revision: 1, payload })
    }
    if (last === undefined) continue
    if (act.do === 'vote')
      await ann.vote(last.thread, { decision: act.decision, revision: last.revision, comment: 'c' })
    if (act.do === 'collect')
      last.token = (await last.agent.poll({ thread_id: last.thread })).body.approval_token ?? last.token
    if (act.do === 'redeem' && last.token !== undefined) {
      const body = {
        task_id: last.task,
        thread_id: last.thread,
        signature: last.token,
        request_payload: last.payload,
      }
      await last.agent.validate(body)
    }
    if (act.do === 'revise') {
      const request_payload = { amount: act.amount, to: 'x' }
      const { status } = await last.agent.revise(last.task, last.thread, {
        tool_name: 'spend',
        revision_id: `r${last.revision}`,
        request_payload,
      })
      if (status === 201) Object.assign(last, { revision: last.revision + 1, payload: request_payload })
    }
  }
}

/** Each is replayed with all that were before it. */
const HISTORIES = rounds({ check: 10, short: 25, long: 25 })

describe('a replay is exact', () => {
  /**
   * Plays random histories. Passes each recorded decision to `check`, with the verdict that the deciding bundle finds
   * again.
   */
  async function replayRandom(
    list: fc.Arbitrary<readonly Act[]>,
    check: (one: Decided, verdict?: string) => void,
  ) {
    let calls = 0
    await fc.assert(
      fc.asyncProperty(list, async (history) => {
        const before = (await readAll(await exported())).events.length
        await play(history)
        const replay = createReplay(current, true)
        for (const [i, one] of (await readAll(await exported())).events.entries()) {
          if (one.kind !== 'decided') {
            replay.follow(one)
            continue
          }
          // The record of the decision itself is no help here: the bundle is to find it by what it read.
          const { verdict, risk } = await replay.decide({ ...one, policy: 'another' })
          if (i < before) continue
          calls++
          check(one, verdict)
          if (risk !== undefined) expect(risk).toBe(one.risk)
        }
      }),
      { numRuns: HISTORIES, seed: 11, endOnFailure: true },
    )
    return calls
  }

  it('agrees with the deciding bundle for random acts of agents, reviewers and the clock', async () => {
    const calls = await replayRandom(
      fc.array(acts(fc.constant(false)), { minLength: 10, maxLength: 40 }),
      (one, verdict) => expect([one.number, verdict]).toEqual([one.number, one.verdict]),
    )
    expect(calls).toBeGreaterThan(6 * HISTORIES)
  })

  it('is exact or undecided when evidence contains commitments instead of values', async () => {
    let told = 0
    const calls = await replayRandom(
      fc.array(acts(fc.boolean()), { minLength: 10, maxLength: 40 }),
      (one, verdict) => {
        if (verdict === undefined) return
        told++
        expect([one.number, verdict]).toEqual([one.number, one.verdict])
      },
    )
    expect(told).toBeGreaterThan(2 * HISTORIES)
    expect(told).toBeLessThan(calls)
  })

  it('decides another bundle as a gateway with that bundle does', async () => {
    const change = ['rules/spend.yaml', 'at_most: 300', 'at_most: 130'] as const
    const next = await edited(...change)
    const requests = Array.from({ length: 60 }, (_, i) => ({
      amount: [20, 7, 60, 90, 101][(i * 7) % 5] as number,
      task: `t${i % 4}`,
      reads: i % 9 === 4,
      wait: i % 5 === 0 ? 2 * HOUR : MINUTE,
    }))
    const drive = async (agent: Agent, place: World): Promise<void> => {
      for (const { amount: sum, task: name, reads, wait } of requests) {
        place.clock.advance(wait)
        if (reads) await agent.submit(name, { tool_name: 'read' })
        await agent.submit(name, { tool_name: 'spend', payload: { amount: sum, to: 'x' } })
      }
    }
    await drive(bot, world)
    const twin = await openWorld({
      files: { ...FILES, [change[0]]: (FILES[change[0]] ?? '').replace(change[1], change[2]) },
    })
    try {
      await drive(await twin.agent(), twin)
      const text = (await twin.admin('GET', 'evidence?tenant=acme&disclosures=true&after=0&limit=10000')).text
      const truth = (await readAll(text)).events.filter((one): one is Decided => one.kind === 'decided')
      const replay = createReplay(next, true)
      const found: (string | undefined)[] = []
      for (const one of (await readAll(await exported())).events)
        if (one.kind === 'decided') found.push((await replay.decide(one)).verdict)
      expect(found).toHaveLength(truth.length)
      const told = found.filter((verdict) => verdict !== undefined)
      expect(told.length).toBeGreaterThan(15)
      for (const [i, verdict] of found.entries())
        if (verdict !== undefined) expect([i, verdict]).toEqual([i, truth[i]?.verdict])
    } finally {
      await twin.close()
    }
  })
})
