// @store each, in the soak
import { beforeAll, describe, expect, it } from 'vitest'
import { composeCredential } from '../../src/domain/credential.ts'
import { LIMITS } from '../../src/contract/limits.ts'
import { agentWorld, ann, bot, world } from '../agent-world.ts'
import {
  approved,
  edited,
  HASH,
  HOUR,
  held,
  MINUTE,
  newTask,
  openWorld,
  OTHER_HASH,
  REVIEWED,
  type Reviewer,
} from '../gateway-fixture.ts'

/** POST /api/agent/approvals/validate (docs/agent-api.md). */

let ben: Reviewer

agentWorld()
beforeAll(async () => {
  ben = await world.reviewer('ben')
})

const INVALID = { valid: false, reason: 'invalid' }
const USED = { valid: false, reason: 'used' }
const EXPIRED = { valid: false, reason: 'expired' }

/** The proof of an approved V1 thread. */
const proofOf = (one: { task: string; token: string; payload: unknown }) => ({
  task_id: one.task,
  signature: one.token,
  request_payload: one.payload,
})

async function v2(action_hash = HASH) {
  const one = await approved(bot, ann, { action_hash })
  return { ...one, proof: { ...proofOf(one), thread_id: one.thread, action_hash } }
}

describe('POST validate, a real token in an invalid body', () => {
  it('200 invalid, the refusal is evidence, and the token still works', async () => {
    const one = await approved(bot, ann)
    const records = await world.evidenceOf(async () => {
      const { status, body } = await bot.validate({ task_id: one.task, signature: one.token, extra: 1 })
      expect([status, body]).toEqual([200, INVALID])
    })
    expect(records.map(({ record }) => record.type)).toEqual(['token.refused'])
    expect((await bot.validate(proofOf(one))).body).toEqual({ valid: true })
  })
})

describe('POST validate, redeemed', () => {
  it('200 valid for V1: nothing but valid, and the second time used', async () => {
    const one = await approved(bot, ann)
    const first = await bot.validate(proofOf(one))
    expect([first.status, first.body]).toEqual([200, { valid: true }])
    const second = await bot.validate(proofOf(one))
    expect([second.status, second.body]).toEqual([200, USED])
  })

  it('200 valid for V1 that names its thread', async () => {
    const one = await approved(bot, ann)
    expect((await bot.validate({ ...proofOf(one), thread_id: one.thread })).body).toEqual({ valid: true })
  })

  it('200 valid for V2 with task, thread and hash', async () => {
    const { proof, task, thread } = await v2()
    const { status, body } = await bot.validate(proof)
    expect([status, body]).toEqual([
      200,
      { valid: true, task_id: task, thread_id: thread, action_hash: HASH },
    ])
    expect((await bot.validate(proof)).body).toEqual(USED)
  })

  it('200 valid for exactly one of sixteen calls at once, used for the others', async () => {
    const { proof } = await v2()
    const answers = await Promise.all(Array.from({ length: 16 }, () => bot.validate(proof)))
    expect(answers.filter(({ body }) => body.valid)).toHaveLength(1)
    expect(answers.filter(({ body }) => body.reason === 'used')).toHaveLength(15)
  })

  it('200 valid whatever the order of members and the spelling of numbers (RFC 8785)', async () => {
    const payload = { amount: 500, to: 'x' }
    const one = await approved(bot, ann, { payload })
    const raw = `{"task_id":"${one.task}","signature":"${one.token}","request_payload":{"to":"\\u0078","amount":5.0e2}}`
    expect((await bot.call('POST', 'approvals/validate', { raw })).body).toEqual({ valid: true })
  })

  it('200 valid for an older thread of a task that was reused', async () => {
    const one = await approved(bot, ann)
    const next = await held(bot, { payload: { amount: 999 } }, one.task)
    await ann.vote(next.thread, { decision: 'reject', revision: 1 })
    expect((await bot.validate(proofOf(one))).body).toEqual({ valid: true })
  })

  it("200 used even after the token's expiry, until its record is deleted after a week", async () => {
    const one = await approved(bot, ann)
    await bot.validate(proofOf(one))
    world.clock.advance(HOUR)
    expect((await bot.validate(proofOf(one))).body).toEqual(USED)
    world.clock.advance(LIMITS.TOKEN_RETENTION_MS)
    await world.due()
    expect((await bot.validate(proofOf(one))).body).toEqual(INVALID)
  })
})

