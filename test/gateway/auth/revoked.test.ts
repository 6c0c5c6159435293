// @store each
import { describe, expect, it } from 'vitest'
import type { GatewayError } from '../../../src/contract/errors.ts'
import type { Caller } from '../../../src/gateway/core/caller.ts'
import { claim, release } from '../../../src/gateway/review/claim.ts'
import { comment } from '../../../src/gateway/review/comment.ts'
import type { Deps } from '../../../src/gateway/core/deps.ts'
import { identify } from '../../../src/gateway/auth/identify.ts'
import { revokeKey } from '../../../src/gateway/auth/keys.ts'
import { poll } from '../../../src/gateway/agent/poll.ts'
import { report } from '../../../src/gateway/agent/report.ts'
import { resolve } from '../../../src/gateway/agent/resolve.ts'
import { revise } from '../../../src/gateway/agent/revise.ts'
import { submit } from '../../../src/gateway/agent/submit.ts'
import { redeem } from '../../../src/gateway/agent/redeem.ts'
import { vote } from '../../../src/gateway/review/vote.ts'
import { BUNDLE } from '../../bundle.ts'
import { ann, bot, eachAgentWorld, world } from '../../agent-world.ts'
import { approved, elsewhere, held, newTask, Overtaking, REVIEWED } from '../../gateway-fixture.ts'

/** A key that another gateway revokes between a verb's reads and its commit (docs/operations.md). */

let overtaking: Overtaking

eachAgentWorld(() => {
  overtaking = new Overtaking()
  return { wrapStore: overtaking.wrapStore }
})

const NO_THREAD = 'thr_00000000000000000000000000'

type Act = () => Promise<{ readonly status: number }>
type Verbs = Readonly<Record<string, () => Promise<Act>>>

const submitting = (tool_name: string, payload: object) => (): Promise<Act> =>
  Promise.resolve(() => bot.submit(newTask(), { tool_name, payload }))

const OF_AGENTS: Verbs = {
  'a call that policy allows': submitting('t', {}),
  'a call that policy holds': submitting('pay', REVIEWED),
  'a call that policy rejects': submitting('pay', { amount: 1_000_000 }),
  'a call under an Idempotency-Key': () =>
    Promise.resolve(() => bot.submit(newTask(), { tool_name: 't', payload: {} }, { 'idempotency-key': 'k' })),
  'a call of what is frozen': async () => {
    const body = { tenant: 'acme', tool: 't', reason: 'odd' }
    expect((await world.admin('POST', 'freeze', { body })).status).toBe(200)
    return submitting('t', {})()
  },
  'a revision': async () => {
    const { task, thread } = await held(bot)
    return () => bot.revise(task, thread, { request_payload: { amount: 600 } })
  },
  'an event': () =>
    Promise.resolve(() => bot.event(newTask(), { event_type: 'note', event_summary: 'It went on.' })),
  'the poll that would get the proof': async () => {
    const { thread } = await held(bot)
    await ann.approve(thread)
    return () => bot.poll({ thread_id: thread })
  },
  'a redemption': async () => {
    const { task, token, payload } = await approved(bot, ann)
    return () => bot.validate({ task_id: task, signature: token, request_payload: payload })
  },
}

const OF_REVIEWERS: Verbs = {
  'an approval': voting({ decision: 'approve' }),
  'a rejection': voting({ decision: 'reject' }),
  'a request for changes': voting({ decision: 'request_changes', comment: 'Less, please.' }),
  'a comment': acting((thread) =>
    ann.call('POST', `threads/${thread}/comments`, { body: { comment: 'Hm.' } }),
  ),
  'a claim': acting((thread) => ann.call('POST', `threads/${thread}/claim`, { body: {} })),
  'a release': async () => {
    const { thread } = await held(bot)
    expect((await ann.call('POST', `threads/${thread}/claim`, { body: {} })).status).toBe(200)
    return () => ann.call('POST', `threads/${thread}/release`)
  },
  'a look at hidden values': async () => {
    const { thread } = await held(bot, { payload: { amount: 500, secret: 's3' } })
    return () => ann.call('POST', `threads/${thread}/reveal`, { body: { revision: 1 } })
  },
}

function acting(act: (thread: string) => ReturnType<Act>): () => Promise<Act> {
  return async () => {
    const { thread } = await held(bot)
    return () => act(thread)
  }
}

function voting(ballot: {
  decision: 'approve' | 'reject' | 'request_changes'
  comment?: string
}): () => Promise<Act> {
  return acting((thread) => ann.vote(thread, { revision: 1, ...ballot }))
}

describe.each([
  { kind: 'agent', id: 'bot', verbs: OF_AGENTS },
  { kind: 'reviewer', id: 'ann', verbs: OF_REVIEWERS },
] as const)('a key of $kind that is revoked during the request', ({ kind, id, verbs }) => {
  it.each(Object.keys(verbs))('%s is refused with 401, and writes nothing', async (name) => {
    const act = await verbs[name]?.()
    let status: number | undefined
    const records = await world.evidenceOf(async () => {
      overtaking.before = () => revokeKey(elsewhere(world), { tenant: 'acme', kind, id })
      status = (await act?.())?.status
      expect(overtaking.before).toBeUndefined()
    })
    expect(records.map(({ record }) => record.type)).toEqual(['key.revoked'])
    expect(status).toBe(401)
  })
})

