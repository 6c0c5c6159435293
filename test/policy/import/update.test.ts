import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../../../src/contract/json.ts'
import type { BundleText } from '../../../src/policy/bundle/check.ts'
import type { ImportedFile } from '../../../src/policy/import/contract.ts'
import { importMcp } from '../../../src/policy/import/mcp.ts'
import { updateContracts } from '../../../src/policy/import/update.ts'
import { bundle, diagnose } from '../support.ts'

/**
 * Differences between a server and its contracts (docs/author-tools.md) are shown. Accepting them keeps the text of
 * authors.
 */

const tool = (name: string, more: object = {}) => ({
  name,
  description: 'Does it.',
  inputSchema: { type: 'object', properties: { q: { type: 'string' } } },
  ...more,
})
const imported = (...tools: object[]): readonly ImportedFile[] =>
  importMcp(tools as unknown as JsonValue, { prefix: '' })?.files ?? []
const textOf = (files: readonly BundleText[], path: string): string =>
  files.find((one) => one.path === path)?.text ?? ''

const READS = { annotations: { readOnlyHint: true } }

it('changes nothing when the server lists the same', () => {
  const files = imported(tool('a'), tool('_b'))
  const edited = files.map((one) => ({ ...one, text: one.text.replace('risk: high', 'risk: low') }))
  expect(updateContracts(edited, files)).toMatchObject({ changed: [], unchanged: 2, gone: [], leftOut: [] })
})

it('takes over changes of the server, and keeps the changes of the author', () => {
  const before = imported(tool('a', READS)).map(({ path, text }) => ({
    path,
    text: `${text.replace('risk: low', 'risk: critical # we know it')}labels: [ours]\nsensitive: [payload.q]\n`,
  }))
  const now = imported(tool('a', { ...READS, description: 'Does more.' }))
  const { changed } = updateContracts(before, now)
  const text = textOf(changed, 'tools/a.yaml')
  expect(text).toContain('risk: critical # we know it')
  expect(text).toContain('labels: [ ours ]')
  expect(text).toContain('Does more.')
  expect(text).toContain(now[0]?.source?.digest)
  expect(changed[0]?.difference).toContain('- description: "Does it."')
  expect(changed[0]?.difference).toContain('+ description: "Does more."')
  expect(diagnose(bundle({ 'tools/a.yaml': text }))).not.toContain('tools/a.yaml')
})

it.each([
  [{ destructiveHint: true }, 'high', 'irreversible'],
  [{ destructiveHint: false }, 'medium', 'reversible'],
])('raises the effects when the server declares more: %j', (annotations, risk, reversibility) => {
  const before = imported(tool('a', READS))
  const { changed } = updateContracts(before, imported(tool('a', { annotations })))
  expect(changed[0]?.text).toContain(`risk: ${risk}\n`)
  expect(changed[0]?.text).toContain(`reversibility: ${reversibility}\n`)
})

it('no longer marks a tool as read-only when the server does not', () => {
  const { changed } = updateContracts(imported(tool('a', READS)), imported(tool('a')))
  expect(changed[0]?.text).not.toContain('reversibility:')
  expect(changed[0]?.text).toContain('risk: high')
})

it('finds the contract by its source, not by its name', () => {
  const before = imported(tool('_run', READS), tool('run'))
  const { changed } = updateContracts(before, imported(tool('run'), tool('_run', { description: 'Other.' })))
  expect(changed.map(({ path, tool: name }) => [path, name])).toEqual([['tools/run_2.yaml', 'run_2']])
})

it('adopts a contract without a source, and does not trust its lower effects', () => {
  const [old] = imported(tool('run', READS))
  const before = { path: 'tools/run.yaml', text: (old?.text ?? '').replace(/source:\n(?: {2}.*\n)+/, '') }
  expect(before.text).not.toContain('source')
  const destroys = { annotations: { destructiveHint: true } }
  const { changed } = updateContracts([before], imported(tool('run', destroys)))
  expect(changed[0]?.text).toContain('reversibility: irreversible')
  expect(changed[0]?.text).toContain('name: run')
})

describe('tools that appear and disappear', () => {
  it('tools that appear and disappear get a contract, and keep it', () => {
    const before = imported(tool('a'), tool('b'))
    const { changed, gone, unchanged } = updateContracts(before, imported(tool('a'), tool('c')))
    expect(changed.map(({ path, difference }) => [path, difference])).toEqual([['tools/c.yaml', []]])
    expect([gone, unchanged]).toEqual([['tools/b.yaml'], 1])
  })

  it('tools that appear and disappear are left out when another contract has their name', () => {
    const other = imported(tool('a')).map((one) => ({
      ...one,
      text: one.text.replace('server: mcp', 'server: x'),
    }))
    expect(updateContracts(other, imported(tool('a'))).leftOut).toEqual([
      { tool: 'a', because: '`a` has a contract in tools/a.yaml' },
    ])
  })
})

it('asks for a new confirmation when the server changes the tool', () => {
  const before = imported(tool('a', READS)).map((one) => ({
    ...one,
    text: one.text.replace('  name: a\n', '  name: a\n  confirmed: true\n'),
  }))
  expect(updateContracts(before, imported(tool('a', READS))).changed).toEqual([])
  const [changed] = updateContracts(before, imported(tool('a', { ...READS, title: 'T' }))).changed
  expect(changed?.text).not.toContain('confirmed')
  expect(changed?.difference).toContain('-   confirmed: true')
})

it.each([
  ['my.server.', 'my_server'],
  ['github.', 'github'],
  ['é.', 'mcp'],
])('a prefix %s names the server %s, as agents write it', (prefix, server) => {
  const [file] = importMcp([tool('a')] as unknown as JsonValue, { prefix })?.files ?? []
  expect(file?.source?.server).toBe(server)
})
