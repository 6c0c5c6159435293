// @store each, in the soak
import { describe, expect, it } from 'vitest'
import { hashCredential } from '../../src/domain/credential.ts'
import { agentWorld, ann, bot, world } from '../agent-world.ts'
import { edited, approved, HASH, held, MINUTE, newTask, openWorld, REVIEWED } from '../gateway-fixture.ts'

/**
 * Evidence (docs/evidence.md) is dense and complete for each verb. It gives a receipt for each answer, and it holds no
 * secrets.
 */

agentWorld()

const types = async (act: () => Promise<unknown>): Promise<string[]> =>
  (await world.evidenceOf(act)).map(({ record }) => record.type)

describe('evidence of each verb', () => {
  it('every decision, vote, revision, mint, redeem, refusal and expiry leaves its records, in order', async () => {
    expect(await types(() => bot.submit(newTask(), { tool_name: 't' }))).toEqual(['decision.allowed'])
    expect(await types(() => bot.submit(newTask(), { tool_name: 'bare' }))).toEqual(['decision.rejected'])
    let one = { task: '', thread: '' }
    expect(await types(async () => (one = await held(bot, { payload: { amount: 60_000 } })))).toEqual([
      'review.pending',
    ])
    expect(await types(() => ann.vote(one.thread, { decision: 'request_changes', revision: 1 }))).toEqual([
      'vote.cast',
      'review.changes_requested',
    ])
    const revision = { request_payload: { amount: 60_001 } }
    expect(await types(() => bot.revise(one.task, one.thread, revision))).toEqual(['review.revised'])
    expect(await types(() => ann.approve(one.thread, 2))).toEqual(['vote.cast'])
    const ben = await world.reviewer('ben')
    expect(await types(() => ben.approve(one.thread, 2))).toEqual(['vote.cast', 'review.approved'])
    let token: string | undefined
    expect(
      await types(async () => (token = (await bot.poll({ thread_id: one.thread })).body.approval_token)),
    ).toEqual(['token.minted'])
    const proof = { task_id: one.task, signature: token, request_payload: { amount: 60_001 } }
    expect(await types(() => bot.validate({ ...proof, request_payload: {} }))).toEqual(['token.refused'])
    expect(await types(() => bot.validate(proof))).toEqual(['token.redeemed'])
    expect(await types(() => bot.event('a', { event_type: 'x', event_summary: 'x' }))).toEqual([
      'agent.event',
    ])
    const no = await held(bot)
    expect(await types(() => ann.vote(no.thread, { decision: 'reject', revision: 1 }))).toEqual([
      'vote.cast',
      'review.rejected',
    ])
    const late = await held(bot, { tool_name: 'brief', payload: {} })
    world.clock.advance(MINUTE)
    expect(await types(() => bot.poll({ thread_id: late.thread }))).toEqual(['review.expired'])
    const reads = () =>
      Promise.all([bot.poll({ thread_id: no.thread }), ann.list(), ann.show(no.thread), bot.resolve([])])
    expect(await types(reads)).toEqual([])
  })

  it('a decision names rules, bundle, risks, hash and exactly the fields that the rules read', async () => {
    const [line] = await world.evidenceOf(() =>
      bot.submit('named', {
        tool_name: 'pay',
        payload: { amount: 5, to: 'x' },
        action_hash: HASH,
        risk_level: 'medium',
      }),
    )
    expect(line?.record).toEqual({
      v: 1,
      type: 'decision.allowed',
      tenant: 'acme',
      at: new Date(world.clock.now).toISOString(),
      actor: { kind: 'agent', id: 'bot', key: hashCredential(bot.key).slice(0, 16) },
      task_id: 'named',
      tool: 'pay',
      details: {
        verdict: 'allow',
        risk: 'medium',
        policy_risk: 'low',
        by: ['pay-small'],
        rules: ['pay-small'],
        shadow: ['pay-shadow'],
        shadow_outcome: { risk: 'medium', verdict: 'reject' },
        policy: world.app.deps.policies.current()?.revision,
        missing: ['payload.secret'],
        commitment: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
        masked: ['payload', 'action_hash'],
        hashed: true,
        claimed_risk: 'medium',
      },
    })
    expect(line?.disclosures?.members).toEqual({ 'reads.payload.amount': 5, 'reads.payload.to': 'x' })
  })

  it('a trace context is stored with the thread, and an invalid one is dropped', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const of = async (value: string) => {
      const [line] = await world.evidenceOf(() =>
        bot.submit(newTask(), { tool_name: 'pay', payload: REVIEWED }, { traceparent: value }),
      )
      return line?.record.details?.['traceparent']
    }
    expect(await of(traceparent)).toBe(traceparent)
    expect(await of('00-zz')).toBeUndefined()
  })

  it('has no gap when sixty calls race', async () => {
    const records = await world.evidenceOf(() =>
      Promise.all(Array.from({ length: 60 }, (_, i) => bot.submit(`race-${i % 7}`, { tool_name: 't' }))),
    )
    expect(records).toHaveLength(60)
  })
})

