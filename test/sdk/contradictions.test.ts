import { describe, expect, it, vi } from 'vitest'
import { type GuardOptions, NotExecuted, type Payload, Rejected } from '@countersign/sdk'
import { gateBefore, problem, type Script } from './double.ts'

/*
 * The answers of a gateway, or of a proxy before it, contradict one another. The law: the call does not run, it ends,
 * and its report is true.
 */
const REPLAYED = { headers: { 'idempotent-replayed': 'true' } }
const ALLOW = { status: 'allow' }

async function refusedBy(script: Script, options: GuardOptions<Payload> = {}, first?: object) {
  const { gate, asked } = gateBefore(script, first)
  const execute = vi.fn()
  const refusal = await gate.guard('pay', {}, execute, options).catch((error: unknown) => error)
  expect(execute).not.toHaveBeenCalled()
  expect(refusal).toBeInstanceOf(NotExecuted)
  const { code, reason } = refusal as NotExecuted
  return { code, reason, asked }
}

describe('answers that contradict each other', () => {
  it('answers that agree run the call', async () => {
    for (const first of [undefined, ALLOW])
      expect(await gateBefore({}, first).gate.guard('pay', {}, () => 'ran')).toBe('ran')
  })

  it.each<[string, Script]>([
    ['valid, with the reason why it is not', { validate: (is) => ({ ...is, reason: 'used' }) }],
    ['valid in another task', { validate: (is) => ({ ...is, task_id: 'another' }) }],
    ['valid, without a word of the task', { validate: (is) => ({ ...is, task_id: undefined }) }],
  ])('%s: the proof is refused', async (_, script) => {
    expect((await refusedBy(script)).code).toBe('proof_refused')
  })

  it('an approval without a proof: the error names the causes, including unsigned approvals', async () => {
    const { code, reason } = await refusedBy({
      decisions: (is) => ({ ...is, approval_token: undefined }),
      proofs: () => problem(409, 'not_pending', 'this agent uses approvals without a proof'),
    })
    expect([code, reason]).toEqual(['no_proof', expect.stringContaining('signed_approvals: false')])
  })

  it('a decision in another task belongs to another action', async () => {
    const elsewhere: Script = { decisions: (is) => ({ ...is, task_id: 'another' }) }
    const { code, asked } = await refusedBy(elsewhere)
    expect([code, asked.includes('validate')]).toEqual(['unexpected_answer', false])
    expect((await refusedBy({}, {}, { ...ALLOW, task_id: 'another' })).code).toBe('unexpected_answer')
  })
})

describe('an allow that is always marked as a replay', () => {
  const old: Script = { requests: (is) => Response.json(is, REPLAYED) }

  it('does not run under an id that others may know, and is not requested endlessly', async () => {
    const { code, asked } = await refusedBy(old, { callId: 'call_0' }, ALLOW)
    expect(code).toBe('gateway_unavailable')
    expect(asked.length).toBeLessThan(1_100)
  })

  it('is accepted after as many replays as other processes may have used', async () => {
    const some: Script = { requests: (is, tries) => (tries < 200 ? Response.json(is, REPLAYED) : is) }
    const { gate } = gateBefore(some, ALLOW)
    expect(await gate.guard('pay', {}, () => 'ran', { callId: 'call_0' })).toBe('ran')
  })
})

describe('a proof that was lost with the connection', () => {
  const CUT: Script = {
    decisions: (is, tries) => {
      if (tries === 0) throw new TypeError('the line was cut')
      return { ...is, approval_token: undefined }
    },
  }

  it('is replaced, and the call runs with the new proof', async () => {
    const { gate, asked } = gateBefore(CUT)
    expect(await gate.guard('pay', {}, () => 'ran')).toBe('ran')
    expect(asked.filter((one) => one === 'proofs')).toEqual(['proofs'])
  })

  it.each<[string, Script['proofs'], string]>([
    ['redeemed before', () => problem(409, 'proof_used', 'used'), 'its end is unknown'],
    ['expired', () => problem(409, 'not_pending', 'its proof has expired'), 'its proof has expired'],
    ['unknown to a gateway of an earlier version', () => problem(404, 'not_found', 'no such'), 'no such'],
    ['again without a proof', (is) => ({ ...is, approval_token: undefined }), 'the gateway gave none'],
  ])('%s: nothing runs, and the reason says why', async (_, proofs, why) => {
    const { code, reason } = await refusedBy({ ...CUT, ...(proofs && { proofs }) })
    expect([code, reason]).toEqual(['no_proof', expect.stringContaining(why)])
  })

  it('of a call that ended meanwhile is not replaced: the call is rejected', async () => {
    const proofs: Script['proofs'] = (is) => ({
      ...is,
      approval_token: undefined,
      status: 'rejected',
      message: 'frozen: stop',
    })
    const { code, reason } = await refusedBy({ ...CUT, proofs })
    expect([code, reason]).toEqual(['rejected', 'frozen: stop'])
  })
})

describe('a call that ran and failed because an inner call was refused', () => {
  it('is not NotExecuted, and says so', async () => {
    const { gate, said } = gateBefore({}, ALLOW)
    const inner = new Rejected('not that much')
    const execute = vi.fn(() => Promise.reject(inner))
    const error: unknown = await gate.guard('pay', {}, execute).catch((thrown: unknown) => thrown)
    expect(execute).toHaveBeenCalledTimes(1)
    expect(error).not.toBeInstanceOf(NotExecuted)
    expect(error).toMatchObject({ message: `pay ran, and failed: not that much`, cause: inner })
    await gate.settled()
    expect(said.map(({ outcome }) => outcome)).toEqual(['failed'])
  })
})

describe('a refusal of a submitted call', () => {
  it.each([
    ['invalid_payload', 400, 'invalid_json'],
    ['invalid_payload', 400, 'invalid_policy_input'],
    ['invalid_payload', 413, 'body_too_large'],
    ['gateway_refused', 400, 'invalid_request'],
    ['gateway_refused', 401, 'unauthenticated'],
  ])('is %s for %i %s', async (code, status, problem) => {
    const script: Script = { requests: () => Response.json({ code: problem, detail: 'no' }, { status }) }
    expect(await refusedBy(script)).toMatchObject({ code, reason: `${problem}: no` })
  })
})