/** These verbs make no commit that could guard the key, and this gateway does not know of the revocation. */
const OF_WORDS: Verbs = {
  'a poll of what waits': async () => {
    const { thread } = await held(bot)
    return () => bot.poll({ thread_id: thread })
  },
  'a poll of what is decided': async () => {
    const { thread } = await held(bot)
    await ann.vote(thread, { decision: 'reject', revision: 1 })
    return () => bot.poll({ thread_id: thread })
  },
  'a poll of what is not there': () => Promise.resolve(() => bot.poll({ task_id: newTask() })),
  'an allow, asked for again': again('t', {}),
  'a rejection, asked for again': again('pay', { amount: 1_000_000 }),
  'a wait for people, asked for again': again('pay', REVIEWED),
  'a look at the tools': () => Promise.resolve(() => bot.resolve([])),
  'a proof that is none': () => Promise.resolve(() => bot.validate({ signature: 'none' })),
}

/** Submits under one Idempotency-Key, so that the gateway repeats the first answer. */
function again(tool_name: string, payload: object): () => Promise<Act> {
  const task = newTask()
  return () => Promise.resolve(() => bot.submit(task, { tool_name, payload }, { 'idempotency-key': 'k' }))
}

describe("an agent's key that another gateway has revoked", () => {
  it.each(Object.keys(OF_WORDS))('%s is refused with 401', async (name) => {
    const act = await OF_WORDS[name]?.()
    expect((await act?.())?.status).not.toBe(401)
    await revokeKey(elsewhere(world), { tenant: 'acme', kind: 'agent', id: 'bot' })
    expect((await act?.())?.status).toBe(401)
  })
})

/** Verbs as they run once the body has arrived. The gateway checked the credential earlier. */
const OF_AN_AGENT: Record<string, (deps: Deps, caller: Caller) => Promise<unknown>> = {
  'a poll': (deps, caller) => poll(deps, caller, { task_id: 'none' }, { callerGone: () => false }),
  'a redemption': (deps, caller) => redeem(deps, caller, { signature: undefined }),
  'an event': (deps, caller) => report(deps, caller, 'a', { event_type: 'x', event_summary: 'x' }),
  'a revision': (deps, caller) =>
    revise(deps, caller, {
      taskId: 'a',
      thread_id: NO_THREAD,
      revision: { revision_id: 'r1', tool_name: 't', subject: 'Again.', request_payload: {} },
    }),
  'a call': (deps, caller) => submit(deps, caller, { taskId: 'a', request: { tool_name: 't' } }),
  'a look at the tools': (deps, caller) => resolve(deps, caller, []),
}
const OF_A_REVIEWER: typeof OF_AN_AGENT = {
  'a vote': (deps, caller) =>
    vote(deps, caller, { thread_id: NO_THREAD, vote: { decision: 'approve', revision: 1 } }),
  'a comment': (deps, caller) => comment(deps, caller, { thread_id: NO_THREAD, text: 'Hm.' }),
  'a claim': (deps, caller) => claim(deps, caller, { thread_id: NO_THREAD, takeOver: false }),
  'a release': (deps, caller) => release(deps, caller, NO_THREAD),
}

it('an agent that left the directory during the request gets no replayed answer', async () => {
  const { deps } = world.app
  const caller = await identify(deps, 'agent', (await world.agent('short')).key)
  const asking = { taskId: 'a', request: { tool_name: 'pay', payload: REVIEWED }, idempotencyKey: 'k' }
  expect((await submit(deps, caller, asking)).answer.status).toBe('pending_review')
  const directory = BUNDLE['directory.yaml']?.replace(/ +short: .*\n/, '') ?? ''
  await world.changePolicies({ 'directory.yaml': directory })
  await expect(submit(deps, caller, asking)).rejects.toMatchObject({ code: 'unauthenticated' })
})

describe.each([
  { kind: 'agent', verbs: OF_AN_AGENT, entry: / +short: .*\n/, key: () => world.agent('short') },
  { kind: 'reviewer', verbs: OF_A_REVIEWER, entry: / +nil: .*\n/, key: () => world.reviewer('nil') },
] as const)(
  'a credential of $kind that left the directory during the request',
  ({ kind, verbs, entry, key }) => {
    it(`${Object.keys(verbs).join(', ')}: each is refused before any other answer, and writes nothing`, async () => {
      const { deps } = world.app
      const caller = await identify(deps, kind, (await key()).key)
      const directory = BUNDLE['directory.yaml']?.replace(entry, '') ?? ''
      await world.changePolicies({ 'directory.yaml': directory })
      const records = await world.evidenceOf(async () => {
        for (const [name, act] of Object.entries(verbs)) {
          const said = await act(deps, caller).catch((error: unknown) => (error as GatewayError).code)
          expect([name, said]).toEqual([name, 'unauthenticated'])
        }
      })
      expect(records).toEqual([])
    })
  },
)
