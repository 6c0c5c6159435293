import { describe, expect, it } from 'vitest'
import { WebhookEvent } from '../../src/contract/webhook.ts'
import type { EventKind } from '../../src/events/kinds/event.ts'
import { EVENTS, kindOf, sayingOf, webhookOf } from '../../src/events/events.ts'

const ROWS = Object.entries<EventKind>(EVENTS)

describe('the table of events', () => {
  it('finds its own event types, and no inherited object member', () => {
    expect(ROWS.map(([type]) => kindOf(type))).toEqual(ROWS.map(([, kind]) => kind))
    expect(['constructor', 'toString', '__proto__', 'review'].map(kindOf)).toEqual(Array(4).fill(undefined))
  })

  it('lists the writers of each row once', () => {
    for (const [type, { by }] of ROWS)
      expect([type, by.length > 0, new Set(by).size]).toEqual([type, true, by.length])
  })

  it('has a row for every event that webhooks get', () => {
    const named = ROWS.flatMap(([, { webhook }]) => (typeof webhook === 'string' ? [webhook] : []))
    expect([...new Set(named)].toSorted()).toEqual([...WebhookEvent.enum].toSorted())
  })

  it('describes each webhook event in one phrase, because chats show it', () => {
    for (const type of WebhookEvent.enum.filter((one) => one !== 'webhook.ping'))
      expect([type, typeof kindOf(type)?.says]).toEqual([type, 'string'])
  })

  it('describes what happened to a call', () => {
    expect(sayingOf({ type: 'review.escalated' })).toBe('still waits, now for reviewers of another group too')
    expect(sayingOf({ type: 'review.escalated', details: { to: 'security' } })).toBe(
      'still waits, now for security too',
    )
    expect(sayingOf({ type: 'vote.cast', details: { decision: 'approve' } })).toBe('got a vote: approve')
    expect(sayingOf({ type: 'toString' })).toBe('is of the unknown type toString')
  })

  it('reports a revision to webhooks only when reviewers must look at it', () => {
    const revised = (verdict: string) => webhookOf({ type: 'review.revised', details: { verdict } })
    expect(['review', 'allow', 'reject'].map(revised)).toEqual([
      'review.pending',
      'review.pending',
      undefined,
    ])
    expect(webhookOf({ type: 'vote.cast', details: {} })).toBeUndefined()
    expect(webhookOf({ type: 'constructor' })).toBeUndefined()
  })
})