describe('the receipt of an answer', () => {
  it('Countersign-Evidence is the number and the leaf hash of the exported record', async () => {
    const receipts: (string | null)[] = []
    const noted = async <T extends { headers: Headers }>(answer: Promise<T>): Promise<T> => {
      const given = await answer
      receipts.push(given.headers.get('countersign-evidence'))
      return given
    }
    const task = newTask()
    const records = await world.evidenceOf(async () => {
      await noted(bot.submit(task, { tool_name: 't' }))
      const { body } = await noted(bot.submit(task, { tool_name: 'pay', payload: REVIEWED }))
      const thread = body.thread_id ?? ''
      await noted(bot.revise(task, thread, { request_payload: REVIEWED }))
      await noted(ann.approve(thread, 2))
      const read = await noted(bot.poll({ thread_id: thread }))
      const proof = { task_id: task, signature: read.body.approval_token, request_payload: REVIEWED }
      await noted(bot.validate(proof))
      await noted(bot.validate(proof))
      await noted(bot.event(task, { event_type: 'done', event_summary: '' }))
    })
    const exported = records.map((line) => `${line.number}:${line.leaf_hash}`)
    expect(receipts).toHaveLength(8)
    for (const receipt of receipts) expect(exported).toContain(receipt)
    expect(new Set(receipts).size).toBe(8)
    const last = records.at(-1)
    expect(receipts.at(-1)).toBe(`${last?.number}:${last?.leaf_hash}`)
  })

  it('an answer without a new record has no receipt', async () => {
    const { thread } = await held(bot)
    const { headers } = await bot.poll({ thread_id: thread })
    expect(headers.get('countersign-evidence')).toBeNull()
  })
})

