import { expect, it } from 'vitest'
import { createReloadLines } from '../../src/cli/dev/reloads.ts'
import type { Snapshot } from '../../src/policy/language/snapshot.ts'

const REVISION = 'a'.repeat(64)
const snapshot = (files: Readonly<Record<string, string>>): Snapshot =>
  ({
    files: Object.entries(files).map(([path, sha256]) => ({ path, sha256, bytes: 1 })),
    tools: new Map([['pay', {}]]),
    ruleCount: 3,
    revision: REVISION,
  }) as unknown as Snapshot
const loaded = { ok: true, at: 0, revision: REVISION, diagnostics: [] }
const broken = {
  ok: false,
  at: 0,
  diagnostics: [
    {
      code: 'yaml-syntax',
      severity: 'error' as const,
      file: 'rules/a.yaml',
      line: 3,
      column: 5,
      message: 'no',
    },
  ],
}

it('each reload prints one line with the changed files', () => {
  const lineOf = createReloadLines()
  expect(lineOf(loaded, snapshot({ a: '1', b: '1' }))).toBeUndefined()
  expect(lineOf(loaded, snapshot({ a: '2', c: '1' }))).toBe(
    'policies reloaded: a changed, b removed, c added; 1 tools, 3 rules, 0 warnings, revision aaaaaaaaaaaa',
  )
  expect(lineOf(loaded, snapshot({ a: '2', c: '1' }))).toBeUndefined()
  const many = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`f${i}`, '1']))
  expect(lineOf(loaded, snapshot({ a: '2', c: '1', ...many }))).toContain(
    'f0 added, f1 added, f2 added, f3 added, 5 more files;',
  )
})

it('a failed load prints one line once, and so does the load that repairs it', () => {
  const lineOf = createReloadLines()
  lineOf(loaded, snapshot({ a: '1' }))
  const line = 'policies not reloaded: rules/a.yaml:3:5 no; the earlier policies stay in force'
  expect(lineOf(broken, snapshot({ a: '1' }))).toBe(line)
  expect(lineOf(broken, snapshot({ a: '1' }))).toBeUndefined()
  expect(lineOf(loaded, snapshot({ a: '1' }))).toContain('policies reloaded: as it was before;')
})
