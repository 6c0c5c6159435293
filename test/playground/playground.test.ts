import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Question, Reply } from '../../src/playground/messages.ts'
import { linkOf } from '../../src/playground/link.ts'
import {
  createPlayground,
  EMPTY,
  type Playground,
  type PlaygroundState,
  rangeOfLine,
  textOf,
} from '../../src/playground/playground.ts'

let state: { value: PlaygroundState }
let asked: Question[]
let playground: Playground
/** The answer of a person, and the questions. */
let mayReplace: boolean
let questions: string[]

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  state = { value: EMPTY }
  asked = []
  mayReplace = true
  questions = []
  playground = createPlayground(state, {
    ask: (question) => asked.push(question),
    mayReplace: (question) => {
      questions.push(question)
      return mayReplace
    },
  })
})
afterEach(() => {
  vi.useRealTimers()
})

const reply = (id: number, request = '{}'): Reply => ({ id, request, diagnostics: [] })
const last = (): Question | undefined => asked.at(-1)

describe('a playground', () => {
  it('opens the first recipe when no link names another, and uses the proposed call', async () => {
    await playground.open()
    expect(state.value).toMatchObject({ recipe: 'spending-limit', path: 'rules/refund.yaml', note: '' })
    expect(asked).toMatchObject([{ id: 1, request: undefined }])
    playground.answered(reply(1, '{"tool_name":"payments.refund"}'))
    expect(state.value.request).toBe('{"tool_name":"payments.refund"}')
  })

  it('asks once when typing pauses, with the whole text', async () => {
    await playground.open('recipe=two-groups')
    playground.edit('a')
    playground.editCall('b')
    vi.advanceTimersByTime(149)
    expect(asked).toHaveLength(1)
    vi.advanceTimersByTime(1)
    expect(asked).toHaveLength(2)
    expect(last()).toMatchObject({ id: 2, request: 'b' })
    expect(last()?.files[0]).toEqual({ path: 'rules/transfer.yaml', text: 'a' })
    expect(textOf(state.value)).toBe('a')
  })

  it('asks before a link replaces changes that no link contains, and keeps them after a no', async () => {
    await playground.open('recipe=two-groups')
    playground.edit('mine')
    mayReplace = false
    await playground.open('recipe=spending-limit')
    expect(textOf(state.value)).toBe('mine')
    expect(state.value).toMatchObject({ recipe: 'two-groups', note: 'Your changes are still here.' })
    await playground.open('recipe=spending-limit')
    expect(questions).toHaveLength(1)
    mayReplace = true
    await playground.open('recipe=who-may-what')
    expect(state.value).toMatchObject({ recipe: 'who-may-what', changed: false })
    expect(questions).toHaveLength(2)
    playground.editCall('{}')
    await playground.share()
    await playground.open('recipe=two-groups')
    expect(questions).toHaveLength(2)
  })

  it('drops the answer to an older question, and keeps a call that was cleared', async () => {
    await playground.open()
    playground.editCall('')
    vi.runAllTimers()
    playground.answered(reply(1))
    expect(state.value.reply).toBeUndefined()
    playground.answered(reply(2))
    expect(state.value).toMatchObject({ request: '', reply: { id: 2 } })
  })

  it('keeps its content when its page opens again with no link or the same one', async () => {
    await playground.open('recipe=two-groups')
    playground.edit('mine')
    playground.stop()
    for (const link of [undefined, 'recipe=two-groups']) {
      const again = createPlayground(state, {
        ask: (question) => asked.push(question),
        mayReplace: () => true,
      })
      await again.open(link)
      expect([textOf(state.value), last()?.id]).toEqual(['mine', 1])
    }
    await playground.open('recipe=spending-limit')
    expect(textOf(state.value)).not.toBe('mine')
  })

  it('keeps the later of two links, however long the first takes', async () => {
    const slow = playground.open(await linkOf([{ path: 'x', text: 'slow' }], '{}'))
    await Promise.all([playground.open('recipe=two-groups'), slow])
    expect(state.value.recipe).toBe('two-groups')
  })

  it('opens the link that it made without a change', async () => {
    await playground.open()
    playground.edit('shared')
    playground.editCall('call')
    const link = await playground.share()
    expect(state.value.note).toContain('The link is in the address bar')
    playground.edit('later')
    await playground.open(link)
    expect(textOf(state.value)).toBe('later')
    await playground.open('recipe=two-groups')
    await playground.open(link)
    expect([textOf(state.value), state.value.request, state.value.recipe]).toEqual(['shared', 'call', ''])
  })

  it('reports an unreadable link, and an evaluator that did not load', async () => {
    await playground.open('bundle=nonsense')
    expect(state.value).toMatchObject({
      recipe: 'spending-limit',
      note: expect.stringContaining('names no recipe'),
    })
    await playground.open('recipe=unknown')
    expect(state.value).toMatchObject({
      recipe: 'spending-limit',
      note: expect.stringContaining('names no recipe'),
    })
    playground.failed()
    expect(state.value.note).toContain('did not load')
  })
})

it('rangeOfLine finds a line, and the end for a missing one', () => {
  expect([1, 2, 3, 4].map((line) => rangeOfLine('ab\n\ncde', line))).toEqual([
    [0, 2],
    [3, 3],
    [4, 7],
    [8, 8],
  ])
})
