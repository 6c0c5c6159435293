import { describe, expect, it } from 'vitest'
import { readClient } from '../../src/mcp/message.ts'

const read = (text: string | object) =>
  readClient(Buffer.from(typeof text === 'string' ? text : JSON.stringify(text)))
const called = (params: object, more: object = {}) =>
  read({ jsonrpc: '2.0', id: 1, method: 'tools/call', params, ...more })

describe('a tool call in a message', () => {
  it("consists of its name, its arguments and the protocol's other members", () => {
    const params = { name: 'pay', arguments: { cents: 1 }, _meta: { progressToken: 7 }, task: { ttl: 1 } }
    expect(called(params)).toEqual({
      kind: 'call',
      call: {
        id: 1,
        name: 'pay',
        args: { cents: 1 },
        rest: { _meta: { progressToken: 7 }, task: { ttl: 1 } },
      },
    })
  })

  it('may have no arguments', () => {
    expect(called({ name: 'pay' })).toMatchObject({ call: { args: {} } })
  })

  it.each([
    ['a member that nobody could review', { name: 'pay', inputResponses: {} }, 'inputResponses'],
    ['a name of another case', { name: 'pay', Name: 'wipe' }, 'Name'],
    ['no name', { arguments: {} }, 'must name its tool'],
    ['a name that is no text', { name: ['pay'] }, 'must name its tool'],
    ['arguments in a list', { name: 'pay', arguments: [] }, 'must be an object'],
    ['arguments that are nothing', { name: 'pay', arguments: null }, 'must be an object'],
  ])('is refused with %s', (_, params, why) => {
    expect(called(params)).toMatchObject({
      kind: 'refuse',
      id: 1,
      code: -32_602,
      why: expect.stringContaining(why),
    })
  })

  it.each([
    ['twice the same key', '{"cents":1,"cents":2}', 'cents'],
    ['the same key in another spelling', '{"cents":1,"c\\u0065nts":2}', 'cents'],
    ['a number that readers read differently', '{"cents":12345678901234567890}', 'integer'],
    ['__proto__', '{"__proto__":{}}', '__proto__'],
    ['half a character', '{"memo":"\\ud800"}', 'surrogate'],
  ])('is refused with %s in its arguments', (_, args, why) => {
    const line = `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"pay","arguments":${args}}}`
    expect(read(line)).toMatchObject({ kind: 'refuse', id: 'a', why: expect.stringContaining(why) })
  })

  it('gets no answer without an id, and is not forwarded', () => {
    const call = { jsonrpc: '2.0', method: 'tools/call', params: { name: 'pay' } }
    expect(read(call)).toMatchObject({ kind: 'refuse', id: undefined })
  })
})

describe('a message that another parser could read as a call', () => {
  it.each([
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay"}}]'],
    ['a method in another case', '{"id":1,"method":"Tools/Call"}'],
    ['a method with blanks', '{"id":1,"method":" tools/call\\n"}'],
    ['a method in wide letters', '{"id":1,"method":"\\uff54ools/call"}'],
    ['a method that ends at NUL', '{"id":1,"method":"tools/call\\u0000x"}'],
    ['a method with what cannot be seen', '{"id":1,"method":"tools/c\\u00adall"}'],
    ['a method in a list', '{"id":1,"method":["tools/call"]}'],
    ['a method that is nothing', '{"id":1,"method":null}'],
    ['another spelling of method beside it', '{"id":1,"method":"ping","Method":"tools/call"}'],
    ['an id that is none', '{"id":{},"method":"ping"}'],
    ['an id that would be answered as another one', '{"id":9007199254740993,"method":"ping"}'],
    ['an id beyond all numbers', '{"id":1e400,"method":"ping"}'],
    ['no JSON', '{"id":1,"method":"tools/call"'],
    ['text that is not UTF-8', Buffer.from('7b226964223a2280227d', 'hex')],
    ['a word', '"tools/call"'],
  ])('is refused: %s', (_, line) => {
    expect(readClient(Buffer.from(line))).toMatchObject({ kind: 'refuse' })
  })

  it('is forwarded as it was parsed: the last of two methods counts, and the first is not sent', () => {
    expect(read('{"id":1,"method":"tools/call","method":"ping"}')).toEqual({
      kind: 'relay',
      message: { id: 1, method: 'ping' },
    })
    expect(read('{"id":1,"method":"ping","method":"tools/call","params":{"name":"pay"}}')).toMatchObject({
      kind: 'refuse',
    })
  })
})

describe('everything else', () => {
  it.each([
    { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 'x', result: { text: 'é'.repeat(100_000) } },
    { jsonrpc: '2.0', id: 3, error: { code: 1, message: '' } },
  ])('is forwarded unchanged', (message) => {
    expect(read(message)).toEqual({ kind: 'relay', message })
  })

  it.each([
    [
      'a request',
      '"method":"resources/read","params":{"_meta":{"progressToken":9007199254740993}}',
      'client',
    ],
    ['an answer', '"result":{"action":"accept","content":{"account":-12345678901234567890}}', 'server'],
    ['a number that is too large', '"result":{"list":[{"x":1e400}]}', 'server'],
  ])('is refused to its sender when it would be altered: %s', (_, members, asker) => {
    const why = expect.stringContaining('2^53-1') as string
    expect(read(`{"jsonrpc":"2.0","id":7,${members}}`)).toMatchObject({ kind: 'refuse', id: 7, why, asker })
  })

  it('keeps numbers that JSON preserves', () => {
    const message = { id: -9_007_199_254_740_991, result: { x: [0.1, -1.5e-300, 9_007_199_254_740_991] } }
    expect(read(message)).toEqual({ kind: 'relay', message })
  })

  it.each([
    [{ requestId: 5, reason: 'timeout' }, 'timeout'],
    [{ requestId: 5 }, ''],
    [{ requestId: 5, reason: 7 }, ''],
  ])('names the request and the reason of a cancellation: %j', (params, reason) => {
    const message = { jsonrpc: '2.0', method: 'notifications/cancelled', params }
    expect(read(message)).toEqual({ kind: 'cancel', id: 5, reason, message })
  })
})
