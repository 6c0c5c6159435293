import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Command, flagsOf, isNeeded, operandsOf } from '../../src/cli/terminal/command.ts'
import { parse } from '../../src/cli/terminal/parse.ts'
import { usageOf } from '../../src/cli/terminal/usage.ts'
import { execFileSync, spawnSync } from '../sync-child.ts'
import { runCli } from './run.ts'

const SOURCES = new URL('../../src/cli/', import.meta.url)
/** The row of every command: each file of src/cli that makes one. */
const rows = (
  await Promise.all(
    readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
      .filter(
        (path) => path.endsWith('.ts') && /= command\(/.test(readFileSync(new URL(path, SOURCES), 'utf8')),
      )
      .map((path) => import(/* @vite-ignore */ new URL(path, SOURCES).href) as Promise<object>),
  )
).flatMap((module) =>
  Object.values(module).filter((one: unknown): one is Command => {
    const { says, flags } = (typeof one === 'object' && one !== null ? one : {}) as Partial<Command>
    return says !== undefined && flags !== undefined
  }),
)
const help = (await runCli(['--help'], { cwd: '.' })).out
/** Every command, and every subcommand. */
const places = rows.flatMap((row): [string, Command, string | undefined][] => {
  const own: [string, Command, undefined][] =
    row.subcommands === undefined || row.operands !== undefined ? [[row.name, row, undefined]] : []
  const names = Object.keys(row.subcommands ?? {})
  return [...own, ...names.map((name): [string, Command, string] => [`${row.name} ${name}`, row, name])]
})
const SHELLS = ['bash', 'zsh', 'fish'] as const
const scripts = Object.fromEntries(
  await Promise.all(
    SHELLS.map(async (shell) => [shell, (await runCli(['completion', shell], { cwd: '.' })).out]),
  ),
) as Record<(typeof SHELLS)[number], string>

/** Arguments that the row permits: the subcommand, its operands and the flags that it needs. */
function leastArgs(row: Command, subcommand: string | undefined): { own: string[]; program: string[] } {
  const { own, program } = operandsOf(row, subcommand)
  const needed = flagsOf(row, subcommand).filter(([name]) => isNeeded(row, subcommand, name))
  return {
    own: [
      ...(subcommand === undefined ? [] : [subcommand]),
      ...own.filter(({ isOptional }) => !isOptional).map(({ choices, name }) => choices?.[0] ?? name),
      ...needed.flatMap(([name, flag]) => [`--${name}`, flag.values?.[0] ?? 'x']),
    ],
    program: program === '' ? [] : ['--', 'program', '--its-own-flag'],
  }
}

describe.each(places)('the row of `countersign %s`', (_, row, subcommand) => {
  const flags = flagsOf(row, subcommand)
  const { own, program } = leastArgs(row, subcommand)

  it('has the name of the command in the table', () => {
    expect(help).toMatch(new RegExp(`^  ${row.name} +\\S`, 'm'))
  })

  it.each(flags)('its parser accepts --%s', (name, flag) => {
    const isText = flag.takes !== undefined || flag.values !== undefined
    for (const value of flag.values ?? ['x']) {
      const asked = parse(row, [...own, `--${name}`, ...(isText ? [value] : []), ...program])
      const values = asked.values[name] as unknown
      expect(flag.many ? (values as string[]).at(-1) : values).toBe(isText ? value : true)
      expect(asked.settings).toEqual([])
      expect(asked.program).toEqual(program.slice(1))
    }
    if (flag.short !== undefined) expect(() => parse(row, [...own, `-${flag.short}`, 'x'])).not.toThrow()
  })

  it.each(flags)('its usage prints --%s, its values and what it does', (name, flag) => {
    const text = usageOf(row)
    expect(text).toMatch(new RegExp(`[ [,]--${name}[\\] \n]`))
    for (const value of flag.values ?? []) expect(text).toContain(value)
    expect(flag.says ?? flag.values, 'what it does').toBeDefined()
  })

  it.each(SHELLS)('%s completes its flags and their values', (shell) => {
    const script = scripts[shell]
    const place = [row.name, ...(subcommand === undefined ? [] : [subcommand])].join(' ')
    const lines = script.split('\n').filter((line) => line.includes(place))
    for (const [name, { values = [] }] of flags) {
      const option = shell === 'fish' ? `-l ${name} ` : `--${name}`
      expect(lines.some((line) => line.includes(option))).toBe(true)
      for (const value of values)
        expect(lines.some((line) => line.includes(name) && line.includes(value))).toBe(true)
    }
  })

  it('refuses a missing operand, one too many, an unknown flag and a flag of another command', () => {
    const last = operandsOf(row, subcommand).own.filter(({ isOptional }) => !isOptional).length
    if (last > 0) expect(() => parse(row, subcommand === undefined ? [] : [subcommand])).toThrow(/^missing/)
    const optional = operandsOf(row, subcommand).own.map(() => 'x')
    expect(() => parse(row, [...own, ...optional, 'more', ...program])).toThrow('unexpected argument')
    if (row.settings === undefined)
      expect(() => parse(row, [...own, '--no-such-flag', ...program])).toThrow('--no-such-flag')
    for (const [name, flag] of Object.entries(row.flags))
      if (!flags.some(([known]) => known === name)) {
        const value = flag.takes === undefined && flag.values === undefined ? [] : ['x']
        expect(() => parse(row, [...own, `--${name}`, ...value])).toThrow('is not an option of this command')
      }
  })
})

describe('the rows of the commands', () => {
  it('there is one for each command of the usage', () => {
    const names = [...help.matchAll(/^ {2}([a-z-]+) {2,}/gm)].map(([, name]) => name)
    expect(new Set(rows.map(({ name }) => name))).toEqual(new Set(names))
  })

  it.each(rows.map((row): [string, Command] => [row.name, row]))(
    '%s has no flag that it refuses',
    (_, row) => {
      const taken = places
        .filter(([, other]) => other === row)
        .flatMap(([, , subcommand]) => flagsOf(row, subcommand).map(([name]) => name))
      expect(new Set(taken)).toEqual(new Set(Object.keys(row.flags)))
      expect(
        usageOf(row)
          .split('\n')
          .filter((line) => line.length > 120),
      ).toEqual([])
    },
  )

  it('a value outside of a closed list is refused', () => {
    const check = rows.find(({ name }) => name === 'check') as Command
    expect(() => parse(check, ['--format', 'xml'])).toThrow(
      '--format must be one of text, json, github, sarif, not `xml`',
    )
  })

  it('the flags of settings reach the configuration, in any order with the own ones', () => {
    const store = rows.find(({ name }) => name === 'store') as Command
    const args = ['--store', 'file:x', 'restore', '--restart', 'a.backup', '--store-replicas=1', '--nonsense']
    expect(parse(store, args)).toMatchObject({
      subcommand: 'restore',
      operands: ['a.backup'],
      values: { restart: true },
      settings: ['--store', 'file:x', '--store-replicas=1', '--nonsense'],
    })
  })
})

const isInstalled = (shell: string): boolean => spawnSync(shell, ['-c', 'true']).status === 0

/** Candidates of `complete` for a line of words; the last one is under the cursor. */
const ASK: Readonly<Record<(typeof SHELLS)[number], (script: string, words: readonly string[]) => string>> = {
  bash: (script, words) =>
    `. ${script}; COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
     _countersign; printf '%s\\n' "\${COMPREPLY[@]}"`,
  // the functions of zsh's completion that the script calls, with their answers
  zsh: (script, words) =>
    `compdef() { : }; _files() { : }; compset() { : }; _describe() { print -l -- \${\${(P)2}%%:*} }
     . ${script}; words=(${words.map((word) => `'${word}'`).join(' ')}); CURRENT=${words.length}; PREFIX=${words.at(-1)}
     _countersign`,
  fish: (script, words) =>
    `source ${script}; complete -C '${words.join(' ')}' | string replace -r '\\t.*' ''; true`,
}

describe.each(SHELLS)('%s', (shell) => {
  const script = join(mkdtempSync(join(tmpdir(), 'countersign-completion-')), 'script')
  const installed = isInstalled(shell)
  if (!installed) console.log(`${shell} is not installed: its completion was not loaded`)
  beforeAll(() => writeFileSync(script, scripts[shell]))

  const flags = shell === 'zsh' ? ['-f', '-c'] : shell === 'bash' ? ['--norc', '-c'] : ['--no-config', '-c']
  const candidates = (...words: string[]): string[] =>
    execFileSync(shell, [...flags, ASK[shell](script, ['countersign', ...words])])
      .split('\n')
      .filter((word) => word !== '')

  it.skipIf(!installed)('loads the script, and completes commands, subcommands, flags and values', () => {
    expect(candidates('')).toEqual(expect.arrayContaining(['serve', 'check', 'completion']))
    expect(candidates('review', '')).toEqual(expect.arrayContaining(['list', 'request-changes']))
    expect(candidates('review', 'list', '--')).toEqual(expect.arrayContaining(['--risk', '--json']))
    expect(candidates('review', 'list', '--')).not.toContain('--revision')
    expect(candidates('review', 'list', '--risk', '').toSorted()).toEqual([
      'critical',
      'high',
      'low',
      'medium',
    ])
    expect(candidates('completion', '')).toEqual(expect.arrayContaining(['bash', 'zsh', 'fish']))
    expect(candidates('serve', '--')).toEqual(
      expect.arrayContaining(['--store', '--oidc-issuer', '--config']),
    )
    expect(candidates('serve', '--log-level', '').toSorted()).toContain('silent')
  })
})
