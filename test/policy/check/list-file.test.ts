import { describe, expect, it } from 'vitest'
import { checkBundle } from '../../../src/policy/bundle/check.ts'
import { loadBundle, readBundle } from '../../../src/policy/bundle/directory.ts'
import { printLock } from '../../../src/policy/bundle/lock.ts'
import { formatFile } from '../../../src/policy/format/format.ts'
import { growth, LINEAR } from '../../growth.ts'
import { runCases, type Case } from '../cases.ts'
import { bundle, call, diagnose, rules, snapshotOf, tempDir, writeFiles } from '../support.ts'

const RULE = { 'rules/pay.yaml': rules('  - id: a\n    allow: A.\n    when: { payload.note: $good }\n') }
const withList = (text: string, path = 'lists/good.txt'): Record<string, string> => ({
  ...RULE,
  [path]: text,
})
const entries = (count: number): string =>
  Array.from({ length: count }, (_, i) => `host-${i}.example\n`).join('')

const CASES: readonly Case[] = [
  ['a list of nothing', withList('# none\n\n'), 'lists/good.txt:1:1 empty-file: the list has no entry'],
  [
    'a list with a name that is none',
    withList('x\n', 'lists/a b.txt'),
    'lists/a b.txt:1:1 bad-value: `a b` is no name of a list',
  ],
  [
    'a list that routing.yaml has as well',
    withList('x\n', 'lists/our_domains.txt'),
    'lists/our_domains.txt:1:1 bad-value: the list `our_domains` is in routing.yaml as well | keep one of the two',
  ],
  [
    'an entry with a space at its end',
    withList('x\ny \n'),
    'lists/good.txt:2:1 bad-value: the entry begins or ends with a space | remove it',
  ],
  [
    'a hidden character in an entry',
    withList('x\nev\u200bil\n'),
    'lists/good.txt:2:3 hidden-character: hidden character <U+200B>',
  ],
  [
    'more entries than a list may have',
    withList(entries(100_001)),
    'lists/good.txt:1:1 bad-value: the list has 100001 entries, more than 100000',
  ],
  [
    'an unknown list',
    { 'rules/pay.yaml': RULE['rules/pay.yaml'], 'lists/goods.txt': 'x\n' },
    'rules/pay.yaml:5:27 unknown-list: no list named `$good` | did you mean `goods`?',
  ],
]

describe('a list in its own file', () => {
  runCases(CASES)

  it('has one text per line, and comments', async () => {
    const files = bundle(withList('# hosts\r\na.example\r\n\r\n$b\n#c\n 5\n'.replace(' 5', '5')))
    expect((await diagnose(files)).filter(({ severity }) => severity === 'error')).toEqual([])
    const snapshot = await snapshotOf(files)
    const verdicts = ['a.example', '$b', '5', '#c', ''].map(
      async (note) => (await snapshot.judge(call({ note }))).verdict,
    )
    expect(await Promise.all(verdicts)).toEqual(['allow', 'allow', 'allow', 'reject', 'reject'])
  })

  it('checks, loads and decides 100,000 entries in time linear in its length', async () => {
    const files = bundle(withList(entries(100_000)))
    const snapshot = await snapshotOf(files)
    expect((await snapshot.judge(call({ note: 'host-99999.example' }))).verdict).toBe('allow')
    expect((await snapshot.judge(call({ note: 'host-100000.example' }))).verdict).toBe('reject')
    const check = (count: number): unknown =>
      checkBundle(Object.entries(bundle(withList(entries(count)))).map(([path, text]) => ({ path, text })))
    expect(growth(check, 2_000)).toBeLessThan(LINEAR)
  })

  it('is a file of the bundle: loaded, locked, and not changed by fmt', async () => {
    const dir = tempDir()
    const files = bundle(withList('a.example  \n'.replace('  ', '')))
    writeFiles(dir, files)
    const loaded = await loadBundle(dir)
    expect(loaded.ok && loaded.snapshot.files.map(({ path }) => path)).toContain('lists/good.txt')
    const read = await readBundle(dir)
    const texts = read.ok ? read.texts : []
    expect(formatFile({ path: 'lists/good.txt', text: 'b\na' })).toEqual({ ok: true, text: 'b\na' })
    const digests = loaded.ok ? loaded.snapshot.files : []
    expect(texts).toHaveLength(digests.length)
    writeFiles(dir, { 'countersign.lock': printLock(digests), 'lists/good.txt': 'evil.example\n' })
    const changed = await loadBundle(dir)
    expect(!changed.ok && changed.diagnostics.map(({ code, file }) => `${code} ${file}`)).toEqual([
      'lock-mismatch lists/good.txt',
    ])
  })

  it('is not YAML, and is not in a subfolder', async () => {
    const dir = tempDir()
    writeFiles(dir, {
      ...bundle(RULE),
      'lists/good.yaml': 'a: 1\n',
      'lists/x/y.txt': 'a\n',
      'lists/README.md': 'x',
    })
    const loaded = await loadBundle(dir)
    expect(!loaded.ok && loaded.diagnostics.map(({ code, file }) => `${code} ${file}`)).toEqual([
      'unexpected-file lists/good.yaml',
      'unexpected-file lists/x/y.txt',
    ])
  })
})
