import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createThread } from '../../src/console/call/thread-state.ts'
import { createDeciding } from '../../src/console/thread/deciding.ts'
import { say, vote } from '../../src/console/call/thread-acts.ts'
import { startAttention } from '../../src/console/wire/attention.ts'
import { call } from '../../src/console/wire/call.ts'
import type { ThreadView } from '../../src/contract/reviewer.ts'

beforeEach(() => {
  const kept = new Map<string, string>()
  vi.stubGlobal('sessionStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, text: string) => void kept.set(key, text),
  })
})
afterEach(() => vi.unstubAllGlobals())

/** Each request is answered when the test says so. */
function answers(): ((body: string | object, status?: number) => void)[] {
  const held: ((body: string | object, status?: number) => void)[] = []
  vi.stubGlobal('fetch', () => {
    return new Promise<Response>((resolve) =>
      held.push((body, status = 200) => {
        const text = typeof body === 'string' ? body : JSON.stringify(body)
        resolve(new Response(status === 204 ? null : text, { status }))
      }),
    )
  })
  return held
}

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))

const view = (revision: number, record: number, more: Partial<ThreadView> = {}): ThreadView =>
  ({
    status: 'pending_review',
    revision,
    digest: `d${revision}`,
    warnings: [],
    revisions: [],
    display: { revision_digest: `d${revision}`, bundle: 'b', level: 'low', parts: [] },
    review: { comments: [], require_comment: false, reveal: 'optional', require_displayed: false },
    heading: { line: 't', segments: [] },
    evidence: [{ number: record, type: 'x', at: '', actor: 'agent:bot' }],
    ...more,
  }) as unknown as ThreadView

describe('an answer of the gateway', () => {
  it.each(['', '<html>sign in to the proxy</html>', '{"thread_id": "thr_'])(
    'is not a success when it is foreign or cut off: %s',
    async (text) => {
      for (const ask of [() => call('GET', 'review/me'), () => call('POST', 'review/session')]) {
        const [held, asked] = [answers(), ask()]
        held[0]?.(text)
        expect(await asked).toMatchObject({ ok: false, problem: { code: 'outcome_unknown' } })
      }
    },
  )

  it('is marked as a background request after a minute without input', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const asked: (string | undefined)[] = []
    vi.stubGlobal('fetch', (_: string, { headers }: { headers: Record<string, string> }) => {
      asked.push(headers['countersign-unattended'])
      return Promise.resolve(new Response('{}'))
    })
    const page = new EventTarget()
    startAttention(page)
    page.dispatchEvent(new Event('click'))
    const read = (): Promise<unknown> => call('GET', 'review/counts')
    const askAfter = async (ms: number, ask = read): Promise<void> => {
      vi.setSystemTime(Date.now() + ms)
      await ask()
    }
    await askAfter(59_999)
    await askAfter(1)
    await askAfter(0, () => call('POST', 'admin/freeze'))
    page.dispatchEvent(new Event('keydown'))
    await askAfter(59_999)
    await askAfter(1)
    vi.useRealTimers()
    expect(asked).toEqual([undefined, '1', undefined, undefined, '1'])
  })

  it('is a success without a body for the statuses that have none', async () => {
    const [held, asked] = [answers(), call('POST', 'admin/unfreeze')]
    held[0]?.('', 204)
    expect(await asked).toEqual({ ok: true, body: undefined })
  })

  it('leaves the outcome of a vote unknown when it is cut off, and the page usable', async () => {
    const held = answers()
    const thread = createThread('thr_1')
    thread.take(view(1, 1))
    const voting = vote(thread, 'approve')
    await vi.waitFor(() => expect(held).toHaveLength(1))
    held[0]?.('{"thread_id": "thr_')
    await settled()
    held[1]?.(view(1, 2, { status: 'approved' }))
    await voting
    expect([thread.notice.value?.kind, thread.sending.value, thread.view.value?.status]).toEqual([
      'unknown',
      false,
      'approved',
    ])
  })
})

describe('answers that arrive out of order', () => {
  it('answers that arrive out of order show the newest state, and never an older revision as new', async () => {
    const held = answers()
    const thread = createThread('thr_1')
    const [first, second] = [thread.load(), thread.load()]
    held[1]?.(view(2, 5))
    await second
    held[0]?.(view(1, 3))
    await first
    expect([thread.view.value?.revision, thread.next.value]).toEqual([2, undefined])
  })

  it('answers that arrive out of order do not undo a comment, a vote or the end of a thread', async () => {
    const held = answers()
    const thread = createThread('thr_1')
    thread.take(view(1, 1))
    const late = thread.load()
    thread.comment.value = 'no'
    const saying = say(thread)
    held[1]?.(view(1, 2, { status: 'rejected' }))
    await saying
    held[0]?.(view(1, 1))
    await late
    expect(thread.view.value?.status).toBe('rejected')
  })

  it('answers that arrive out of order keep the newest of several unread revisions', async () => {
    const held = answers()
    const thread = createThread('thr_1')
    thread.take(view(1, 1))
    const [first, second] = [thread.load(), thread.load()]
    held[1]?.(view(3, 7))
    await second
    held[0]?.(view(2, 4))
    await first
    expect([thread.view.value?.revision, thread.next.value?.revision]).toEqual([1, 3])
  })
})

describe('a second step', () => {
  it('sends no vote when a warning arrived after the first step', async () => {
    const held = answers()
    vi.stubGlobal('document', { getElementById: () => null })
    const thread = createThread('thr_1')
    thread.take(view(1, 1, { risk: 'high', can_vote: { allowed: true } }))
    const deciding = createDeciding(thread, () => undefined)
    thread.parts.ready.value = true
    deciding.start('approve')
    const warnings = [{ place: 'payload/memo', kinds: ['direction'], message: 'turns', words: [] }]
    thread.revealed.value = { 1: { revision: 1, payload: {}, warnings } }
    deciding.confirm()
    expect([held, deciding.asking.value]).toEqual([[], undefined])
    thread.acknowledge(true)
    deciding.start('approve')
    deciding.confirm()
    await vi.waitFor(() => expect(held).toHaveLength(1))
  })
})
