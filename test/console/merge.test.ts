import { describe, expect, it } from 'vitest'
import { merge } from '../../src/console/queue/merge.ts'
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
  it('inserts a new thread where its age belongs', () => {
    const { items, arrived } = merge(loaded, thread(15), {}, 'ann')
    expect([ids(items), arrived]).toEqual([['thr_10', 'thr_15', 'thr_20'], true])
    expect(ids(merge(loaded, thread(30), {}, 'ann').items)).toEqual(['thr_10', 'thr_20', 'thr_30'])
  })

  it('adds nothing after an incomplete page, but reports the new thread', () => {
    const { items, arrived } = merge({ ...loaded, cursor: 'c' }, thread(30), {}, 'ann')
    expect([ids(items), arrived]).toEqual([['thr_10', 'thr_20'], true])
  })

  it('replaces known rows, and removes rows that no longer wait or match', () => {
    const voted = thread(10, { approvals: { given: 1, required: 2 } })
    expect(merge(loaded, voted, {}, 'ann')).toMatchObject({ items: [voted, thread(20)], arrived: false })
    expect(ids(merge(loaded, thread(10, { status: 'approved' }), {}, 'ann').items)).toEqual(['thr_20'])
    expect(ids(merge(loaded, thread(10, { risk: 'high' }), { risk: 'low' }, 'ann').items)).toEqual(['thr_20'])
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
