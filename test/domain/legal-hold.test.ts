import { describe, expect, it } from 'vitest'
import {
  type LegalHold,
  legalHoldKind,
  legalHoldOver,
  mayCover,
  NO_LEGAL_HOLDS,
  withLegalHold,
  withoutLegalHold,
} from '../../src/domain/legal-hold.ts'

const MORE = { reason: 'r', at: 0, by: 'admin:admin' }
const CALL = { thread_id: 't', task_id: 'a', agent: 'bot' }
const holding = (scope: Partial<LegalHold>) => withLegalHold<LegalHold>(NO_LEGAL_HOLDS, { ...scope, ...MORE })

describe('legal holds', () => {
  it.each([
    ['the thread', { thread_id: 't' }, 'thread'],
    ['the task', { task_id: 'a' }, 'task'],
    ['the agent', { agent: 'bot' }, 'agent'],
    ['everything', {}, 'tenant'],
  ] as const)('legal holds that name %s cover a call', (_, scope, kind) => {
    expect(legalHoldOver(holding(scope), CALL)).toMatchObject({ reason: 'r' })
    expect(legalHoldKind(scope)).toBe(kind)
  })

  it.each([
    ['another thread', { thread_id: 'u' }],
    ['another task', { task_id: 'b' }],
    ['another agent', { agent: 'bat' }],
  ])('legal holds that name %s do not cover the call', (_, scope) => {
    expect(legalHoldOver(holding(scope), CALL)).toBeUndefined()
  })

  it('legal holds on a thread cover no data without a thread', () => {
    expect(legalHoldOver(holding({ thread_id: 't' }), { task_id: 'a', agent: 'bot' })).toBeUndefined()
  })

  it.each([
    ['an agent that is not known any more', { agent: 'bot' }, { ...CALL, agent: undefined }, true],
    ['another agent', { agent: 'bot' }, { ...CALL, agent: 'other' }, false],
    ['data without a thread', { thread_id: 't' }, { ...CALL, thread_id: '' }, false],
    ['another task of an unknown agent', { task_id: 'b' }, { ...CALL, agent: undefined }, false],
    ['everything', {}, CALL, true],
  ])('legal holds may cover %s', (_, scope, data, may) => {
    expect(mayCover({ ...scope, ...MORE }, data)).toBe(may)
  })

  it('legal holds of different scopes end one by one', () => {
    const both = withLegalHold(holding({ agent: 'bot' }), { task_id: 'a', ...MORE })
    const one = withoutLegalHold(both, { agent: 'bot' })
    expect(one?.holds).toMatchObject([{ task_id: 'a' }])
    expect(legalHoldOver(one ?? NO_LEGAL_HOLDS, CALL)).toBeDefined()
    expect(withoutLegalHold(both, {})).toBeUndefined()
  })
})
