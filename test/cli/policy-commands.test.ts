import { readFileSync } from 'node:fs'
import { commitmentTo } from '../../src/domain/disclosure.ts'
import { cp, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/contract/json.ts'
import { canonicalJson, leafHash, sha256 } from '../../src/domain/digest.ts'
import type { SuiteReport } from '../../src/policy/bundle/test-report.ts'
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
  it('exits 0 and prints how much it checked', async () => {
    const { code, out } = await inDirectory('check')
    expect(out).toMatch(/^fine: \d+ tools, \d+ rules, \d+ tests passed, revision [0-9a-f]{12}\n$/)
    expect(code).toBe(0)
  })

  it('exits 3 and points at the place when the bundle would not load', async () => {
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

  it('annotates files as seen from the working directory', async () => {
    const { code, out } = await inDirectory('check', 'broken', '--format', 'github')
    expect(out).toMatch(
      /^::error file=broken\/rules\/web\.fetch\.yaml,line=2,.*title=unknown-key::unknown key `rulez`/m,
    )
    expect(code).toBe(3)
  })

  it('writes a SARIF log and nothing else', async () => {
    const { code, out } = await inDirectory('check', 'broken', '--format', 'sarif')
    expect(JSON.parse(out)).toMatchObject({ version: '2.1.0' })
    expect(out).toContain('"uri": "broken/rules/web.fetch.yaml"')
    expect(code).toBe(3)
  })

  it('prints plain text when the output is not a terminal', async () => {
    expect((await inDirectory('check', 'broken')).out).not.toContain('\u001B')
  })

  it('exits 2 for a format it does not know', async () => {
    const { code, err } = await inDirectory('check', '--format', 'xml')
    expect(err).toContain('one of text, json, github, sarif')
    expect(code).toBe(2)
  })

  it('exits 3 for a missing directory', async () => {
    expect((await inDirectory('check', 'nowhere')).code).toBe(3)
  })
})

describe('countersign backtest', () => {
  const line = (number: number, record: JsonObject): string => {
    const text = canonicalJson(record)
    return `{"number":${number},"leaf_hash":"${leafHash(text)}","record":${text}}`
  }
  const SEED = 'A'.repeat(22)
  const read = (amount: number): JsonObject => ({
    'reads.payload.amount_cents': amount,
    'reads.payload.order_id': 'o',
  })
  const refund = (amount: number): JsonObject => ({
    v: 1,
    type: 'decision.allowed',
    tenant: 'acme',
    at: '2026-11-20T12:00:00.000Z',
    actor: { kind: 'agent', id: 'billing-bot' },
    task_id: 't',
    tool: 'payments.refund',
    details: {
      verdict: 'allow',
      risk: 'low',
      policy: 'p',
      missing: ['payload.reason'],
      commitment: commitmentTo(read(amount), SEED),
    },
  })
  /** The line of a refund, with the values that its rules read. */
  const refunded = (number: number, amount: number): string =>
    `${line(number, refund(amount)).slice(0, -1)},"disclosures":${canonicalJson({ members: read(amount), seed: SEED })}}`

  it('replays an export on two bundles, lists loosened calls first, and exits 5 on request', async () => {
    const next = join(directory, 'next')
    await cp(STARTER, next, { recursive: true })
    const path = join(next, 'rules/payments.refund.yaml')
    const text = await readFile(path, 'utf8')
    await writeFile(path, text.replaceAll('5000 }', '9000 }').replace(/tests:[^]*/, ''))
    await writeFile(join(directory, 'acme.ndjson'), [refunded(1, 4_000), refunded(2, 6_000)].join('\n'))
    const args = ['backtest', '--evidence', 'acme.ndjson', 'policies', next]
    const { code, out } = await inDirectory(...args)
    expect(out).toMatch(/^2 calls replayed on .*: 1 unchanged, 1 changed \(1 loosened\), 0 cannot tell\n/)
    expect(out).toContain(
      'LOOSENS  payments.refund: review/medium by refund-medium -> allow/low by refund-small, 1 call (acme#2)',
    )
    expect(code).toBe(0)
    expect((await inDirectory(...args, '--fail-on', 'loosens')).code).toBe(5)
    const markdown = await inDirectory(...args, '--format', 'markdown')
    expect(markdown.out).toContain(
      '| LOOSENS | payments.refund | review/medium by refund-medium | allow/low by refund-small | 1 | acme#2 |',
    )
    const json = await inDirectory(...args, '--format', 'json')
    expect(JSON.parse(json.out)).toMatchObject({ calls: 2, unchanged: 1, flips: [{ direction: 'loosens' }] })
  })

  it('reports a file that is not an export, and missing or invalid arguments', async () => {
    await writeFile(join(directory, 'no.ndjson'), '{"a":1}\n')
    const wrong = await inDirectory('backtest', '--evidence', 'no.ndjson', 'policies', 'policies')
    expect(wrong).toMatchObject({ code: 2, out: '' })
    expect(wrong.err).toContain('`no.ndjson`: line 1 is not a line of `countersign evidence export`')
    expect((await inDirectory('backtest', 'policies', 'policies')).code).toBe(2)
    expect(
      (await inDirectory('backtest', '--evidence', 'no.ndjson', 'policies', 'x', '--fail-on', 'rain')).code,
    ).toBe(2)
    const none = await inDirectory('backtest', '--evidence', 'none.ndjson', 'policies', 'policies')
    expect([none.code, none.err]).toEqual([2, expect.stringMatching(/cannot read `none.ndjson`: ENOENT/)])
    await writeFile(join(directory, 'empty.ndjson'), '')
    expect((await inDirectory('backtest', '--evidence', 'empty.ndjson', 'policies', 'nowhere')).code).toBe(2)
  })

  it('says that the export has no decision to replay: the tenant may be the wrong one', async () => {
    const other = { ...refund(1), type: 'key.issued', details: {} }
    for (const text of ['', `${line(1, other)}\n`]) {
      await writeFile(join(directory, 'idle.ndjson'), text)
      for (const format of ['text', 'json']) {
        const args = ['--evidence', 'idle.ndjson', 'policies', 'policies', '--format', format]
        const { code, out, err } = await inDirectory('backtest', ...args)
        expect([code, err]).toEqual([0, '`idle.ndjson` contains no policy decision: nothing was replayed\n'])
        expect(out).toMatch(format === 'json' ? /"calls": 0,/ : /^0 calls replayed on /)
      }
    }
  })

  it('refuses a line longer than an export can contain', async () => {
    const long = join(directory, 'long.ndjson')
    await writeFile(long, '')
    await truncate(long, 65 * 1024 * 1024)
    const { code, err } = await inDirectory('backtest', '--evidence', long, 'policies', 'policies')
    await rm(long)
    expect([code, err]).toEqual([2, expect.stringContaining('a line is longer than 67108864 bytes')])
  })
})

describe('countersign test', () => {
  it('exits 0 when every test passes and a test fires every rule', async () => {
    const { code, out } = await inDirectory('test')
    expect(out).toMatch(/^\d+ passed, 0 failed, 0 rules untested\n/)
    expect(out).toMatch(/^ +[1-9]\d* {2}transfer-medium +rules\/ledger\.transfer\.yaml:\d+$/m)
    expect(code).toBe(0)
  })

  it('exits 4 for a failing test and prints the expected and the actual verdict', async () => {
    const failing = join(directory, 'failing')
    await cp(STARTER, failing, { recursive: true })
    const text =
      'tool: web.fetch\nrules:\n  - id: fetch-none\n    reject: No fetching.\ntests:\n  - allow: hopeful\n    payload: { url: "https://example.com/" }\n'
    await writeFile(join(failing, 'rules/web.fetch.yaml'), text)
    const { code, out } = await inDirectory('test', failing)
    expect(out).toMatch(/expected allow, got reject by fetch-none/)
    expect(code).toBe(4)
  })

  it('exits 4 for a rule that no test fires, except with --allow-untested', async () => {
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
    const checked = await inDirectory('check', untested)
    expect(checked.out).toContain(
      'rules/web.fetch.yaml:3:5: warning untested-rule: no test fires rule `fetch-none`',
    )
    expect(checked.code).toBe(0)
  })

  it('prints the same report as JSON, and also writes JUnit', async () => {
    const { code, out } = await inDirectory('test', 'failing', '--format', 'json', '--junit', 'junit.xml')
    const report = JSON.parse(out) as SuiteReport
    expect([code, report.ok, report.failed]).toEqual([4, false, 1])
    expect(report.tests.find(({ name }) => name === 'hopeful')).toMatchObject({
      file: 'rules/web.fetch.yaml',
      line: 6,
      verdict: 'reject',
      by: ['fetch-none'],
    })
    expect(report.coverage).toContainEqual({
      id: 'fetch-none',
      file: 'rules/web.fetch.yaml',
      line: 3,
      tests: 1,
    })
    const junit = await readFile(join(directory, 'junit.xml'), 'utf8')
    expect(junit).toContain(`<testsuites tests="${report.tests.length}" failures="1" errors="0">`)
    expect(junit).toContain('expected allow, got reject by fetch-none')
  })

  it('exits 3 without running tests when the files do not check, and writes that into JUnit', async () => {
    const { code, out } = await inDirectory('test', 'broken', '--junit', 'broken.xml')
    expect(code).toBe(3)
    expect(out).toContain('`rulez`')
    expect(out).not.toContain('passed')
    const junit = await readFile(join(directory, 'broken.xml'), 'utf8')
    expect(junit).toContain(
      '<testcase name="unknown-key" classname="check" file="rules/web.fetch.yaml" line="2">',
    )
  })

  it('exits 2 for a format it does not know', async () => {
    expect((await inDirectory('test', '--format', 'xml')).code).toBe(2)
    expect((await inDirectory('explain', 'request.json', '--format', 'xml')).code).toBe(2)
  })
})

describe('countersign explain', () => {
  const request = {
    tool_name: 'ledger.transfer',
    payload: { from: 'acct_ops', to: 'acct_travel', amount_cents: 25_000, currency: 'eur' },
  }

  it('prints the decision and, for each rule, its inputs and whether it fired', async () => {
    await writeFile(join(directory, 'request.json'), JSON.stringify(request))
    const { code, out } = await inDirectory('explain', 'request.json')
    expect(out).toMatch(/review/i)
    expect(out).toContain('transfer-medium')
    expect(out).toContain('rules/ledger.transfer.yaml:')
    expect(out).toContain('25000')
    expect(code).toBe(0)
  })

  it('prints the same decision as JSON, also for a request from standard input', async () => {
    const { out } = await runCli(['explain', 'policies', '-', '--format', 'json'], {
      cwd: directory,
      input: JSON.stringify(request),
    })
    const { outcome } = JSON.parse(out) as { outcome: { verdict: string; by: string[] } }
    expect(outcome).toMatchObject({ verdict: 'review', by: ['transfer-medium'] })
  })

  it('explains a call from its record, and names the values that evidence does not have', async () => {
    const members = { 'reads.payload.amount_cents': 25_000, 'reads.payload.currency': 'eur' }
    const contract = readFileSync(join(directory, 'policies/tools/ledger.transfer.yaml'), 'utf8')
    const template = sha256(/^summary: (.+)$/m.exec(contract)?.[1] ?? '')
    const seed = 'A'.repeat(22)
    const record = {
      actor: { id: 'bot', kind: 'agent' },
      at: '2026-11-20T12:00:00.000Z',
      details: {
        by: ['transfer-medium'],
        commitment: commitmentTo(members, seed),
        policy: 'p',
        policy_risk: 'medium',
        risk: 'medium',
        rules: ['transfer-medium'],
        template,
        verdict: 'review',
      },
      task_id: 't',
      tenant: 'acme',
      tool: 'ledger.transfer',
      type: 'review.pending',
      v: 1,
    }
    const leaf_hash = leafHash(canonicalJson(record))
    const line = JSON.stringify({ number: 7, leaf_hash, disclosures: { members, seed }, record })
    const explained = await runCli(['explain', 'policies', '-', '--record'], { cwd: directory, input: line })
    expect(explained.out).toContain('transfer-medium')
    expect(explained.out).toMatch(/^Transfer €250\.00 /)
    expect(explained.out).toContain('25000')
    expect(explained.out).toMatch(/Evidence does not have these values, .*: .*payload\.from/)
    const altered = line.replace('25000', '2500')
    const refused = await runCli(['explain', 'policies', '-', '--record'], { cwd: directory, input: altered })
    expect([refused.code, refused.err]).toEqual([
      2,
      expect.stringContaining('the disclosures of record 7 do not match its commitment'),
    ])
  })

  it('exits 2 for an invalid request', async () => {
    expect((await runCli(['explain', 'policies', '-'], { cwd: directory, input: '{' })).code).toBe(2)
    const misfit = JSON.stringify({ ...request, payload: {} })
    const { code, err } = await runCli(['explain', 'policies', '-'], { cwd: directory, input: misfit })
    expect(err).toContain('does not fit the contract of `ledger.transfer`')
    expect(code).toBe(2)
  })

  it.each([
    [
      'a member twice',
      '{"tool_name":"ledger.transfer","tool_name":"x"}',
      'duplicate key `tool_name` (at character 31)',
    ],
    ['a number that is rounded', '{"payload":{"n":9007199254740993}}', 'beyond 2^53-1 (at character 16)'],
    ['__proto__', '{"payload":{"__proto__":{}}}', '`__proto__` is not accepted (at character 12)'],
    ['a byte order mark', '\ufeff{}', 'byte order mark (at character 0)'],
    ['NUL', String.raw`{"payload":{"n":"\u0000"}}`, 'a string contains NUL (at character 17)'],
  ])('exits 2 for JSON that the gateway would refuse, with the place: %s', async (_, input, said) => {
    const { code, out, err } = await runCli(['explain', 'policies', '-'], { cwd: directory, input })
    expect(err).toContain('`-` is not JSON that the gateway accepts: ')
    expect(err).toContain(said)
    expect([code, out]).toEqual([2, ''])
  })

  it('exits 2 and says why a request cannot be read', async () => {
    const { code, err } = await inDirectory('explain', 'nothing.json')
    expect([code, err]).toEqual([2, expect.stringMatching(/cannot read `nothing.json`: ENOENT/)])
  })

  const explainOf = (body: unknown) =>
    runCli(['explain', 'policies', '-', '--format', 'json'], { cwd: directory, input: JSON.stringify(body) })

  it.each([
    ['null', null, 'it must be object'],
    ['a list', [], 'it must be object'],
    ['no tool', {}, '`tool_name` is missing'],
    ['an agent that is null', { ...request, agent: null }, '`agent` must be string'],
    ['an agent that is an object', { ...request, agent: { id: 'bot' } }, '`agent` must be string'],
    ['an agent without a tenant', { ...request, agent: 'bot' }, '`agent` must be TENANT/AGENT'],
    ['a task that is null', { ...request, task: null }, '`task` must be object'],
    ['a misspelt member', { ...request, agnet: 'acme/bot' }, '`agnet` is not a member of it'],
    [
      'a misspelt member of the task',
      { ...request, task: { workflw: 'x' } },
      '`task.workflw` is not a member of it',
    ],
    ['an unknown risk level', { ...request, risk_level: 'hihg' }, '`risk_level` must be one of low, medium,'],
    ['a time that is a number', { ...request, time: 5 }, '`time` must be string'],
    [
      'a time of another form',
      { ...request, time: '1/2/2026' },
      '`time` must be a date and time in RFC 3339',
    ],
    ['a time without a zone', { ...request, time: '2026-01-02T10:00:00' }, '`time` must be a date and time'],
    ['a day that is none', { ...request, time: '2026-02-30T10:00:00Z' }, '`time` must be a date and time'],
    ['a payload that is a list', { ...request, payload: [] }, '`payload` must be object'],
    ['an amount that is text', { ...request, used: { daily: '5' } }, '`used.daily` must be integer'],
  ])('exits 2 and names the wrong member in one line for %s', async (_, body, said) => {
    const { code, out, err } = await explainOf(body)
    expect(err).toContain(said)
    expect(err).toMatch(/^countersign: [^\n]*\n$/)
    expect([code, out]).toEqual([2, ''])
  })

  it.each([
    ['is not in the directory', 'acme/nobody', 'unknown_agent'],
    ['is of a tenant that is not there', 'nowhere/demo-agent', 'unknown_tenant'],
    ['is not permitted the tool', 'acme/support-bot', 'tool_not_permitted'],
  ])('rejects a call of an agent who %s for any payload, as the gateway does', async (_, agent, by) => {
    for (const payload of [request.payload, {}]) {
      const { code, out } = await explainOf({ ...request, payload, agent })
      expect(JSON.parse(out)).toMatchObject({
        outcome: { verdict: 'reject', by: [by] },
        rules: [],
        limits: [],
      })
      expect(code).toBe(0)
    }
  })

  it('exits 2 and names an unknown limit in `used`', async () => {
    const { code, out, err } = await explainOf({ ...request, used: { 'transfer-dialy-sum': 5 } })
    expect(err).toContain('`used` names an unknown limit of `ledger.transfer`: `transfer-dialy-sum`\n')
    expect([code, out]).toEqual([2, ''])
  })

  it('applies the rules to a call of an agent who is permitted to use the tool', async () => {
    const { out } = await explainOf({
      ...request,
      agent: 'acme/demo-agent',
      time: '2026-11-20T11:00:00+01:00',
    })
    expect(JSON.parse(out)).toMatchObject({ outcome: { verdict: 'review', by: ['transfer-medium'] } })
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
    const source = readFileSync(new URL('../../src/main.ts', import.meta.url), 'utf8')
    expect(names).toEqual([...source.matchAll(/^ {2}(\w+): \{$/gm)].map((match) => match[1]))
    expect(names).toContain('serve')
    const answers = await Promise.all(names.map((name) => inDirectory(name, '--help')))
    expect(answers.map(({ code }) => code)).toEqual(names.map(() => 0))
    expect(answers.map(({ out: text }) => text.split(' ', 2).join(' '))).toEqual(
      names.map((name) => `countersign ${name}`),
    )
  })

  it.each([
    ['check', 'policies', 'broken'],
    ['test', 'policies', 'broken'],
    ['fmt', '--check', 'policies', 'broken'],
    ['lock', 'policies', 'broken'],
    ['schema', '--out', 'unwritten', 'policies', 'broken'],
    ['init', 'unwritten', 'broken'],
    ['add', 'tool', 'notes.add', 'broken'],
    ['explain', 'policies', 'request.json', 'broken'],
    ['diff', 'policies', 'policies', 'broken'],
    ['backtest', '--evidence', 'export.ndjson', 'policies', 'policies', 'broken'],
  ])('exits 2 for an extra argument: %s', async (...args) => {
    const { code, out, err } = await inDirectory(...args)
    expect(err).toMatch(/^countersign: unexpected argument `broken`\n/)
    expect([code, out]).toEqual([2, ''])
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
