import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCli } from './run.ts'
import { execFileSync } from '../sync-child.ts'

const STARTER = fileURLToPath(new URL('../../policies', import.meta.url))
const LOOSENED = 'ledger.transfer LOOSENS reject/low -> review/low when payload.amount_cents in {1000001..}'
let directory: string

const git = (...args: string[]) => execFileSync('git', args, { cwd: directory })
const diff = (...args: string[]) => runCli(['diff', ...args], { cwd: directory })
const edit = (bundle: string, path: string, passage: string, by: string): void => {
  const file = join(directory, bundle, path)
  writeFileSync(file, readFileSync(file, 'utf8').replace(passage, by))
}

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'cs-diff-'))
  cpSync(STARTER, join(directory, 'policies'), { recursive: true })
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('-c', 'user.name=t', '-c', 'user.email=t@example.com', 'commit', '-q', '-m', 'first')
  edit('policies', 'rules/ledger.transfer.yaml', 'reject: Transfers above', 'review: Transfers above')
  edit('policies', 'rules/ledger.transfer.yaml', '- reject: a fortune', '- review: a fortune')
  cpSync(STARTER, join(directory, 'old'), { recursive: true })
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

describe('countersign diff', () => {
  it('exits 0 and shows each changed decision, loosened ones first, with a summary', async () => {
    const { code, out } = await diff('old', 'policies')
    expect(out).toContain(LOOSENED)
    expect(out).toMatch(/\n6 loosened, 0 tightened, 0 changed otherwise; complete: 48 cells\n$/)
    expect(code).toBe(0)
  })

  it('reads a git revision of the same directory, or of the directory after a colon', async () => {
    const answers = [
      await diff('main', 'policies'),
      await diff('HEAD:policies'),
      await diff('old', 'policies'),
    ]
    expect(new Set(answers.map(({ out }) => out)).size).toBe(1)
    expect(answers.map(({ code }) => code)).toEqual([0, 0, 0])
  })

  it('says that nothing differs', async () => {
    expect(await diff('main:policies', 'old')).toMatchObject({
      code: 0,
      out: 'no change of any decision; complete: 0 cells\n',
    })
  })

  it('exits 5 with --fail-on loosens only when a decision is loosened', async () => {
    expect((await diff('old', 'policies', '--fail-on', 'loosens')).code).toBe(5)
    expect((await diff('policies', 'old', '--fail-on', 'loosens')).code).toBe(0)
    expect((await diff('policies', 'old', '--fail-on', 'changes')).code).toBe(5)
    expect((await diff('main:policies', 'old', '--fail-on', 'changes')).code).toBe(0)
  })

  it('prints JSON with an example for every change', async () => {
    const { out } = await diff('old', 'policies', '--format', 'json')
    const { complete, tools } = JSON.parse(out) as {
      complete: boolean
      tools: { tool: string; changes: { direction: string; example: { call: { payload: object } } }[] }[]
    }
    expect(complete).toBe(true)
    expect(tools.map(({ tool }) => tool)).toEqual(['ledger.transfer'])
    expect(tools[0]?.changes.map(({ direction }) => direction)).toEqual(Array(6).fill('loosens'))
    expect(tools[0]?.changes[0]?.example.call.payload).toHaveProperty('amount_cents', 1000001)
  })

  it('prints markdown for a pull request', async () => {
    const { out } = await diff('old', 'policies', '--format', 'markdown')
    expect(out).toMatch(/^## Policy difference\n\n\*\*6 loosened/)
    expect(out).toContain('### Loosened\n\n- `ledger.transfer` **reject/high → review/high**')
  })

  it('exits 3 when a bundle would not load, and points at the place', async () => {
    cpSync(STARTER, join(directory, 'broken'), { recursive: true })
    writeFileSync(join(directory, 'broken/rules/web.fetch.yaml'), 'tool: web.fetch\nrulez: []\n')
    const { code, out } = await diff('old', 'broken')
    expect(out).toMatch(/`broken` would not load:\n[^]*rules\/web\.fetch\.yaml:2:1/)
    expect(code).toBe(3)
  })

  it('exits 2 for a path that is neither directory nor revision, and for a revision that looks like an option', async () => {
    const unknown = await diff('nowhere', 'policies')
    expect(unknown.err).toContain('`nowhere` is neither a directory nor a git revision')
    const nested = await diff('main:nothing/here', 'policies')
    expect(nested.err).toContain('revision `main` has no directory `nothing/here`')
    const option = await diff('policies', '--', '--output=x')
    expect(option.err).toContain('`--output=x` is neither')
    const none = await diff()
    expect([unknown, nested, option, none].map(({ code }) => code)).toEqual([2, 2, 2, 2])
    expect((await diff('old', 'policies', '--format', 'xml')).code).toBe(2)
  })

  it('exits 0 for the change that introduces the policies, in a checkout or a revision without them', async () => {
    const said = { code: 0, out: 'the base has no bundle: everything is new\n' }
    mkdirSync(join(directory, 'base', 'policies'), { recursive: true })
    const gate = ['policies', '--fail-on', 'loosens', '--format', 'markdown']
    expect(await diff('base/policies', ...gate)).toMatchObject(said)
    rmSync(join(directory, 'base', 'policies'), { recursive: true })
    expect(await diff('base/policies', ...gate)).toMatchObject(said)
    const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.com']
    const tree = execFileSync('git', ['mktree'], { cwd: directory, input: '' }).trim()
    const empty = git(...identity, 'commit-tree', '-m', 'nothing yet', tree).trim()
    expect(await diff(empty, ...gate)).toMatchObject(said)
    expect(await diff(`${empty}:policies`, ...gate)).toMatchObject(said)
    expect(await diff(`${empty}:policies`, 'main:policies')).toMatchObject(said)
    expect((await diff(`${empty}:policy`, ...gate)).code).toBe(2)
    expect((await diff(`${empty}:policies`, 'main:nothing')).code).toBe(2)
    expect((await diff('base/policy', ...gate)).code).toBe(2)
    expect((await diff('basis/policies', ...gate)).code).toBe(2)
  })

  it('repeats the reason of git when it refuses the repository', async () => {
    const env = { PATH: process.env['PATH'] ?? '', GIT_TEST_ASSUME_DIFFERENT_OWNER: '1' }
    const { code, err } = await runCli(['diff', 'main', 'policies'], { cwd: directory, env })
    expect(err).toMatch(
      /`main` is not a directory, and git could not read it as a revision: fatal: detected dubious ownership.*; git config --global --add safe\.directory/,
    )
    expect(code).toBe(2)
  })

  it('refuses a revision that contains links', async () => {
    git('checkout', '-q', '-b', 'linked')
    symlinkSync('web.fetch.yaml', join(directory, 'policies/rules/other.yaml'))
    git('add', 'policies/rules/other.yaml')
    git('-c', 'user.name=t', '-c', 'user.email=t@example.com', 'commit', '-q', '-m', 'link')
    const { code, err } = await diff('linked:policies', 'old')
    expect(err).toContain('`linked:policies` holds links')
    expect(code).toBe(1)
  })

  it('reports that git is not installed', async () => {
    const { code, err } = await runCli(['diff', 'main', 'policies'], {
      cwd: directory,
      env: { PATH: directory },
    })
    expect(err).toContain('and git is not installed to read it as a revision')
    expect(code).toBe(1)
  })
})
