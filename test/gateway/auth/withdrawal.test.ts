// @store each
import { createHash } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import type { PoliciesView } from '../../../src/contract/admin.ts'
import { poll } from '../../../src/gateway/agent/poll.ts'
import { identify } from '../../../src/gateway/auth/identify.ts'
import { vote } from '../../../src/gateway/review/vote.ts'
import { READS_APART_MS } from '../../../src/policy/bundle/watch.ts'
import { BUNDLE } from '../../bundle.ts'
import { eachWorld, world } from '../../agent-world.ts'
import {
  type Agent,
  approved,
  elsewhere,
  held,
  HOUR,
  newTask,
  type Reviewer,
  until,
  writeBundle,
} from '../../gateway-fixture.ts'

/** Rights that a directory takes away while its bundle does not load (docs/operations.md). */

let bot: Agent
let ben: Reviewer
/** Time of the watch of the bundle, which alone counts the three seconds between two reads. */
let reads: number

eachWorld(() => {
  reads = 0
  return {
    policyClock: {
      setTimeout,
      clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
      now: () => reads,
    },
  }
})
beforeEach(async () => {
  bot = await world.agent()
  ben = await world.reviewer('ben')
})

const DIRECTORY = BUNDLE['directory.yaml'] ?? ''
const BEN = '      ben:  { name: Ben Bay, groups: [desk, board] }\n'
const BROKEN = { 'routing.yaml': `${BUNDLE['routing.yaml']}no_such_key: 1\n` }
const without = (passage: string, instead = ''): string => {
  expect(DIRECTORY).toContain(passage)
  return DIRECTORY.replace(passage, instead)
}

/** Writes a bundle that does not load, with this directory. Resolves when the gateway has refused it. */
const breakWith = (directory: string): Promise<void> =>
  world.changePolicies({ ...BROKEN, 'directory.yaml': directory })
const withdrawn = (): boolean => world.app.deps.policies.current()?.withdrawal !== undefined
/** Lets the second read happen, three seconds after the first. */
async function readAgain(): Promise<void> {
  reads += READS_APART_MS
  await until(withdrawn)
}
const mend = (): Promise<void> => world.changePolicies({ ...BUNDLE })

describe('a reviewer who leaves the directory of a bundle that does not load', () => {
  it('keeps the rights until a second read three seconds later, and then has none', async () => {
    const session = await world.signIn('ben')
    const { thread } = await held(bot)
    await breakWith(without(BEN))
    reads += READS_APART_MS - 1
    expect([withdrawn(), (await ben.show(thread)).status]).toEqual([false, 200])
    reads -= READS_APART_MS - 1
    await readAgain()
    for (const who of [ben, session]) expect((await who.approve(thread)).status).toBe(401)
    expect((await world.admin('POST', 'reviewers/acme/ben/login-link')).status).toBe(404)
    const { body } = await world.admin<PoliciesView>('GET', 'policies')
    expect(body.withdrawals).toMatch(
      /^withdrawals of [0-9a-f]{12}, rules of [0-9a-f]{12}, 1 of 10 reviewers$/,
    )
    expect(body.revision).not.toBe(body.last_load.revision)
  })

  it('returns with the next bundle that loads, with the session that rested', async () => {
    const session = await world.signIn('ben')
    const { thread } = await held(bot)
    await breakWith(without(BEN))
    await readAgain()
    await world.due()
    expect((await session.show(thread)).status).toBe(401)
    await mend()
    expect(withdrawn()).toBe(false)
    expect((await session.approve(thread)).body.status).toBe('approved')
  })

  it('supports no proof: the redemption is refused, and the thread ends', async () => {
    const { task, token, payload, thread } = await approved(bot, ben)
    await breakWith(without(BEN))
    await readAgain()
    const proof = { task_id: task, signature: token, request_payload: payload }
    expect((await bot.validate(proof)).body).toEqual({ valid: false, reason: 'invalid' })
    await mend()
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('rejected')
    expect((await bot.validate(proof)).body.valid).toBe(false)
  })

  it('does not end an approval that was not collected, which waits until the next bundle', async () => {
    const { thread } = await held(bot)
    expect((await ben.approve(thread)).body.status).toBe('approved')
    await breakWith(without(BEN))
    await readAgain()
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('pending_review')
    await world.due()
    await mend()
    const { body } = await bot.poll({ thread_id: thread })
    expect([body.status, typeof body.approval_token]).toEqual(['approved', 'string'])
  })

  it('loses a group alone, and votes for the other groups', async () => {
    const { thread } = await held(bot)
    await breakWith(without('groups: [desk, board]', 'groups: [board, leads]'))
    await readAgain()
    expect((await ben.approve(thread)).status).toBe(403)
    const { groups } =
      world.app.deps.policies.current()?.directory.tenants.get('acme')?.reviewers.get('ben') ?? {}
    expect(groups).toEqual(['board'])
  })
})

