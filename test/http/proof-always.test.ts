// @store each
import { readFileSync } from 'node:fs'
import { createGate, type NotExecuted } from '@countersign/sdk'
import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../src/contract/limits.ts'
import { agentWorld, ann, bot, world } from '../agent-world.ts'
import { newTask, openWorld } from '../gateway-fixture.ts'

const starter = (path: string): string =>
  readFileSync(new URL(`../../policies/${path}`, import.meta.url), 'utf8')

/** Tools with `proof: always` (docs/policy-language.md): a call that policy allows needs a proof as well. */

const RULES = `tool: once
rules:
  - { id: once, allow: Routine. }
limits:
  - { id: once-few, review: That is many., count: calls, at_most: 2, within: 20d, per: task }
`
const TOOL = `tool: once
description: A repeated call must not run again.
risk: low
proof: always
input_schema: { type: object }
`

agentWorld({ files: { 'tools/once.yaml': TOOL, 'rules/once.yaml': RULES } })

const CALL = { tool_name: 'once', payload: { n: 1 } }

async function proposed(task = newTask(), key?: string) {
  const answer = await bot.submit(task, CALL, key === undefined ? {} : { 'idempotency-key': key })
  return { task, ...answer.body, thread: answer.body.thread_id ?? '' }
}

async function collected(task?: string) {
  const { thread, ...one } = await proposed(task)
  const { approval_token } = (await bot.poll({ thread_id: thread })).body
  const proof = { task_id: one.task, signature: approval_token, request_payload: CALL.payload }
  return { thread, task: one.task, proof }
}

describe('POST requests for a tool with `proof: always`', () => {
  it('200 pending_review; the first poll is approved with a proof, which works once', async () => {
    let thread = ''
    let task = ''
    const records = await world.evidenceOf(async () => {
      const answer = await proposed()
      ;({ thread, task } = answer)
      expect(answer).toMatchObject({
        status: 'pending_review',
        message: 'Routine.',
        recommended_poll_after_seconds: 1,
      })
    })
    expect(records.map(({ record }) => record)).toMatchObject([
      {
        type: 'decision.approved',
        thread_id: thread,
        details: { by: ['once'], verdict: 'allow', requirement: { seats: [] } },
      },
    ])
    const waiting = (await ann.list({ status: 'pending_review' })).body.threads
    expect(waiting).toEqual([])
    const poll = (await bot.poll({ thread_id: thread })).body
    expect(poll).toMatchObject({ status: 'approved', approval_token: expect.any(String) as string })
    const proof = { task_id: task, signature: poll.approval_token, request_payload: CALL.payload }
    expect((await bot.validate(proof)).body).toEqual({ valid: true })
    expect((await bot.validate(proof)).body).toEqual({ valid: false, reason: 'used' })
    expect((await ann.show(thread)).body).toMatchObject({ status: 'approved', token: { state: 'redeemed' } })
  })

  it('200 for the same call id joins the same thread, also after the redemption', async () => {
    const task = newTask()
    const first = await proposed(task, 'call-1')
    const again = await proposed(task, 'call-1')
    expect(again.thread).toBe(first.thread)
    const { approval_token } = (await bot.poll({ thread_id: first.thread })).body
    await bot.validate({ task_id: task, signature: approval_token, request_payload: CALL.payload })
    expect((await proposed(task, 'call-1')).thread).toBe(first.thread)
    expect((await bot.poll({ thread_id: first.thread })).body.approval_token).toBeUndefined()
    expect((await bot.reissue(first.thread)).problem.code).toBe('proof_used')
  })

  it('200 charges each call once: reviewers see the third of two', async () => {
    const task = newTask()
    for (let i = 0; i < 2; i++) {
      const { proof } = await collected(task)
      expect((await bot.validate(proof)).body.valid).toBe(true)
    }
    const { thread } = await proposed(task)
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('pending_review')
    await ann.vote(thread, { decision: 'reject', comment: 'enough', revision: 1 })
  })

  it('200 of the starter: ten transfers of 100.00 to one account, each charged once, then reviewers', async () => {
    const files = Object.fromEntries(
      ['tools/ledger.transfer.yaml', 'rules/ledger.transfer.yaml'].map((path) => [path, starter(path)]),
    )
    const bank = await openWorld({ files })
    const clerk = await bank.agent('other')
    const move = async (to: string) => {
      const request_payload = { from: 'acct_ops', to, amount_cents: 10_000, currency: 'eur' }
      const task_id = newTask()
      const { thread_id = '', message } = (
        await clerk.submit(task_id, { tool_name: 'ledger.transfer', payload: request_payload })
      ).body
      const { approval_token: signature } = (await clerk.poll({ thread_id })).body
      if (signature === undefined) return message
      return (await clerk.validate({ task_id, signature, request_payload })).body.valid
    }
    for (let i = 0; i < 10; i++) expect(await move('acct_a')).toBe(true)
    expect(await move('acct_a')).toMatch(/^More than 1,000.00 moved to one account in a day/)
    for (let i = 0; i < 10; i++) expect(await move(`acct_${i}`)).toBe(true)
    expect(await move('acct_z')).toMatch(/^More than 2,000.00 moved by one agent in a day/)
    await bank.close()
  })

  it('200 allow for an agent without signed approvals', async () => {
    const unsigned = await world.agent('unsigned')
    expect((await unsigned.submit(newTask(), CALL)).body.status).toBe('allow')
  })

  it('a proof that expires unused gives its charge back, and an approval that is not read ends after a day', async () => {
    const task = newTask()
    const { proof } = await collected(task)
    const { thread } = await proposed(task)
    world.clock.advance(LIMITS.TOKEN_TTL_MS)
    await world.due()
    expect((await bot.validate(proof)).body).toEqual({ valid: false, reason: 'expired' })
    expect((await bot.poll({ thread_id: (await proposed(task)).thread })).body.status).toBe('approved')
    world.clock.advance(LIMITS.IDEMPOTENCY_MS)
    await world.due()
    expect((await bot.poll({ thread_id: thread })).body).toMatchObject({
      status: 'rejected',
      message: expect.stringMatching(/^expired: /) as string,
    })
  })

  it('policy that asks reviewers meanwhile ends the approval at its redemption', async () => {
    const { proof, thread } = await collected()
    await world.changePolicies({ 'rules/once.yaml': RULES.replace('allow: Routine.', 'review: Look.') })
    expect((await bot.validate(proof)).body).toEqual({ valid: false, reason: 'invalid' })
    expect((await bot.poll({ thread_id: thread })).body).toMatchObject({
      status: 'rejected',
      message: 'policy_changed: the policy in force now asks reviewers about this action',
    })
    await world.changePolicies({ 'rules/once.yaml': RULES })
  })
})

describe('a step that is repeated after a crash', () => {
  it('runs once, in one client and in two', async () => {
    const { key } = await world.agent('other')
    const taskId = newTask()
    const gates = [1, 2].map(() => createGate({ url: world.url, key, taskId }))
    let ran = 0
    const outcomes: unknown[] = []
    for (let i = 0; i < 5; i++)
      await gates[i % 2]
        ?.guard('once', { n: 1 }, () => ++ran, { callId: 'step-1', onPending: () => expect.fail('asked') })
        .catch((error: unknown) => outcomes.push((error as NotExecuted).message))
    expect(ran).toBe(1)
    expect(outcomes).toEqual(Array(4).fill(expect.stringContaining('it was started')))
  })
})