describe('secrets', () => {
  it("canaries: no key, token or sensitive value in evidence, log or metrics, or in another's answer", async () => {
    const own = await openWorld()
    try {
      const agent = await own.agent()
      const reviewer = await own.reviewer('ann')
      const canary = 'canary-5ensitive'
      const payload = { amount: 500, secret: canary }
      const answers: string[] = []
      const small = await agent.submit(newTask(), {
        tool_name: 'pay',
        payload: { amount: 5, secret: canary },
      })
      const refused = await agent.submit(newTask(), {
        tool_name: 'pay',
        payload: { amount: 5, secret: `${canary}-forbidden` },
      })
      const bad = await agent.submit(newTask(), {
        tool_name: 'pay',
        payload: { amount: 5, pin: canary, secret: 7 },
      })
      expect([small.body.status, refused.body.status, bad.status]).toEqual(['allow', 'reject', 400])
      const one = await approved(agent, reviewer, { payload })
      await agent.revise(one.task, one.thread, { request_payload: payload })
      await agent.validate({ task_id: one.task, signature: one.token, request_payload: payload })
      await agent.poll({ thread_id: `thr_${'0'.repeat(26)}` }, { headers: { 'x-canary': agent.key } })
      answers.push(small.text, refused.text, bad.text, (await reviewer.list()).text)
      answers.push(JSON.stringify(await own.evidence()), JSON.stringify(await own.evidence('_system')))
      answers.push(own.logged.join(''), await (await fetch(own.app.metricsUrl)).text())
      const shown = await reviewer.show(one.thread)
      expect(shown.text).toContain(canary)
      const secrets = [agent.key, reviewer.key, one.token]
      for (const text of answers) {
        for (const secret of [...secrets, canary]) expect(text).not.toContain(secret)
      }
      for (const secret of secrets) expect(shown.text).not.toContain(secret)
      expect(own.logged.length).toBeGreaterThan(5)
    } finally {
      await own.close()
    }
  })

  it('keeps the names of sensitive values only, and no digest that covers one', async () => {
    const payload = { amount: 5, secret: '1234' }
    const lines = await world.evidenceOf(async () => {
      for (let i = 0; i < 2; i++) await bot.submit(newTask(), { tool_name: 'pay', payload })
    })
    for (const { record, disclosures } of lines) {
      expect(record.details?.['masked']).toEqual(['payload.secret', 'payload'])
      expect(disclosures?.members).toEqual({ 'reads.payload.amount': 5 })
    }
    const [one, other] = lines.map(({ record }) => record.details?.['commitment'])
    expect(one).not.toBe(other)
  })

  it('keeps every text of people and agents beside the log, and only there', async () => {
    const own = await openWorld()
    try {
      const [agent, ann] = [await own.agent(), await own.reviewer('ann')]
      const lines = await own.evidenceOf(async () => {
        const first = await held(agent, { payload: { amount: 60_000, to: 'canary-payload' } })
        const body = { comment: 'canary-comment' }
        await ann.call('POST', `threads/${first.thread}/comments`, { body })
        await ann.vote(first.thread, { decision: 'reject', revision: 1, comment: 'canary-vote' })
        const second = await held(agent, { payload: { amount: 60_000 } })
        await agent.withdraw(second.thread, { reason: 'canary-withdrawal' })
        const report = { event_type: 'x', event_summary: 'canary-report', payload: { a: 'canary-data' } }
        await agent.event('a', report)
        const freeze = { tenant: 'acme', tool: 'pay', reason: 'canary-freeze' }
        await own.admin('POST', 'freeze', { body: freeze })
      })
      const [log, beside] = [JSON.stringify(lines.map(({ record }) => record)), JSON.stringify(lines)]
      const canaries = ['payload', 'comment', 'vote', 'withdrawal', 'report', 'data', 'freeze']
      for (const one of canaries) {
        expect(log).not.toContain(`canary-${one}`)
        expect(beside, one).toContain(`canary-${one}`)
      }
    } finally {
      await own.close()
    }
  })

  it('a sensitive value that the rules ignore is not revealed by a digest either', async () => {
    const own = await openWorld({
      files: {
        'tools/safe.yaml':
          'tool: safe\ndescription: d\nrisk: low\nsensitive: [payload.code]\ninput_schema: { type: object, properties: { code: { type: string } } }\n',
        'rules/safe.yaml': 'tool: safe\nrules:\n  - id: safe-open\n    allow: Fine.\n',
      },
    })
    try {
      const agent = await own.agent('other')
      const lines = await own.evidenceOf(async () => {
        await agent.submit('a', { tool_name: 'safe', payload: { code: '1234' } })
        await agent.submit('a', { tool_name: 'safe', payload: {} })
      })
      for (const { record, disclosures } of lines) {
        expect(record.details?.['masked']).toEqual(['payload'])
        expect(disclosures).toBeUndefined()
      }
    } finally {
      await own.close()
    }
  })

  it('keeps no more of a value than the contract says, and none of the words that the bundle drops', async () => {
    const own = await openWorld({
      files: {
        'tools/order.yaml':
          'tool: order\ndescription: d\nsummary: Order {what} for {who}\nrisk: low\ndisclose: { payload.who: masked, payload.why: none, payload.extra: full }\ninput_schema: { type: object, properties: { what: { type: string }, who: { type: string }, why: { type: string }, extra: { type: string } } }\n',
        'rules/order.yaml':
          'tool: order\nmissing_means: { payload.who: nothing, payload.why: nothing, payload.what: nothing }\nrules:\n  - id: order-held\n    review: A.\n    when: { payload.what: { is: a }, payload.who: { not: b }, payload.why: { not: c } }\n',
        ...edited('directory.yaml', 'tools: [t, pay', 'tools: [order, t, pay'),
        ...edited(
          'routing.yaml',
          'unmatched: reject',
          'disclose: { comments: none, agent_words: none }\nunmatched: reject',
        ),
      },
    })
    try {
      const [agent, ann] = [await own.agent(), await own.reviewer('ann')]
      const lines = await own.evidenceOf(async () => {
        const payload = { what: 'a', who: 'canary-who', why: 'canary-why', extra: 'kept' }
        const { thread } = await held(agent, { tool_name: 'order', payload, action_hash: HASH })
        await ann.vote(thread, { decision: 'reject', revision: 1, comment: 'canary-comment' })
        await agent.event('a', { event_type: 'x', event_summary: 'canary-words' })
        const second = await held(agent, { tool_name: 'order', payload })
        await agent.withdraw(second.thread, { reason: 'canary-reason' })
      })
      expect(JSON.stringify(lines)).not.toContain('canary')
      const [asked, vote] = lines
      expect(asked?.record.details).toMatchObject({ masked: ['payload.who', 'payload', 'action_hash'] })
      expect(asked?.disclosures?.members).toEqual({
        'reads.payload.what': 'a',
        'reads.payload.extra': 'kept',
      })
      expect(vote?.record.details).toMatchObject({ commented: true })
    } finally {
      await own.close()
    }
  })
})
