import { describe, expect, it } from 'vitest'
import { type Permission, withPermission } from '../../../src/policy/import/agent-entry.ts'

const permission: Permission = {
  tenant: 'main',
  agent: 'bot',
  tool: 'orders.cancel',
  owners: ['ann'],
  ownersMayVote: false,
}
const NEW = 'bot: { owners: [ann], tools: [orders.cancel] }'

/** A directory with `agents` as they are written below `agents:`. */
const directory = (agents: string): string =>
  `# people\ntenants:\n  main:\n    agents:${agents}\n\n    reviewers:\n      ann: { groups: [desk] }   # the first\n`

describe('withPermission', () => {
  it.each([
    ['an empty map', ' {}', `\n      ${NEW}`],
    ['a map on one line', ' { a: { owners: [ann] } }', ` { a: { owners: [ann] }, ${NEW} }`],
    [
      'lines with comments',
      '\n      a:  { owners: [ann] }   # of old\n      bc: { owners: [ann] }   # of late',
      `\n      a:  { owners: [ann] }   # of old\n      bc: { owners: [ann] }   # of late\n      ${NEW}`,
    ],
    [
      'a nested map',
      '\n      a:\n        owners: [ann]\n        rate: 5/m',
      `\n      a:\n        owners: [ann]\n        rate: 5/m\n      ${NEW}`,
    ],
  ])('adds a new agent to %s, and changes nothing else', (_, before, after) => {
    expect(withPermission(directory(before), permission)).toBe(directory(after))
  })

  it('lets the owners vote only on request, and quotes names that YAML would not read as text', () => {
    const odd = { ...permission, agent: 'no', tool: 'a:b', ownersMayVote: true }
    expect(withPermission(directory(' {}'), odd)).toBe(
      directory(`\n      "no": { owners: [ann], tools: ["a:b"], prevent_self_review: false }`),
    )
  })

  it.each([
    ['a list on one line', '[file.write]', '[file.write, orders.cancel]'],
    ['an empty list', '[]', '[orders.cancel]'],
    ['a glob that fits already', "['orders.*']", "['orders.*']"],
  ])('adds the tool to %s of an existing agent', (_, before, after) => {
    const agents = (tools: string): string => `\n      bot: { owners: [ann], tools: ${tools}, rate: 5/m }`
    expect(withPermission(directory(agents(before)), permission)).toBe(directory(agents(after)))
  })

  it('adds the tool to a list of lines', () => {
    const agents =
      '\n      bot:\n        owners: [ann]\n        tools:\n          - file.write   # notes\n        rate: 5/m'
    expect(withPermission(directory(agents), permission)).toBe(
      directory(agents.replace('file.write', 'file.write\n          - orders.cancel')),
    )
  })

  it('changes nothing for an agent that may use every tool', () => {
    const agents = directory('\n      bot: { owners: [ann] }')
    expect(withPermission(agents, permission)).toBe(agents)
  })

  it.each([
    'tenants: {}\n',
    'tenants:\n  main:\n    reviewers: {}\n',
    'tenants:\n  main: { agents: [] }\n',
    '[]',
  ])('returns undefined for %j', (text) => {
    expect(withPermission(text, permission)).toBeUndefined()
  })
})
