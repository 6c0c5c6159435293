import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCli } from './run.ts'

const STARTER = fileURLToPath(new URL('../../policies', import.meta.url))
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cs-cli-'))
  await cp(STARTER, join(directory, 'policies'), { recursive: true })
})
afterAll(() => rm(directory, { recursive: true, force: true }))

const inDirectory = (...args: string[]) => runCli(args, { cwd: directory })

describe('countersign check', () => {
  it('exits 0 and says what it found to be fine', async () => {
    const { code, out } = await inDirectory('check')
    expect(out).toMatch(/^fine: \d+ tools, \d+ rules, \d+ tests passed, 0 warnings, revision [0-9a-f]{12}\n$/)
    expect(code).toBe(0)
  })

  it('exits 3 and points at the place when the bundle would not be loaded', async () => {
    const broken = join(directory, 'broken')
    await cp(STARTER, broken, { recursive: true })
    await writeFile(join(broken, 'rules/web.fetch.yaml'), 'tool: web.fetch\nrulez: []\n')
    const { code, out } = await inDirectory('check', broken)
    expect(out).toMatch(/rules\/web\.fetch\.yaml:2:1.*`rulez`/)
    expect(out).toContain('^')
    expect(code).toBe(3)
  })

  it('prints the same findings as JSON', async () => {
    const { code, out } = await inDirectory('check', 'broken', '--format', 'json')
    const found = JSON.parse(out) as { file: string; line: number }[]
    expect(found.some(({ file, line }) => file === 'rules/web.fetch.yaml' && line === 2)).toBe(true)
    expect(code).toBe(3)
  })

  it('exits 3 for a directory that is not there', async () => {
    expect((await inDirectory('check', 'nowhere')).code).toBe(3)
  })
})

describe('countersign test', () => {
  it('exits 0 when every test passes and every rule is fired by one', async () => {
    const { code, out } = await inDirectory('test')
    expect(out).toMatch(/^\d+ passed, 0 failed, 0 rules untested\n$/)
    expect(code).toBe(0)
  })

  it('exits 4 for a failing test and says what was expected and what came', async () => {
    const failing = join(directory, 'failing')
    await cp(STARTER, failing, { recursive: true })
    const text =
      'tool: web.fetch\nrules:\n  - id: fetch-none\n    reject: No fetching.\ntests:\n  - allow: hopeful\n    payload: { url: "https://example.com/" }\n'
    await writeFile(join(failing, 'rules/web.fetch.yaml'), text)
    const { code, out } = await inDirectory('test', failing)
    expect(out).toMatch(/expected allow, got reject by fetch-none/)
    expect(code).toBe(4)
  })

  it('exits 4 for a rule that no test fires, unless that is allowed', async () => {
    const untested = join(directory, 'untested')
    await cp(STARTER, untested, { recursive: true })
    await writeFile(
      join(untested, 'rules/web.fetch.yaml'),
      'tool: web.fetch\nrules:\n  - id: fetch-none\n    reject: No fetching.\n',
    )
    const { code, out } = await inDirectory('test', untested)
    expect(out).toContain('no test fires fetch-none (rules/web.fetch.yaml:3)')
    expect(code).toBe(4)
    expect((await inDirectory('test', untested, '--allow-untested')).code).toBe(0)
  })
})

describe('countersign explain', () => {
  const request = {
    tool_name: 'ledger.transfer',
    payload: { from: 'acct_ops', to: 'acct_travel', amount_cents: 25_000, currency: 'eur' },
  }

  it('prints the decision and, per rule, what was read and whether it fired', async () => {
    await writeFile(join(directory, 'request.json'), JSON.stringify(request))
    const { code, out } = await inDirectory('explain', 'request.json')
    expect(out).toMatch(/review/i)
    expect(out).toContain('transfer-medium')
    expect(out).toContain('rules/ledger.transfer.yaml:')
    expect(out).toContain('25000')
    expect(code).toBe(0)
  })

  it('prints the same as JSON, also from standard input', async () => {
    const { out } = await runCli(['explain', 'policies', '-', '--json'], {
      cwd: directory,
      input: JSON.stringify(request),
    })
    const { outcome } = JSON.parse(out) as { outcome: { verdict: string; by: string[] } }
    expect(outcome).toMatchObject({ verdict: 'review', by: ['transfer-medium'] })
  })

  it('exits 2 for a request that is none', async () => {
    expect((await runCli(['explain', 'policies', '-'], { cwd: directory, input: '{' })).code).toBe(2)
    const misfit = JSON.stringify({ ...request, payload: {} })
    const { code, err } = await runCli(['explain', 'policies', '-'], { cwd: directory, input: misfit })
    expect(err).toContain('does not fit the contract of `ledger.transfer`')
    expect(code).toBe(2)
  })
})

describe('the command line', () => {
  it('exits 2 for an unknown command and lists the known ones', async () => {
    const { code, err } = await inDirectory('serv')
    expect(err).toContain('unknown command `serv`')
    expect(err).toContain('run the gateway')
    expect(code).toBe(2)
  })

  it('answers --help of every command with its usage', async () => {
    const { out } = await inDirectory('--help')
    const names = [...out.matchAll(/^ {2}(\w+) /gm)].map((match) => match[1] ?? '')
    expect(names).toHaveLength(11)
    const answers = await Promise.all(names.map((name) => inDirectory(name, '--help')))
    expect(answers.map(({ code }) => code)).toEqual(names.map(() => 0))
    expect(answers.map(({ out: text }) => text.split(' ', 2).join(' '))).toEqual(
      names.map((name) => `countersign ${name}`),
    )
  })

  it('exits 2 for an unknown flag, in one line', async () => {
    const { code, err } = await inDirectory('check', '--nope')
    expect(err).toMatch(/^countersign: .*--nope/)
    expect(code).toBe(2)
  })

  it('prints help and version', async () => {
    expect((await inDirectory('--help')).out).toContain('Exit codes')
    expect((await inDirectory('--version')).out).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  it('config shows values with their origin and masks the admin key', async () => {
    const key = 'k'.repeat(32)
    const env = { COUNTERSIGN_PORT: '9000', COUNTERSIGN_ADMIN_KEY: key }
    const { out, code } = await runCli(['config', '--host', '127.0.0.2'], { cwd: directory, env })
    expect(out).toMatch(/COUNTERSIGN_HOST\s+127\.0\.0\.2\s+flag/)
    expect(out).toMatch(/COUNTERSIGN_PORT\s+9000\s+environment/)
    expect(out).toMatch(/COUNTERSIGN_STORE\s+file:\.\/data\s+default/)
    expect(out).not.toContain(key)
    expect(code).toBe(0)
  })
})
