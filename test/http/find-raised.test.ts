import { join } from 'node:path'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { beforeEach, describe, expect, it } from 'vitest'
import type { RaisedThreads } from '../../src/contract/admin.ts'
import { BUNDLE } from '../bundle.ts'
import { runCli } from '../cli/run.ts'
import { eachWorld, world } from '../agent-world.ts'
import { ADMIN_KEY, type Agent, edited, held, type Reviewer, writeBundle } from '../gateway-fixture.ts'

/** The waiting calls that another bundle would raise (docs/operations.md). */

let bot: Agent
let cat: Reviewer

eachWorld()
beforeEach(async () => {
  bot = await world.agent()
  cat = await world.reviewer('cat')
})

const RAISED = edited(
  'rules/pay.yaml',
  'review: More than pocket money.',
  'review: More than pocket money.\n    risk: critical',
)
const ask = (files: Record<string, string>, tenant = 'acme') =>
  world.admin<RaisedThreads>('POST', 'policies/waiting', {
    body: { tenant, payload: { ...BUNDLE, ...files } },
  })

describe('POST policies/waiting', () => {
  it('200 with each waiting call and uncollected approval that would be raised, and changes nothing', async () => {
    const waiting = await held(bot)
    const uncollected = await held(bot)
    await cat.approve(uncollected.thread)
    const high = await held(bot, { payload: { amount: 20_000 } })
    const used = await held(bot)
    await cat.approve(used.thread)
    await bot.poll({ thread_id: used.thread })
    const records = await world.evidenceOf(async () => {
      const { body } = await ask(RAISED)
      expect(body.examined).toBe(3)
      expect(body.threads.map(({ thread_id }) => thread_id).sort()).toEqual(
        [waiting.thread, uncollected.thread].sort(),
      )
      expect(body.threads).toMatchObject([
        { asks: 'two of board', fillable: true },
        { asks: 'two of board', fillable: true },
      ])
      expect((await ask({})).body).toEqual({ threads: [], examined: 3 })
      expect((await ask(RAISED, 'globex')).body).toEqual({ threads: [], examined: 0 })
    })
    expect(records).toEqual([])
    expect((await bot.poll({ thread_id: uncollected.thread })).body.status).toBe('approved')
    expect((await cat.show(high.thread)).body.raised).toBeUndefined()
  })

  it('200 says where no reviewers can fill the seats, and names the remedy', async () => {
    const { thread } = await held(bot, { subject: 'ann' })
    const eve = await held(bot, { subject: 'ben' })
    const fewer = edited(
      'directory.yaml',
      'eve:  { name: Eve Elm, groups: [board, leads] }',
      'eve:  { name: Eve Elm, groups: [leads] }',
    )
    const { body } = await ask({ ...RAISED, ...fewer })
    expect(body.threads).toContainEqual({
      thread_id: thread,
      asks: 'two of board, which no reviewers can fill: the agent withdraws the call and submits it again',
      fillable: false,
    })
    expect(body.threads).toHaveLength(2)
    expect(body.threads.map(({ thread_id }) => thread_id)).toContain(eve.thread)
  })

  it('400 for a bundle that does not load', async () => {
    const { status, problem } = await ask({ 'routing.yaml': 'unmatched: perhaps\n' })
    expect([status, problem.code]).toEqual([400, 'invalid_request'])
    expect(problem.detail).toContain('the bundle does not load: routing.yaml')
  })

  it('200 for files beyond the limit of other bodies', async () => {
    const long = `${BUNDLE['rules/open.yaml']}# ${'x'.repeat(400_000)}\n`
    expect((await ask({ 'rules/open.yaml': long })).status).toBe(200)
  })
})

describe('countersign diff --waiting', () => {
  it('prints ids and seats, and no value of a call', async () => {
    const { thread } = await held(bot, { payload: { amount: 500, to: 'a-secret-place' } })
    const dir = await mkdtemp(join(tmpdir(), 'countersign-new-'))
    try {
      await writeBundle(dir, { ...BUNDLE, ...RAISED })
      const run = (...more: string[]) =>
        runCli(['diff', world.policies, dir, '--waiting', '--url', world.url, ...more], {
          cwd: dir,
          env: { COUNTERSIGN_ADMIN_KEY: ADMIN_KEY },
        })
      const { code, out } = await run('--tenant', 'acme')
      expect(code).toBe(0)
      expect(out.trimEnd().split('\n').slice(-2)).toEqual([
        `${thread}  asks for two of board`,
        '1 of 1 waiting calls raised',
      ])
      expect(out).not.toContain('a-secret-place')
      expect((await run()).err).toContain('--waiting needs --tenant TENANT')
    } finally {
      await rm(dir, { recursive: true, force: true })
    }
  })
})
