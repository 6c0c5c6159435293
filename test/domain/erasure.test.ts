import { describe, expect, it } from 'vitest'
import type { JsonObject, JsonValue } from '../../src/contract/json.ts'
import { digestOf } from '../../src/domain/digest.ts'
import { contains, isAbout, namesToErase } from '../../src/domain/erasure.ts'
import { readFieldValue } from '../../src/policy/language/field-value.ts'
import { payloadPath } from '../../src/policy/language/payload-path.ts'

const finds = (field: string, equals: string, members: JsonObject): boolean => {
  const value = readFieldValue(field, equals)
  if (typeof value === 'string') throw new Error(value)
  return isAbout(members, value, payloadPath)
}

describe('a record is about a value', () => {
  it.each<[why: string, field: string, equals: string, members: JsonObject]>([
    ['that a rule read', 'payload.to', 'eve', { 'reads.payload.to': 'eve' }],
    ['whatever the spelling of the field', 'payload["to"]', 'eve', { 'reads.payload.to': 'eve' }],
    ['in a list', 'payload.to', 'eve', { 'reads.payload.to': ['bob', 'eve'] }],
    ['that is a number', 'payload.amount', '5', { 'reads.payload.amount': 5 }],
    ['whose digest is kept', 'payload.to', 'eve', { 'digests.payload.to': digestOf('eve') }],
    ['in an object that a rule read', 'payload.to.mail', 'eve', { 'reads.payload.to': { mail: 'eve' } }],
    ['at any index', 'payload.to[0].mail', 'eve', { 'reads.payload.to[1].mail': 'eve' }],
    [
      'at any index of a list',
      'payload.to[0].mail',
      'eve',
      { 'reads.payload.to': [{ mail: 'bob' }, { mail: 'eve' }] },
    ],
    ['in the payload of a report', 'payload.to', 'eve', { payload: { to: 'eve' } }],
    ['of the task', 'task.subject', 'eve', { 'reads.task.subject': 'eve' }],
  ])('%s', (_, field, equals, members) => {
    expect(finds(field, equals, members)).toBe(true)
    expect(finds(field, `${equals}x`, members)).toBe(false)
  })

  it('not about an equal value in another field', () => {
    expect(finds('payload.to', 'eve', { 'reads.payload.from': 'eve', payload: { from: 'eve' } })).toBe(false)
  })

  it('and needs a field without a function', () => {
    expect(readFieldValue('domain(payload.to)', 'eve')).toContain('without a function')
    expect(readFieldValue('customer', 'eve')).toContain('is not a field')
  })
})

describe('a value is in a JSON value', () => {
  it.each<[why: string, value: JsonValue, equals: string, is: boolean]>([
    ['as a string', 'eve', 'eve', true],
    ['as a part of words', 'ask eve@x.example now', 'eve@x.example', true],
    ['as escaped JSON in a string', '{"a":"e\\"ve"}', 'e"ve', true],
    ['as a name', { 'eve@x.example': 1 }, 'eve@x.example', true],
    ['as a number', [{ a: 512 }], '512', true],
    ['as a part of a number', 1_512, '512', false],
    ['as a short part of a word', 'every', 'eve', false],
    ['as null', null, 'null', false],
  ])('%s: %j', (_, value, equals, is) => {
    expect(contains(value, equals)).toBe(is)
  })
})

it('an erasure of a value takes the heading and all hashes with it', () => {
  const members = {
    'reads.payload.to': 'eve',
    'reads.payload.amount': 5,
    'digests.payload.body': 'd',
    line: 'Pay E. 5',
    payload_digest: 'p',
    action_hash: 'a',
    nonce: 'n',
    revision_id: 'r1',
  }
  const selection = { field: 'payload.to', equals: 'eve' }
  expect(Object.keys(members).filter((name) => !namesToErase(members, selection).includes(name))).toEqual([
    'reads.payload.amount',
    'revision_id',
  ])
  expect(namesToErase(members, { task_id: 't' })).toEqual(Object.keys(members))
})