describe('a directory without the reviewers, whose bundle does not load', () => {
  const OWNER = `tenants:
  acme:
    agents:
      bot: { owners: [olga], tools: [t, pay, hold, brief, bare, once] }
    reviewers:
      olga: { name: Olga Orr, groups: [desk, leads, board, audit] }
`

  it('keeps all but the owner out, holds the calls until their end, and ends nothing else', async () => {
    const { thread } = await held(bot)
    const uncollected = await held(bot)
    await ben.approve(uncollected.thread)
    await breakWith(OWNER)
    await readAgain()
    expect((await ben.approve(thread)).status).toBe(401)
    expect((await (await world.reviewer('olga')).approve(thread)).problem.code).toBe('self_review')
    expect((await bot.poll({ thread_id: uncollected.thread })).body.status).toBe('pending_review')
    const { body } = await world.admin<PoliciesView>('GET', 'policies')
    expect(body.withdrawals).toContain('9 of 10 reviewers')
    expect((await bot.submit(newTask(), { tool_name: 't', payload: {} })).body.status).toBe('allow')
    await mend()
    expect((await bot.poll({ thread_id: uncollected.thread })).body.status).toBe('approved')
    world.clock.advance(9 * HOUR)
    await world.due()
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('rejected')
  })

  it('keeps everyone out when it has no agents either, until the next bundle', async () => {
    await breakWith('tenants:\n  acme: { agents: {}, reviewers: {} }\n')
    await readAgain()
    expect((await bot.submit(newTask(), { tool_name: 't', payload: {} })).status).toBe(401)
    expect((await ben.call('GET', 'me')).status).toBe(401)
    await mend()
    expect((await ben.call('GET', 'me')).status).toBe(200)
  })
})

describe('a manifest in the directory of a running gateway', () => {
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
  const locked = (directory: string) => ({ 'countersign.lock': `${sha256(directory)}  directory.yaml\n` })
  /** Resolves when the gateway has refused the files: a bundle that differs from its manifest has no revision. */
  async function refuse(files: Record<string, string>): Promise<void> {
    const { policies } = world.app.deps
    const before = policies.status().lastLoad
    await writeBundle(world.policies, files)
    await until(() => policies.status().lastLoad !== before)
  }

  it('lets only the directory that it names take rights away', async () => {
    const newer = without(BEN)
    await refuse(locked(DIRECTORY))
    await refuse({ 'directory.yaml': newer })
    reads += READS_APART_MS
    await refuse({ 'rules/open.yaml': `${BUNDLE['rules/open.yaml']}# looked at\n` })
    reads += READS_APART_MS
    await refuse({ 'rules/open.yaml': `${BUNDLE['rules/open.yaml']}# looked at again\n` })
    expect([withdrawn(), (await ben.call('GET', 'me')).status]).toEqual([false, 200])
    await refuse(locked(newer))
    await readAgain()
    expect((await ben.call('GET', 'me')).status).toBe(401)
  })
})

describe('an agent in the directory of a bundle that does not load', () => {
  it('is refused once it left', async () => {
    await breakWith(without('      other:    { owners: [olga] }\n'))
    const other = await world.agent('other')
    await readAgain()
    expect((await other.submit(newTask(), { tool_name: 't', payload: {} })).status).toBe(401)
    await mend()
    expect((await other.submit(newTask(), { tool_name: 't', payload: {} })).body.status).toBe('allow')
  })

  it('may not use a tool that was taken away, and gets no tool that was added', async () => {
    await breakWith(without('tools: [t, pay, hold, brief, bare, once]', 'tools: [pay, hold, private]'))
    await readAgain()
    for (const tool_name of ['t', 'private'])
      expect((await bot.submit(newTask(), { tool_name, payload: {} })).body.status).toBe('reject')
    await held(bot)
  })

  it('keeps an approval for the tool, which is read once a bundle loads', async () => {
    const { thread } = await held(bot)
    await ben.approve(thread)
    await breakWith(without('tools: [t, pay, hold, brief, bare, once]', 'tools: [t]'))
    await readAgain()
    expect((await bot.poll({ thread_id: thread })).status).toBe(503)
    await mend()
    const { body } = await bot.poll({ thread_id: thread })
    expect([body.status, typeof body.approval_token]).toEqual(['approved', 'string'])
  })
})

describe('two gateways, of which one has read the newer directory', () => {
  it('each count votes as they know the people, and the one that knows more refuses the proof', async () => {
    const { task, thread, payload } = await held(bot)
    await breakWith(without(BEN))
    await readAgain()
    const { policies } = world.app.deps
    const whole = policies.current()?.withdrawal?.whole as ReturnType<typeof policies.current>
    const other = { ...elsewhere(world), policies: { ...policies, current: () => whole } }
    const voter = await identify(other, 'reviewer', ben.key)
    await vote(other, voter, { thread_id: thread, vote: { decision: 'approve', revision: 1 } })
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('pending_review')
    const caller = await identify(other, 'agent', bot.key)
    const { answer } = await poll(other, caller, { thread_id: thread }, { callerGone: () => false })
    expect(answer.status).toBe('approved')
    const proof = { task_id: task, signature: answer.approval_token, request_payload: payload }
    expect((await bot.validate(proof)).body).toEqual({ valid: false, reason: 'invalid' })
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('rejected')
  })
})