describe('POST validate, expired', () => {
  it('200 valid one millisecond before the expiry and expired at it; the token does not change', async () => {
    const [early, late] = [await v2(), await v2()]
    world.clock.advance(10 * MINUTE - 1)
    expect((await bot.validate(early.proof)).body.valid).toBe(true)
    world.clock.advance(1)
    expect((await bot.validate(late.proof)).body).toEqual(EXPIRED)
    expect((await bot.validate(late.proof)).body).toEqual(EXPIRED)
  })

  it('200 invalid precedes used, and used precedes expired', async () => {
    const spent = await v2()
    await bot.validate(spent.proof)
    expect((await bot.validate({ ...spent.proof, task_id: 'another' })).body).toEqual(INVALID)
    world.clock.advance(HOUR)
    expect((await bot.validate(spent.proof)).body).toEqual(USED)
    const fresh = await v2()
    world.clock.advance(HOUR)
    expect((await bot.validate({ ...fresh.proof, action_hash: OTHER_HASH })).body).toEqual(INVALID)
    expect((await bot.validate(fresh.proof)).body).toEqual(EXPIRED)
  })

  it('200 expired after the lifetime that the directory gives the agent', async () => {
    const short = await world.agent('short')
    const one = await approved(short, ann)
    world.clock.advance(MINUTE)
    expect((await short.validate(proofOf(one))).body).toEqual(EXPIRED)
  })
})

describe('POST validate, bindings', () => {
  const THREADS = ['right', 'missing', 'wrong'] as const
  const cases = THREADS.flatMap((thread) => THREADS.map((hash) => [thread, hash] as const))

  it.each(cases)(
    '200 for V2 with the thread %s and the hash %s, redeemed only when both are right',
    async (thread, hash) => {
      const one = await v2()
      const other = await held(bot)
      const { thread_id, action_hash, ...rest } = one.proof
      const threads = { right: { thread_id }, missing: {}, wrong: { thread_id: other.thread } }
      const hashes = { right: { action_hash }, missing: {}, wrong: { action_hash: OTHER_HASH } }
      const { body } = await bot.validate({ ...rest, ...threads[thread], ...hashes[hash] })
      if (thread === 'right' && hash === 'right') {
        expect(body.valid).toBe(true)
        return
      }
      expect(body).toEqual(INVALID)
      expect((await bot.validate(one.proof)).body.valid).toBe(true)
    },
  )

  it.each([
    ['an action hash', { action_hash: HASH }],
    ['another thread', { thread_id: 'thr_00000000000000000000000000' }],
    ['another task', { task_id: 'another' }],
    ['another payload', { request_payload: { amount: 501 } }],
    ['a payload with one member more', { request_payload: { ...REVIEWED, to: 'x' } }],
    ['an empty payload', { request_payload: {} }],
  ])('200 invalid for V1 with %s, and nothing is redeemed', async (_, change) => {
    const one = await approved(bot, ann)
    expect((await bot.validate({ ...proofOf(one), ...change })).body).toEqual(INVALID)
    expect((await bot.validate(proofOf(one))).body).toEqual({ valid: true })
  })

  it.each([
    ['another task', { task_id: 'another' }],
    ['another payload', { request_payload: { amount: 501 } }],
  ])('200 invalid for V2 with %s, and nothing is redeemed', async (_, change) => {
    const one = await v2()
    expect((await bot.validate({ ...one.proof, ...change })).body).toEqual(INVALID)
    expect((await bot.validate(one.proof)).body.valid).toBe(true)
  })

  it('200 invalid for the token of another agent and of another tenant, and nothing is redeemed', async () => {
    const other = await world.agent('other')
    const stranger = await world.agent('bot', 'globex')
    const one = await v2()
    expect((await other.validate(one.proof)).body).toEqual(INVALID)
    expect((await stranger.validate(one.proof)).body).toEqual(INVALID)
    expect((await bot.validate(one.proof)).body.valid).toBe(true)
  })

  it('200 invalid for the token of one thread with the names of another', async () => {
    const [one, two] = [await v2(), await v2(OTHER_HASH)]
    expect((await bot.validate({ ...two.proof, signature: one.token })).body).toEqual(INVALID)
    expect((await bot.validate(one.proof)).body.valid).toBe(true)
    expect((await bot.validate(two.proof)).body.valid).toBe(true)
  })

  it('200 invalid after the key was rotated; the old key is refused at once', async () => {
    const agent = await world.agent('other')
    const one = await approved(agent, ann)
    const renewed = await world.agent('other')
    expect((await renewed.validate(proofOf(one))).body).toEqual(INVALID)
    expect((await agent.validate(proofOf(one))).status).toBe(401)
  })

  it('401 for an old key that another instance rotated, for any token', async () => {
    const agent = await world.agent('other')
    await agent.validate({})
    const { keys } = world.app.deps
    const known = [...keys]
    await world.agent('other')
    for (const [credential, caller] of known) keys.set(credential, caller)
    expect((await agent.validate({ signature: 'x' })).status).toBe(401)
    for (const [credential, caller] of known) keys.set(credential, caller)
    const signature = composeCredential('approval', Buffer.alloc(32, 7))
    expect((await agent.validate({ task_id: 'a', signature, request_payload: {} })).status).toBe(401)
  })

  it('200 invalid for a token whose record the store does not have', async () => {
    const signature = composeCredential('approval', Buffer.alloc(32, 7))
    const { status, body } = await bot.validate({ task_id: 'a', signature, request_payload: {} })
    expect([status, body]).toEqual([200, INVALID])
  })
})

