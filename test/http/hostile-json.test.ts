import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { LIMITS } from '../../src/contract/limits.ts'
import { fileWorld, world } from '../agent-world.ts'
import { type Agent, type Answer, approved, HASH } from '../gateway-fixture.ts'

/**
 * Hostile bodies. They must not crash the gateway, pollute a prototype, let through an action that was not shown, or
 * redeem a proof.
 */

interface Entry {
  readonly id: string
  readonly want: number | string
  readonly why: string
  readonly endpoint?: 'validate' | 'events'
  readonly raw?: string
  readonly b64?: string
  readonly gen?: string
}

const entriesOf = (name: string): readonly Entry[] => {
  const file = new URL(`../data/hostile/${name}`, import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { entries: Entry[] }).entries
}
const entries = entriesOf('hostile-json.json')

const P = (payload: string): string => `{"tool_name":"t","payload":${payload}}`
const object = (members: readonly string[]): string => `{${members.join(',')}}`
const times = (count: number, member: (i: number) => string): string[] =>
  Array.from({ length: count }, (_, i) => member(i))

/** Texts too long to be kept in the file, by their `gen`. */
const GENERATED: Readonly<Record<string, string>> = {
  'P("[".repeat(10000)+"]".repeat(10000))': P('['.repeat(10_000) + ']'.repeat(10_000)),
  'P("[".repeat(100000)+"]".repeat(100000))': P('['.repeat(100_000) + ']'.repeat(100_000)),
  'P(\'{"a":\'.repeat(2000)+"1"+"}".repeat(2000))': P(`${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}`),
  'P(\'{"a":\'.repeat(50000)+"1"+"}".repeat(50000))': P(`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`),
  'P("{"+Array.from({length:60000},(_,i)=>`"k${i}":0`).join(",")+"}")': P(
    object(times(60_000, (i) => `"k${i}":0`)),
  ),
  'P("["+"0,".repeat(200000)+"0]")': P(`[${'0,'.repeat(200_000)}0]`),
  '{"tool_name":"t"*100000}': `{"tool_name":"${'t'.repeat(100_000)}"}`,
  'summary x 5001': `{"tool_name":"t","summary":[${times(5_001, () => '"x"').join(',')}]}`,
  'spaces x 900000': `{"tool_name":"t"}${' '.repeat(900_000)}`,
  '4000 escaped keys': P(object(times(4_000, (i) => `"${'\\u0061'.repeat(20)}${i}":0`))),
}

