import { spawnSync } from '../../sync-child.ts'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readShell, type ShellCommand } from '../../../src/policy/language/shell/read.ts'
import { runs } from '../../runs.ts'

/** Real shells say what a line runs. Their PATH holds recorders only. */
const SHELLS = ['sh', 'bash', 'dash', 'zsh', 'busybox sh']
const isHere = (shell: string): boolean => {
  const [program = '', ...rest] = shell.split(' ')
  return spawnSync(program, [...rest, '-c', ':']).status === 0
}
const HERE = SHELLS.filter(isHere)
const LINES = runs(2_000)

const PARTS =
  `ls|git|aa|rg|ls |git | | | | -x| --a=b|'|"|''|' '|"a b"|'$(aa)'|\\|;|; |&&| && |&|$|$?|"$?"|\`|(|)|{|}|{}
  {a,b}|@{1}|*|?|[a]|~|~1|#| #|=|a=b|!|^|%|%1|+|-|--| -- |,|:|.|/|./|@| 2>/dev/null|2>&1|>/dev/null| </dev/null|1|2|0|é
  if|time|then|done|<|>|<<|-v|test |printf `
    .split(/\||\n +/)
    .concat(['|', ' | ', '||', '\n', '\t', '\u00a0', '\u200b'])
const NAMES = ['ls', 'git', 'aa', 'rg', 'test', 'printf']
const line = fc
  .tuple(
    fc.constantFrom(...NAMES.map((name) => `${name} `), 'ls', ''),
    fc.array(fc.constantFrom(...PARTS), { minLength: 1, maxLength: 9 }),
  )
  .map(([first, rest]) => first + rest.join(''))

/** The lines that the reader accepts, of a fixed seed. */
function acceptedLines(count: number): readonly string[] {
  const found = new Set<string>()
  for (let seed = 1; found.size < count; seed++)
    for (const one of fc.sample(line, { seed, numRuns: 2_000 })) {
      const commands = found.size < count ? readShell(one) : undefined
      if (commands?.every(({ writes }) => writes.length === 0)) found.add(one)
    }
  return [...found]
}

describe('the law of shell lines', () => {
  const missing = SHELLS.filter((shell) => !HERE.includes(shell))
  if (missing.length > 0) console.log(`not on this machine, so not tried: ${missing.join(', ')}`)

  it.skipIf(HERE.length === 0)('every command that a real shell runs was read, with its arguments', () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-shell-'))
    const [bin, cwd, log] = ['bin', 'cwd', 'log'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ]
    mkdirSync(bin)
    mkdirSync(cwd)
    for (const name of NAMES)
      writeFileSync(
        join(bin, name),
        `#!/bin/sh\nprintf '%s\\1' "\${0##*/}" "$@" '=END=' >> ${log}\nexit $RC\n`,
        { mode: 0o755 },
      )
    let ran = 0
    const escaped: unknown[] = []
    for (const [i, text] of acceptedLines(LINES).entries()) {
      const read = readShell(text) ?? []
      for (const shell of HERE) {
        rmSync(log, { force: true })
        const [program = '', ...rest] = shell.split(' ')
        const env = { PATH: bin, RC: String(i % 2), HOME: '/h' }
        spawnSync(spawnPath(program), [...rest, '-c', text], { cwd, env, timeout: 10_000, input: '' })
        const calls = existsSync(log) ? readFileSync(log, 'utf8').split('=END=\u0001').slice(0, -1) : []
        ran += calls.length
        for (const one of calls.map((call) => call.split('\u0001').slice(0, -1)))
          if (!read.some((command) => isSame(command, one))) escaped.push({ shell, text, ran: one, read })
      }
    }
    rmSync(folder, { recursive: true })
    console.log(`${LINES} lines in ${HERE.join(', ')}: ${ran} commands ran`)
    expect(escaped).toEqual([])
    expect(ran).toBeGreaterThan(LINES)
  })
})

const spawnPath = (program: string): string =>
  spawnSync('/bin/sh', ['-c', `command -v ${program}`]).stdout.trim()

/** `$?` is a number. What the shell expands reads as written. */
function isSame(command: ShellCommand, ran: readonly string[]): boolean {
  const words = [command.program, ...command.arguments]
  if (words.length !== ran.length) return false
  return words.every((word, i) => {
    if (/[~=]/.test(word)) return true
    const pattern = word.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('\\$\\?', '\\d+')
    return new RegExp(`^${pattern}$`).test(ran[i] ?? '')
  })
}