describe('POST validate after policy or voters have changed', () => {
  it('200 invalid ends the approval permanently, whatever policy says later', async () => {
    const own = await openWorld()
    try {
      const agent = await own.agent()
      const one = await approved(agent, await own.reviewer('ann'), { payload: { amount: 5_000 } })
      await own.changePolicies(edited('rules/pay.yaml', 'over: 100000 }', 'at_least: 5000 }'))
      const records = await own.evidenceOf(async () => {
        expect((await agent.validate(proofOf(one))).body).toEqual(INVALID)
      })
      expect(records.map(({ record }) => record.type)).toEqual(['token.refused', 'approval.revoked'])
      await own.changePolicies(edited('rules/pay.yaml', 'over: 100000 }', 'over: 100001 }'))
      expect((await agent.validate(proofOf(one))).body).toEqual(INVALID)
      expect((await agent.poll({ thread_id: one.thread })).body).toMatchObject({
        status: 'rejected',
        message: expect.stringMatching(/^policy_changed: /),
      })
    } finally {
      await own.close()
    }
  })

  it('200 invalid when policy now rejects the action, 200 valid when it does not', async () => {
    const own = await openWorld()
    try {
      const agent = await own.agent()
      const reviewer = await own.reviewer('ann')
      const small = await approved(agent, reviewer, { payload: { amount: 200 } })
      const large = await approved(agent, reviewer, { payload: { amount: 5_000 } })
      await own.changePolicies(edited('rules/pay.yaml', 'over: 100000 }', 'at_least: 5000 }'))
      const records = await own.evidenceOf(async () => {
        expect((await agent.validate(proofOf(large))).body).toEqual(INVALID)
      })
      expect(records[0]?.record).toMatchObject({
        type: 'token.refused',
        details: { because: 'policy_changed' },
      })
      expect((await agent.validate(proofOf(small))).body).toEqual({ valid: true })
    } finally {
      await own.close()
    }
  })

  it('200 invalid permanently once a poll has ended the approval, whatever policy says later', async () => {
    const own = await openWorld()
    try {
      const agent = await own.agent()
      const one = await approved(agent, await own.reviewer('ann'), { payload: { amount: 5_000 } })
      await own.changePolicies(edited('rules/pay.yaml', 'over: 100000 }', 'at_least: 5000 }'))
      expect((await agent.poll({ thread_id: one.thread })).body.status).toBe('rejected')
      await own.changePolicies(edited('rules/pay.yaml', 'over: 100000 }', 'over: 100001 }'))
      const { status, body } = await agent.validate(proofOf(one))
      expect([status, body]).toEqual([200, INVALID])
    } finally {
      await own.close()
    }
  })

  it('200 invalid when a counted voter lost the seat', async () => {
    const own = await openWorld()
    try {
      const agent = await own.agent()
      const one = await approved(agent, await own.reviewer('ben'))
      await own.changePolicies(edited('directory.yaml', 'ben:  { name: Ben Bay, groups: [desk, board] }', ''))
      expect((await agent.validate(proofOf(one))).body).toEqual(INVALID)
    } finally {
      await own.close()
    }
  })

  it('200 valid after a restart, and still only once', async () => {
    const own = await openWorld()
    try {
      const agent = await own.agent()
      const reviewer = await own.reviewer('ann')
      const [one, two] = [await approved(agent, reviewer), await approved(agent, reviewer)]
      await agent.validate(proofOf(two))
      await own.restart()
      expect((await agent.validate(proofOf(one))).body).toEqual({ valid: true })
      expect((await agent.validate(proofOf(one))).body).toEqual(USED)
      expect((await agent.validate(proofOf(two))).body).toEqual(USED)
    } finally {
      await own.close()
    }
  })
})