/** Entries that the file leaves out between its numbers, as we guess them, and our own. */
const OURS: readonly Entry[] = [
  { id: 'empty', want: 400, why: 'nothing at all', raw: '' },
  { id: 'trailing comma', want: 400, why: 'in an object', raw: '{"tool_name":"t",}' },
  { id: 'trailing comma in a list', want: 400, why: 'syntax', raw: P('{"a":[1,]}') },
  { id: 'leading comma', want: 400, why: 'syntax', raw: '{,"tool_name":"t"}' },
  { id: 'two commas', want: 400, why: 'syntax', raw: P('{"a":[1,,2]}') },
  { id: 'no colon', want: 400, why: 'syntax', raw: '{"tool_name" "t"}' },
  { id: 'NaN', want: 400, why: 'not JSON', raw: P('{"a":NaN}') },
  { id: 'minus alone', want: 400, why: 'not a number', raw: P('{"a":-}') },
  { id: 'leading point', want: 400, why: 'not a number', raw: P('{"a":.5}') },
  { id: 'hexadecimal', want: 400, why: 'not a number', raw: P('{"a":0x1}') },
  { id: 'digit separators', want: 400, why: 'not a number', raw: P('{"a":1_000}') },
  { id: 'bad escape', want: 400, why: 'half of \\u', raw: P('{"a":"\\u00g0"}') },
  { id: 'raw tab', want: 400, why: 'control character', raw: P('{"a":"\t"}') },
  { id: 'number document', want: 400, why: 'no object', raw: '1' },
  { id: 'form feed', want: 400, why: 'no JSON white space', raw: '\f{"tool_name":"t"}' },
  { id: 'NUL after the document', want: 400, why: 'trailing bytes', raw: '{"tool_name":"t"}\u0000' },
  { id: 'capital words', want: 400, why: 'True', raw: P('{"a":True}') },
  {
    id: 'overlong slash',
    want: 400,
    why: 'C0 AF',
    b64: Buffer.from([...Buffer.from('{"tool_name":"'), 0xc0, 0xaf, ...Buffer.from('"}')]).toString('base64'),
  },
  {
    id: 'overlong NUL',
    want: 400,
    why: 'C0 80',
    b64: Buffer.from([...Buffer.from('{"tool_name":"'), 0xc0, 0x80, ...Buffer.from('"}')]).toString('base64'),
  },
  {
    id: 'truncated UTF-8',
    want: 400,
    why: 'half a character',
    b64: Buffer.from([...Buffer.from('{"tool_name":"t"}'), 0xe2, 0x82]).toString('base64'),
  },
  {
    id: 'UTF-16BE',
    want: 400,
    why: 'not UTF-8',
    b64: Buffer.from('{"tool_name":"t"}', 'utf16le').swap16().toString('base64'),
  },
  { id: 'lone high surrogate', want: 400, why: 'escaped', raw: P('{"a":"\\ud83d"}') },
  { id: 'swapped surrogates', want: 400, why: 'escaped', raw: P('{"a":"\\ude00\\ud83d"}') },
  { id: 'lone surrogate in a nested key', want: 400, why: 'escaped', raw: P('{"a":[{"\\udfff":1}]}') },
  { id: 'a pair of surrogates', want: '200', why: 'a character', raw: P('{"a":"\\ud83d\\ude00"}') },
  { id: 'NUL in a payload', want: 400, why: 'ends a text elsewhere', raw: P('{"a":"x\\u0000y"}') },
  { id: 'NUL in a key', want: 400, why: 'ends a text elsewhere', raw: P('{"a\\u0000":1}') },
  { id: 'NUL behind a backslash', want: 400, why: 'an escape each', raw: P('{"a":"\\\\\\u0000"}') },
  { id: 'a spelled-out NUL', want: '200', why: 'a backslash and letters', raw: P('{"a":"\\\\u0000"}') },
  { id: 'escaped duplicate', want: 400, why: 'a and \\u0061', raw: P('{"a":1,"\\u0061":2}') },
  {
    id: 'escaped duplicate at the top',
    want: 400,
    why: 'tool_name twice',
    raw: '{"tool_name":"t","tool\\u005fname":"pay"}',
  },
  { id: 'duplicate in a list', want: 400, why: 'nested', raw: P('{"l":[{"b":1,"c":2,"b":3}]}') },
  { id: 'same key on two levels', want: '200', why: 'no duplicate', raw: P('{"a":{"a":{"a":1}}}') },
  { id: 'duplicate of the same value', want: 400, why: 'still twice', raw: P('{"a":1,"a":1}') },
  { id: 'escaped __proto__', want: 400, why: 'decoded first', raw: P('{"\\u005f_proto__":{"x":1}}') },
  { id: '__proto__ in a list', want: 400, why: 'any depth', raw: P('{"a":[{"__proto__":[]}]}') },
  { id: 'prototype', want: '200', why: 'legal data', raw: P('{"prototype":{"x":1}}') },
  { id: 'valueOf', want: '200', why: 'legal data', raw: P('{"valueOf":1,"toString":2,"hasOwnProperty":3}') },
  {
    id: 'constructor as tool',
    want: 'unknown-tool path, never a crash',
    why: 'a name',
    raw: '{"tool_name":"constructor"}',
  },
  { id: '2^53', want: 400, why: 'beyond the safe integers', raw: P('{"a":9007199254740992}') },
  { id: '-2^53', want: 400, why: 'beyond the safe integers', raw: P('{"a":-9007199254740992}') },
  { id: '-(2^53-1)', want: '200', why: 'safe', raw: P('{"a":-9007199254740991}') },
  { id: '18 digits', want: 400, why: 'a long integer', raw: P('{"a":123456789012345678}') },
  {
    id: '16 digits and a fraction',
    want: 400,
    why: 'rounds to an integer',
    raw: P('{"a":4503599627370497.3}'),
  },
  { id: '2^53+1 as a fraction', want: 400, why: 'rounds', raw: P('{"a":9007199254740993.0}') },
  { id: '2^53+1 with an exponent', want: 400, why: 'rounds', raw: P('{"a":9.007199254740993e15}') },
  { id: 'underflow', want: 400, why: 'becomes 0', raw: P('{"a":1e-400}') },
  { id: 'subnormal that rounds', want: 400, why: '3e-324 becomes 5e-324', raw: P('{"a":3e-324}') },
  { id: 'subnormal with digits that are lost', want: 400, why: 'rounds', raw: P('{"a":1.23456789e-320}') },
  { id: 'huge exponent', want: 400, why: 'overflow', raw: P('{"a":1e99999999999}') },
  { id: 'huge negative exponent', want: 400, why: 'underflow', raw: P('{"a":1e-99999999999}') },
  { id: 'zero with a huge exponent', want: '200', why: 'still zero', raw: P('{"a":0e99999999999}') },
  { id: 'largest double', want: '200', why: 'exact', raw: P('{"a":1.7976931348623157e308}') },
  { id: 'just above the largest double', want: 400, why: 'overflow', raw: P('{"a":1.8e308}') },
  { id: '1.0', want: '200', why: 'is 1', raw: P('{"a":1.0}') },
  {
    id: '18 digits of a fraction',
    want: 400,
    why: 'more than a double holds',
    raw: P('{"a":0.123456789012345678}'),
  },
  {
    id: 'object depth 64',
    want: 400,
    why: 'and the body around it',
    raw: P(`${'{"a":'.repeat(64)}1${'}'.repeat(64)}`),
  },
  {
    id: 'object depth 63',
    want: '200',
    why: 'and the body around it is 64',
    raw: P(`${'{"a":'.repeat(63)}1${'}'.repeat(63)}`),
  },
  { id: 'open brackets', want: 400, why: 'never closed', raw: '['.repeat(250_000) },
  { id: 'open braces', want: 400, why: 'never closed', raw: '{"a":'.repeat(50_000) },
  { id: 'a string that does not end', want: 400, why: 'long', raw: `{"tool_name":"${'x'.repeat(200_000)}` },
  {
    id: 'backslashes',
    want: 400,
    why: 'long string of escapes',
    raw: `{"tool_name":"${'\\\\'.repeat(100_000)}"}`,
  },
  {
    id: 'many small objects',
    want: 400,
    why: 'more values than the cap',
    raw: P(`{"a":[${'{},'.repeat(50_000)}{}]}`),
  },
  { id: 'a long number', want: 400, why: 'linear time', raw: P(`{"a":${'1'.repeat(200_000)}}`) },
  { id: 'a long fraction', want: 400, why: 'linear time', raw: P(`{"a":0.${'1'.repeat(200_000)}}`) },
  { id: 'hash of another kind', want: 400, why: 'boolean', raw: '{"tool_name":"t","action_hash":true}' },
  {
    id: 'hash in a list',
    want: 400,
    why: 'no unwrapping',
    raw: `{"tool_name":"t","action_hash":["${HASH}"]}`,
  },
  { id: 'trailing space in the tool', want: 400, why: 'not the same tool', raw: '{"tool_name":"t "}' },
  { id: 'full-width tool', want: 400, why: 'printable ASCII only', raw: '{"tool_name":"ｔ"}' },
  { id: 'agent override', want: 400, why: 'closed', raw: '{"tool_name":"t","agent":"other"}' },
  { id: 'status override', want: 400, why: 'closed', raw: '{"tool_name":"t","status":"allow"}' },
  { id: 'boolean payload', want: 400, why: 'no object', raw: P('true') },
  { id: 'text payload', want: 400, why: 'no object', raw: P('"{}"') },
  { id: 'validate: nothing', endpoint: 'validate', want: 'untouched', why: 'empty body', raw: '' },
  { id: 'validate: not JSON', endpoint: 'validate', want: 'untouched', why: 'syntax', raw: '{' },
  {
    id: 'validate: extra field',
    endpoint: 'validate',
    want: 'untouched',
    why: 'closed',
    raw: '{"task_id":"t","signature":"x","request_payload":{},"valid":true}',
  },
  {
    id: 'validate: __proto__',
    endpoint: 'validate',
    want: 'untouched',
    why: 'refused',
    raw: '{"task_id":"t","signature":"x","request_payload":{},"__proto__":{"valid":true}}',
  },
  { id: 'validate: deep', endpoint: 'validate', want: 'untouched', why: 'depth', raw: '['.repeat(100_000) },
  {
    id: 'events: empty task',
    endpoint: 'events',
    want: 400,
    why: 'revision..x',
    raw: '{"event_type":"revision..x","event_summary":"s"}',
  },
  {
    id: 'events: capitals',
    endpoint: 'events',
    want: 201,
    why: 'plain evidence',
    raw: '{"event_type":"REVISION.t.x","event_summary":"s"}',
  },
  {
    id: 'events: tab',
    endpoint: 'events',
    want: 400,
    why: 'control character',
    raw: '{"event_type":"revision.t.x\\t","event_summary":"s"}',
  },
  {
    id: 'events: no such thread',
    endpoint: 'events',
    want: 409,
    why: 'unknown',
    raw: '{"event_type":"revision.t.x","event_summary":"s","payload":{"revision":{"revision_id":"r","tool_name":"t","subject":"s","request_payload":{}}}}',
  },
]

