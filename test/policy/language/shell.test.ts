import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { readShell } from '../../../src/policy/language/shell/read.ts'
import { call, snapshotOf } from '../support.ts'

interface Lines {
  readonly harmless: readonly string[]
  readonly hostile: readonly { readonly line: string; readonly why: string }[]
}
const { harmless, hostile } = JSON.parse(
  readFileSync(new URL('shell-lines.json', import.meta.url), 'utf8'),
) as Lines

/** The hostile lines that read as they run. Only a rule that names programs and options stops them. */
const AS_WRITTEN: Readonly<Record<string, string>> = {
  'rm -rf build': 'rm -rf build',
  "sed -i 's/a/b/' x.txt": 'sed -i s/a/b/ x.txt',
  'find . -name x -delete': 'find . -name x -delete',
  'awk \'BEGIN{system("id")}\'': 'awk BEGIN{system("id")}',
  'git branch -D main': 'git branch -D main',
  'cat ~/.ssh/id_ed25519': 'cat ~/.ssh/id_ed25519',
  'sort -o /etc/passwd x': 'sort -o /etc/passwd x',
  'git diff --output=/tmp/x': 'git diff --output=/tmp/x',
  'find . -fprint /etc/cron.d/x': 'find . -fprint /etc/cron.d/x',
  'git diff --ext-diff': 'git diff --ext-diff',
  'git log --output=/etc/x': 'git log --output=/etc/x',
  'ls\nid': 'ls ; id',
  'cat /home/*/.ssh/id_*': 'cat /home/*/.ssh/id_*',
  'cat ~root/.ssh/id_rsa': 'cat ~root/.ssh/id_rsa',
  'rg --pre=./x a': 'rg --pre=./x a',
  'tar cf x.tar . --checkpoint-action=exec=id': 'tar cf x.tar . --checkpoint-action=exec=id',
  'ls >&2 | tee /etc/passwd': 'ls ; tee /etc/passwd',
  'sort -uo/x a': 'sort -uo/x a',
  'sort --outp=/x a': 'sort --outp=/x a',
  'find . -fprintf /x %p': 'find . -fprintf /x %p',
}

const textOf = (line: string): string | undefined =>
  readShell(line)
    ?.map(({ text }) => text)
    .join(' ; ')

describe('a shell line', () => {
  it('is unknown, or reads as it runs, for every hostile line', () => {
    const read = hostile.flatMap(({ line }) => {
      const text = textOf(line)
      return text === undefined ? [] : [[line, text]]
    })
    expect(Object.fromEntries(read)).toEqual(AS_WRITTEN)
  })

  it('is read for every harmless line except the loop', () => {
    expect(harmless.filter((line) => readShell(line) === undefined)).toEqual([
      'for f in *.ts; do wc -l $f; done',
    ])
  })

  it('gives the program, the arguments, the options and the files of each command', () => {
    expect(readShell(`git log --format='%h x' -5 -- -a 2>/dev/null | head -n "3" < in >> out; "l"s`)).toBe(
      undefined,
    )
    expect(readShell(`git log --format='%h x' -5 -- -a 2>/dev/null | head -n "3" < in >> out;`)).toEqual([
      {
        program: 'git',
        arguments: ['log', '--format=%h x', '-5', '--', '-a'],
        options: ['--format', '-5'],
        reads: [],
        writes: [],
        text: 'git log --format=%h x -5 -- -a',
      },
      {
        program: 'head',
        arguments: ['-n', '3'],
        options: ['-n'],
        reads: ['in'],
        writes: ['out'],
        text: 'head -n 3',
      },
    ])
  })

  it.each([
    ['', 'nothing'],
    ['ls |', 'an open pipe'],
    ['ls &&', 'an open condition'],
    ['| ls', 'a pipe without a command'],
    ['ls ;; id', 'two semicolons'],
    ['ls |& id', 'a pipe of bash'],
    ['> x', 'a redirection alone'],
    ['ls > $x', 'a file from a variable'],
    ['ls > a*', 'a file from a pattern'],
    ['ls 3> x', 'another descriptor'],
    ['ls 2>&1@x', 'a word behind a copy'],
    ['ls >| x', 'a forced redirection'],
    ['a=b', 'an assignment'],
    ['[ -f x ]', 'a bracket'],
    ['/usr/bin/env rm x', 'a path to a program that runs its arguments'],
    ['echo {a,b}', 'braces'],
    ['echo a\u200bb', 'a character that nobody sees'],
    ['ls \u00a0x', 'a blank that is none'],
    ['x'.repeat(10_001), 'a long line'],
  ])('is unknown for %j: %s', (line) => {
    expect(readShell(line)).toBeUndefined()
  })

  /** Ten times the limit of an idle machine, where no line takes 5 ms. A quadratic reader takes seconds. */
  const MOST_MS = 50

  it('takes time in proportion to its length', () => {
    const parts = ['{', '@{a}', "'", '"', '*', '~', '-', ' ', '>', '=', '#', 'a']
    for (const part of parts) {
      const line = `ls ${part.repeat(Math.floor(9_900 / part.length))}`
      const before = process.cpuUsage()
      for (let i = 0; i < 20; i++) readShell(line)
      const { user, system } = process.cpuUsage(before)
      expect((user + system) / 1_000 / 20).toBeLessThan(MOST_MS)
    }
  })
})

describe('the recipe shell-allow-list', () => {
  it('allows every harmless line except the loop, and no hostile line', async () => {
    const folder = fileURLToPath(new URL('../../../examples/policies/shell-allow-list', import.meta.url))
    const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith('.yaml'),
    )
    const files = paths.map((path) => [path, readFileSync(`${folder}/${path}`, 'utf8')] as const)
    const snapshot = await snapshotOf(Object.fromEntries(files))
    const isAllowed = async (line: string): Promise<boolean> => {
      const made = call({ command: line, cwd: '/workspace/app' }, { tool: 'shell.run' })
      return (await snapshot.judge(made)).verdict === 'allow'
    }
    const refused = []
    for (const line of harmless) if (!(await isAllowed(line))) refused.push(line)
    expect(refused).toEqual(['for f in *.ts; do wc -l $f; done'])
    for (const { line } of hostile) expect([line, await isAllowed(line)]).toEqual([line, false])
  })
})
