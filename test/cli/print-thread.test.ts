import { describe, expect, it } from 'vitest'
import { printThreadList } from '../../src/cli/client/print-thread.ts'
import type { ThreadSummary } from '../../src/contract/reviewer.ts'
import type { Me } from '../../src/contract/session.ts'

const ann = { reviewer: 'ann', name: 'Ann Ash', groups: ['desk'] } as unknown as Me

describe('a list of threads on a terminal', () => {
  it('says that no call waits', () => {
    expect(printThreadList({ threads: [] }, ann)).toBe('nothing is waiting for review')
  })

  it('describes each call in one line that its text cannot break', () => {
    const heading = { line: 'Pay $5.00 to jo[U+202E]', segments: [] }
    const thread = {
      thread_id: 'thr_1',
      status: 'pending_review',
      risk: 'low',
      tool_name: 'pay',
      agent: 'bot',
      message: 'More than pocket money.',
      approvals: { given: 0, required: 1 },
      groups: ['desk'],
      escalated_to: [],
      because: { rule: 'a', field: 'payload.to[1]', value: 'jo@x.example', read: 'x.example', of: 2 },
      heading,
      raised: { at: '2026-03-02T14:05:09.000Z', asks: 'two of board', fillable: true },
    } as unknown as ThreadSummary
    expect(
      printThreadList({ threads: [thread] }, ann)
        .split('\n')
        .slice(0, 5),
    ).toEqual([
      'thr_1  LOW  pay  by bot  0/1 approvals from desk',
      '  Pay $5.00 to jo[U+202E]',
      '  More than pocket money.',
      '  because payload.to[1] jo@x.example (read as x.example, one of 2)',
      '  since 2026-03-02 14:05 UTC policy asks for two of board',
    ])
    const by = { reviewer: 'cat', name: 'Cat Cox', decision: 'reject', at: '' } as const
    const ended = {
      ...thread,
      status: 'rejected',
      message: 'wrong account',
      decided_by: [by],
    } as ThreadSummary
    expect(printThreadList({ threads: [ended] }, ann)).toContain('by bot  rejected by Cat Cox')
  })

  it('names a thread that the store cannot read, and the command that says more', () => {
    expect(printThreadList({ threads: [], unreadable: ['thr_1'] }, ann)).toBe(
      'thr_1  cannot be read; `countersign store check` says more\n\nyou are Ann Ash (desk)',
    )
  })
})