const ALL = [...entries, ...entriesOf('more-json.json'), ...OURS]

let bot: Agent

fileWorld()
beforeAll(async () => {
  bot = await world.agent()
})

const PATHS = { requests: 'tasks/t/requests', validate: 'approvals/validate', events: 'tasks/t/events' }

function bodyOf({ raw, b64, gen }: Entry): string | Buffer {
  if (b64 !== undefined) return Buffer.from(b64, 'base64')
  const text = raw ?? GENERATED[gen ?? '']
  if (text === undefined) throw new Error(`no text for ${gen}`)
  return text
}

/**
 * The statuses that fulfil `want`. The design says more than the file: a body over 256 KiB is answered 413 before it is
 * read, whatever is wrong inside.
 */
function accepted({ want }: Entry, bytes: number): number[] {
  const text = String(want)
  if (text.includes('untouched') || text.startsWith('unknown-tool')) return [200]
  const statuses = [...text.matchAll(/\b[245]\d\d\b/g)].map((match) => Number(match[0]))
  return bytes > LIMITS.BODY_BYTES ? [413] : statuses
}

function unpolluted(): void {
  expect(Object.keys(Object.prototype)).toEqual([])
  expect(({} as Record<string, unknown>)['admin']).toBeUndefined()
  expect(({} as Record<string, unknown>)['x']).toBeUndefined()
  expect(([] as unknown as Record<string, unknown>)['valid']).toBeUndefined()
}

