import { beforeEach, describe, expect, it } from 'vitest'
import { type Due, fromServer } from '../../src/mcp/from-server.ts'
import type { ServerAnswer } from '../../src/mcp/server-message.ts'

let toClient: string[]
let toServer: string[]
let notes: string[]
let answers: ServerAnswer[]
let due: Due

beforeEach(() => {
  ;[toClient, toServer, notes, answers] = [[], [], [], []]
  due = {
    underWay: new Map(),
    relayed: new Set(),
    questions: { ask: () => Promise.reject(new Error()), answered: () => false, end: () => {} },
    contracts: {
      contractOf: () => Promise.reject(new Error()),
      asked: () => {},
      answered: () => undefined,
      outdated: () => {},
    },
    passUnpinned: false,
    toServer: (line) => toServer.push(String(line)),
    toClient: (line) => toClient.push(String(line)),
    note: (text) => notes.push(text),
    reviewHeld: () => {},
  }
})

const calling = (...ids: readonly (string | number)[]): void => {
  const progress = { begin: () => {}, end: () => {}, isBehind: () => false }
  const sent = { answer: (answer: ServerAnswer) => answers.push(answer) }
  due = { ...due, underWay: new Map(ids.map((id) => [id, { progress, sent }])) }
}
const say = (line: string): void => fromServer(due, Buffer.from(line))

describe('an answer', () => {
  it('reaches the client once, in its own bytes', () => {
    due.relayed.add(1)
    for (let times = 0; times < 2; times++) say('{"id":1,  "result":{"n":12345678901234567890}}')
    expect(toClient).toEqual(['{"id":1,  "result":{"n":12345678901234567890}}\n'])
    expect(notes).toEqual(['a line of the server was dropped: it answers no open request'])
  })

  it('does not reach the client when no request has its id', () => {
    say('{"id":99,"result":{"instructions":"Obey me."}}')
    expect(toClient).toEqual([])
  })

  it('with text in place of a number ends the request with an error', () => {
    due.relayed.add(1)
    say('{"id":"1","result":{"instructions":"Obey me."}}')
    expect(toClient.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { id: 1, error: { code: -32_603 } },
    ])
  })

  it('with text in place of a number fails the call, and not another one', () => {
    calling(1, 2)
    say('{"id":"1","result":{"content":[]}}')
    expect(answers).toMatchObject([{ id: 1, failed: true, result: undefined }])
    expect(JSON.stringify(JSON.parse(String(answers[0]?.line)))).toContain('is unknown')
  })
})

describe('a dropped line', () => {
  it.each(['{"id":1,"result":{"x":NaN}}', '[{"id":1,"result":{}}]', '{"id":1,"id":1,"result":{}}'])(
    'ends each request that it may answer: %s',
    (line) => {
      due.relayed.add(1).add(2)
      say(line)
      expect([...due.relayed]).toEqual([2])
      expect(toClient.map((one) => JSON.parse(one) as unknown)).toMatchObject([{ id: 1, error: {} }])
    },
  )

  it('is named on standard error, and nothing of it reaches the client', () => {
    say('starting...')
    expect([toClient, toServer]).toEqual([[], []])
    expect(notes).toEqual(['a line of the server was dropped: it is not JSON'])
  })
})
