import { describe, expect, it } from 'vitest'
import { matches, merge } from '../../src/console/queue/merge.ts'
import type { ThreadSummary } from '../../src/contract/reviewer.ts'

const thread = (at: number, more: Partial<ThreadSummary> = {}): ThreadSummary => ({
  thread_id: `thr_${at}`,
  task_id: 'task',
  status: 'pending_review',
  revision: 1,
  risk: 'low',
  tool_name: 't',
  heading: { line: 't', segments: [{ text: 't' }] },
  agent: 'bot',
  message: '',
  created_at: new Date(at * 1_000).toISOString(),
  updated_at: new Date(at * 1_000).toISOString(),
  groups: ['desk'],
  escalated_to: [],
  approvals: { given: 0, required: 1 },
  mine: true,
  ...more,
})
const ids = (threads: readonly ThreadSummary[]): string[] => threads.map((one) => one.thread_id)
const loaded = { items: [thread(10), thread(20)], cursor: undefined, unreadable: [] }

describe('merge', () => {
  it('reports a new thread and adds no row, so that nothing moves', () => {
    const { items, arrived } = merge(loaded, thread(15), {}, 'ann')
    expect([ids(items), arrived]).toEqual([['thr_10', 'thr_20'], true])
  })

  it('adds the first thread to an empty list', () => {
    const { items, arrived } = merge({ ...loaded, items: [] }, thread(15), {}, 'ann')
    expect([ids(items), arrived]).toEqual([['thr_15'], false])
  })

  it('replaces known rows in their places, also when they no longer wait or match', () => {
    const voted = thread(10, { approvals: { given: 1, required: 2 } })
    expect(merge(loaded, voted, {}, 'ann')).toMatchObject({ items: [voted, thread(20)], arrived: false })
    const ended = thread(10, { status: 'approved' })
    expect(merge(loaded, ended, {}, 'ann')).toMatchObject({ items: [ended, thread(20)], arrived: false })
    expect([matches(ended, {}, 'ann'), matches(thread(10), {}, 'ann')]).toEqual([false, true])
    expect(matches(thread(10, { risk: 'high' }), { risk: 'low' }, 'ann')).toBe(false)
  })

  it('knows every filter', () => {
    const claimed = thread(30, { claim: { reviewer: 'ben', expires_at: '' }, mine: false, groups: ['leads'] })
    const arrives = (filters: object): boolean => merge(loaded, claimed, filters, 'ann').arrived
    expect(arrives({})).toBe(true)
    for (const filters of [
      { mine: 'true' },
      { claimed: 'me' },
      { claimed: 'nobody' },
      { group: 'desk' },
      { tool: 'x' },
      { agent: 'x' },
    ])
      expect(arrives(filters), JSON.stringify(filters)).toBe(false)
    expect(merge(loaded, claimed, { claimed: 'me' }, 'ben').arrived).toBe(true)
    const escalated = { ...claimed, escalated_to: ['desk'] }
    expect(merge(loaded, escalated, { group: 'desk' }, 'ann').arrived).toBe(true)
  })
})