describe('hostile JSON', () => {
  it('contains every entry of the file', () => {
    expect(entries.length).toBe(110)
    expect(new Set(entries.map(({ id }) => id)).size).toBe(110)
  })

  it.each(ALL.map((entry) => [entry.id, entry.why, String(entry.want), entry] as const))(
    '%s (%s) is answered %s',
    async (_, __, ___, entry) => {
      const raw = bodyOf(entry)
      const before = process.cpuUsage()
      const answer: Answer<{ status?: string; valid?: boolean; reason?: string }> = await bot.call(
        'POST',
        PATHS[entry.endpoint ?? 'requests'],
        { raw },
      )
      expect(accepted(entry, Buffer.byteLength(raw))).toContain(answer.status)
      // of this process, which the gateway is a part of: what else the machine does is not in it
      const { user, system } = process.cpuUsage(before)
      expect((user + system) / 1_000, 'ms: time stays linear').toBeLessThan(2_000)
      if (String(entry.want).startsWith('unknown-tool')) expect(answer.body.status).toBe('reject')
      if (entry.endpoint === 'validate') expect(answer.body).toEqual({ valid: false, reason: 'invalid' })
      unpolluted()
    },
  )

  it('a token survives all of them at the validate endpoint', async () => {
    const reviewer = await world.reviewer('ann')
    const one = await approved(bot, reviewer, { tool_name: 'hold', payload: { a: 100, z: 0 } })
    for (const entry of ALL) {
      const { status, body } = await bot.call('POST', 'approvals/validate', { raw: bodyOf(entry) })
      expect([entry.id, status, body]).toEqual([entry.id, 200, { valid: false, reason: 'invalid' }])
    }
    const raw = `{"task_id":"${one.task}","signature":"${one.token}","request_payload":{"z":-0,"a":1E2}}`
    expect((await bot.call('POST', 'approvals/validate', { raw })).body).toEqual({ valid: true })
  })

  it('none of these requests was logged as an error, and the gateway still answers', async () => {
    expect(world.logged.filter((line) => line.includes('"level":"error"'))).toEqual([])
    expect((await bot.submit('t', { tool_name: 't' })).body.status).toBe('allow')
    expect((await world.app.health.ready()).ready).toBe(true)
  })
})
