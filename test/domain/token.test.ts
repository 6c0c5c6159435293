import { describe, expect, it } from 'vitest'
import { type ApprovalToken, type Redemption, refusalOf } from '../../src/domain/token.ts'

const BOUND = { tenant: 'acme', agent: 'bot', key_hash: 'k', task_id: 't', payload_digest: 'p' }
const v1: ApprovalToken = {
  ...BOUND,
  thread_id: 'thr_1',
  revision: 1,
  tool: 'pay',
  expires_at: 1_000,
  epoch: 'e',
}
const v2: ApprovalToken = { ...v1, action_hash: 'h' }
const forV2: Redemption = { ...BOUND, thread_id: 'thr_1', action_hash: 'h' }

describe('redeeming a token', () => {
  it('is possible when everything matches and the token has not expired', () => {
    expect(refusalOf(v1, BOUND, 999)).toBeUndefined()
    expect(refusalOf(v1, { ...BOUND, thread_id: 'thr_1' }, 999)).toBeUndefined()
    expect(refusalOf(v2, forV2, 999)).toBeUndefined()
  })

  it('is invalid without a token', () => {
    expect(refusalOf(undefined, BOUND, 0)).toBe('invalid')
  })

  it.each(Object.keys(BOUND))('is invalid when %s differs, for V1 and V2', (member) => {
    expect(refusalOf(v1, { ...BOUND, [member]: 'x' }, 0)).toBe('invalid')
    expect(refusalOf(v2, { ...forV2, [member]: 'x' }, 0)).toBe('invalid')
  })

  const { thread_id: _, ...noThread } = forV2
  const { action_hash: __, ...noHash } = forV2

  it.each<[string, ApprovalToken, Redemption]>([
    ['V1 with a hash', v1, { ...BOUND, action_hash: 'h' }],
    ['V1 with another thread', v1, { ...BOUND, thread_id: 'thr_2' }],
    ['V2 as if it were V1', v2, BOUND],
    ['V2 without a thread', v2, noThread],
    ['V2 without a hash', v2, noHash],
    ['V2 with another thread', v2, { ...forV2, thread_id: 'thr_2' }],
    ['V2 with another hash', v2, { ...forV2, action_hash: 'x' }],
    ['V2 with an empty hash', v2, { ...forV2, action_hash: '' }],
  ])('is invalid for %s', (___, token, redemption) => {
    expect(refusalOf(token, redemption, 0)).toBe('invalid')
  })

  it('reports invalid before used and used before expired, and is expired from that moment on', () => {
    const used = { ...v1, used_at: 5 }
    expect(refusalOf(used, { ...BOUND, task_id: 'x' }, 2_000)).toBe('invalid')
    expect(refusalOf(used, BOUND, 2_000)).toBe('used')
    expect(refusalOf(used, BOUND, 6)).toBe('used')
    expect(refusalOf(v1, BOUND, 1_000)).toBe('expired')
    expect(refusalOf({ ...v1, used_at: 0 }, BOUND, 0)).toBe('used')
  })
})