describe('POST validate with any body', () => {
  it.each([
    ['nothing', undefined],
    ['an empty object', {}],
    ['a list', []],
    ['null', null],
    ['a text', 'x'],
    ['no signature', { task_id: 'a', request_payload: {} }],
    ['no task', { signature: 'x', request_payload: {} }],
    ['no payload', { task_id: 'a', signature: 'x' }],
    ['a payload that is a list', { task_id: 'a', signature: 'x', request_payload: [] }],
    ['a payload that is null', { task_id: 'a', signature: 'x', request_payload: null }],
    ['a signature that is a number', { task_id: 'a', signature: 1, request_payload: {} }],
    ['a long signature', { task_id: 'a', signature: 'x'.repeat(60_000), request_payload: {} }],
  ])('200 invalid for %s', async (_, body) => {
    const { status, body: result } = await bot.call('POST', 'approvals/validate', { body })
    expect([status, result]).toEqual([200, INVALID])
  })

  it.each([
    ['a property more', { extra: 1 }],
    ['a thread that is null', { thread_id: null }],
    ['a hash that is null', { action_hash: null }],
    ['a malformed hash', { action_hash: 'zz' }],
    ['a hash in capitals', { action_hash: HASH.toUpperCase() }],
    ['a payload that is missing', { request_payload: undefined }],
    ['a payload that is null', { request_payload: null }],
    ['a signature with a space', { signature: 'token ' }],
  ])('200 invalid for a proof with %s, and nothing is redeemed', async (_, change) => {
    const one = await v2()
    const wrong = { ...one.proof, ...change }
    if (wrong.signature === 'token ') wrong.signature = `${one.token} `
    const { status, body } = await bot.validate(wrong)
    expect([status, body]).toEqual([200, INVALID])
    expect((await bot.validate(one.proof)).body.valid).toBe(true)
  })

  it.each([
    ['text that is not JSON', { raw: 'nonsense' }],
    ['half a document', { raw: '{"task_id":' }],
    ['bytes that are not UTF-8', { raw: Uint8Array.of(0xff, 0xfe) }],
    ['another media type', { raw: '{}', headers: { 'content-type': 'text/plain' } }],
    ['an encoding', { raw: '{}', headers: { 'content-encoding': 'gzip' } }],
    ['more than the cap', { raw: `{"a":"${'x'.repeat(LIMITS.BODY_BYTES)}"}` }],
    ['a form', { raw: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
  ])('200 invalid for %s', async (_, options) => {
    const { status, body } = await bot.call('POST', 'approvals/validate', options)
    expect([status, body]).toEqual([200, INVALID])
  })

  it.each([
    ['bytes', { text: Array.from({ length: 3 }, () => 'x'.repeat(LIMITS.STRING_BYTES)) }],
    ['keys', Object.fromEntries(Array.from({ length: LIMITS.JSON_KEYS - 2 }, (_, i) => [`k${i}`, 0]))],
    ['values', { list: Array.from({ length: LIMITS.JSON_VALUES - 4 }, () => 0) }],
  ])('200 valid for an accepted payload with the maximum of %s', async (name, given) => {
    const empty = JSON.stringify({ tool_name: 'hold', payload: { ...given, fill: '' } }).length
    const fill = name === 'bytes' ? { fill: 'x'.repeat(LIMITS.BODY_BYTES - empty) } : {}
    const one = await approved(bot, ann, { tool_name: 'hold', payload: { ...given, ...fill } })
    expect((await bot.validate(proofOf(one))).body).toEqual({ valid: true })
  })

  it('200 invalid for a proof with a duplicate key, and nothing is redeemed', async () => {
    const one = await approved(bot, ann)
    const proof = JSON.stringify(proofOf(one))
    const raw = proof.replace('{"task_id"', '{"\\u0074ask_id":"x","task_id"')
    expect((await bot.call('POST', 'approvals/validate', { raw })).body).toEqual(INVALID)
    expect((await bot.validate(proofOf(one))).body).toEqual({ valid: true })
  })

  it('401 for a body of any shape without a key', async () => {
    const nobody = { headers: { authorization: 'Bearer none' } }
    const good = await bot.call('POST', 'approvals/validate', { ...nobody, body: {} })
    const bad = await bot.call('POST', 'approvals/validate', { ...nobody, raw: 'nonsense' })
    expect([good.status, bad.status]).toEqual([401, 401])
  })

  it('404 for GET', async () => {
    expect((await bot.call('GET', 'approvals/validate')).status).toBe(404)
  })
})

describe('POST validate and its records', () => {
  it('200 leaves one record per answer, with the hash of the token and never the token', async () => {
    const one = await v2()
    const records = await world.evidenceOf(async () => {
      await bot.validate({ ...one.proof, task_id: 'another' })
      await bot.validate(one.proof)
      await bot.validate(one.proof)
      await bot.validate({})
    })
    expect(records.map(({ record }) => [record.type, record.details?.['reason']])).toEqual([
      ['token.refused', 'invalid'],
      ['token.redeemed', undefined],
      ['token.refused', 'used'],
    ])
    expect(JSON.stringify(records)).not.toContain(one.token)
  })

  it('200 does not name the thread of another agent in the record of a refusal', async () => {
    const other = await world.agent('other')
    const one = await v2()
    const records = await world.evidenceOf(() => other.validate(one.proof))
    expect(records[0]?.record).not.toHaveProperty('thread_id')
  })

  it('200 shows reviewers that the proof was redeemed', async () => {
    const one = await v2()
    expect((await ben.show(one.thread)).body.token?.state).toBe('collected')
    await bot.validate(one.proof)
    expect((await ben.show(one.thread)).body.token?.state).toBe('redeemed')
  })

  it('200 invalid for a thread that was never approved', async () => {
    const { task, thread, payload } = await held(bot)
    const signature = composeCredential('approval', Buffer.alloc(32, 9))
    const { body } = await bot.validate({
      task_id: task,
      thread_id: thread,
      signature,
      request_payload: payload,
    })
    expect(body).toEqual(INVALID)
    expect(newTask()).not.toBe(task)
  })
})
