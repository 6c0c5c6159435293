import { describe, expect, it } from 'vitest'
import { sheetOf } from '../../src/cli/client/print-sheet.ts'
import { printThreadList } from '../../src/cli/client/print-thread.ts'
import type { ThreadSummary, ThreadView } from '../../src/contract/reviewer.ts'
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

describe('a thread on paper', () => {
  const at = '2026-03-02T14:05:09.000Z'
  const evil = `</dd><script>alert(1)</script>\u202e${'x'.repeat(8_000)} end`
  const display = { seen: ['payload.note'], unseen: ['payload.to'] }
  const votes = Array.from({ length: 50 }, (_, i) => ({
    reviewer: `r${i}`,
    decision: 'approve',
    revision: 3,
    at: `${at.slice(0, -5)}.0${i + 10}Z`,
    via: 'link',
    ms: 4_200,
    void: false,
  }))
  const rule = { id: 'a', verdict: 'review', mode: 'enforced', reason: 'R.', file: 'a.yaml', line: 3 }
  const because = [{ field: 'payload.amount', value: 25_000 }]
  const heading = {
    line: 'Pay €250.00',
    segments: [{ text: '€250.00', field: 'payload.amount', exact: '25000' }],
  }
  const revisions = [1, 2, 3].map((number) => ({
    number,
    payload: { note: evil, text: '5', amount: 25_000 },
    heading,
    rules: [{ ...rule, because }],
    policy_revision: 'b'.repeat(64),
    submitted_at: at,
  }))
  const evidence = votes.map((vote, i) => ({
    number: i + 7,
    type: 'vote.cast',
    at: vote.at,
    actor: `reviewer:r${i}`,
    says: 'got a vote',
    displayed: display,
  }))
  const view = {
    thread_id: 'thr_1',
    heading,
    revisions,
    votes,
    comments: [],
    evidence,
    warnings: [{ place: 'payload/note', message: 'Hidden characters.', words: [] }],
    log: { size: 90, root: 'c'.repeat(64), at },
  } as unknown as ThreadView

  it('has each value whole, each vote with its time and display, the bundle, and the head of the log', () => {
    const sheet = sheetOf(view, { rejections: [] })
    expect(sheet.match(/x{8000} end&#34;<\/dd>/g)).toHaveLength(3)
    expect(sheet).not.toMatch(/<script|\u202e|https?:/)
    expect(sheet.match(/<dd>&#34;5&#34;<\/dd>/g)).toHaveLength(3)
    expect(
      sheet.match(
        /r\d+: approve<\/dt><dd>revision 3, by link, looked 4200 ms\ndisplayed: payload.note\nnot/g,
      ),
    ).toHaveLength(50)
    for (const text of [
      '#56 vote.cast',
      'b'.repeat(64),
      'c'.repeat(64),
      'payload.amount €250.00 25000',
      'Hidden characters.',
    ])
      expect(sheet).toContain(text)
  })
})
