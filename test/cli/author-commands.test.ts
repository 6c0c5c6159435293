import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { hasHidden } from '../../src/policy/text/text.ts'
import { runCli } from './run.ts'
import { spawnSync } from '../sync-child.ts'

const STARTER = fileURLToPath(new URL('../../policies', import.meta.url))
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cs-author-'))
  await cp(STARTER, join(directory, 'policies'), { recursive: true })
})
afterAll(() => rm(directory, { recursive: true, force: true }))

/** Adds the tools of an MCP server's list, whose file follows. */
const ALL = ['add', 'tool', '--all', '--tools']
const inDirectory = (...args: string[]) => runCli(args, { cwd: directory })

describe('countersign schema', () => {
  it('exits 0 and writes four schemas that name the tools, lists and groups of the bundle', async () => {
    const { code, out } = await inDirectory('schema', '--out', '.schemas')
    expect(code).toBe(0)
    expect(out.trimEnd().split('\n')).toHaveLength(4)
    const rules = await readFile(join(directory, '.schemas/rules.schema.json'), 'utf8')
    expect(rules).toContain('payload.amount_cents')
    expect(rules).toContain('"ledger.transfer"')
    expect(await readFile(join(directory, '.schemas/routing.schema.json'), 'utf8')).toContain('security')
  })

  it('exits 2 without a folder, and 3 for a bundle that cannot be read', async () => {
    expect((await inDirectory('schema')).code).toBe(2)
    expect((await inDirectory('schema', 'nowhere', '--out', 'x')).code).toBe(3)
  })
})

describe('countersign fmt', () => {
  const unordered = 'rules:\n  - { allow: A., id: a }\ntool: web.fetch\n'

  it('exits 5 with --check and changes nothing; then formats the file; then has nothing to change', async () => {
    const own = join(directory, 'unordered')
    await cp(STARTER, own, { recursive: true })
    await inDirectory('fmt', own)
    await writeFile(join(own, 'rules/web.fetch.yaml'), unordered)
    const checked = await inDirectory('fmt', own, '--check')
    expect([checked.code, checked.out]).toEqual([5, 'would change rules/web.fetch.yaml\n'])
    expect(await readFile(join(own, 'rules/web.fetch.yaml'), 'utf8')).toBe(unordered)
    const changed = await inDirectory('fmt', own)
    expect([changed.code, changed.out]).toEqual([0, 'changed rules/web.fetch.yaml\n'])
    const text = 'tool: web.fetch\nrules:\n  - { id: a, allow: A. }\n'
    expect(await readFile(join(own, 'rules/web.fetch.yaml'), 'utf8')).toBe(text)
    expect(await inDirectory('fmt', own, '--check')).toEqual({ code: 0, out: '', err: '' })
  })

  it('exits 3 for a file that does not parse, and leaves it unchanged', async () => {
    const own = join(directory, 'unparsed')
    await cp(STARTER, own, { recursive: true })
    await writeFile(join(own, 'rules/web.fetch.yaml'), 'tool: [\n')
    const { code, err } = await inDirectory('fmt', own)
    expect(code).toBe(3)
    expect(err).toContain('rules/web.fetch.yaml')
    expect(await readFile(join(own, 'rules/web.fetch.yaml'), 'utf8')).toBe('tool: [\n')
  })
})

describe('a file that is replaced', () => {
  it('keeps its mode with `fmt` and with `add tool --update`, and leaves no temporary file', async () => {
    const own = join(directory, 'modes')
    await cp(STARTER, own, { recursive: true })
    const rules = join(own, 'rules/web.fetch.yaml')
    await writeFile(rules, 'rules:\n  - { allow: A., id: a }\ntool: web.fetch\n')
    await chmod(rules, 0o600)
    expect((await inDirectory('fmt', own)).out).toContain('changed rules/web.fetch.yaml\n')
    const input = JSON.stringify([{ name: 'web.fetch', inputSchema: { type: 'object' } }])
    const contract = join(own, 'tools/web.fetch.yaml')
    await chmod(contract, 0o664)
    const imported = await runCli([...ALL, '-', '--dir', own, '--update'], { cwd: directory, input })
    expect([imported.code, imported.out.split('\n')[0]]).toEqual([0, `wrote ${contract}`])
    const modes = await Promise.all([rules, contract].map(async (path) => (await stat(path)).mode & 0o777))
    expect(modes).toEqual([0o600, 0o664])
    const names = [...(await readdir(join(own, 'rules'))), ...(await readdir(join(own, 'tools')))]
    expect(names.filter((name) => name.startsWith('.'))).toEqual([])
  })
})

describe('countersign add tool --all', () => {
  const list = JSON.stringify({
    tools: [
      {
        name: 'notes.add',
        description: 'Add a note.',
        inputSchema: { type: 'object', 'x-a': 1 },
        annotations: { readOnlyHint: false, destructiveHint: false },
      },
    ],
  })

  it('exits 0, writes contracts that pass the check, and names what they cannot express', async () => {
    const options = { cwd: directory, input: list }
    const { code, out, err } = await runCli([...ALL, '-', '--prefix', 'mine.'], options)
    expect([code, out]).toEqual([0, 'wrote policies/tools/mine.notes.add.yaml\n'])
    expect(err).toContain('/tools/0/inputSchema/x-a: dropped')
    expect((await inDirectory('check')).code).toBe(0)
  })

  it('exits 2 and overwrites nothing without --update', async () => {
    const path = join(directory, 'policies/tools/mine.notes.add.yaml')
    const before = await readFile(path, 'utf8')
    await writeFile(path, before.replace('risk: medium', 'risk: high'))
    const { code, err } = await runCli([...ALL, '-', '--prefix', 'mine.'], { cwd: directory, input: list })
    expect(code).toBe(2)
    expect(err).toContain('nothing was written: tools/mine.notes.add.yaml exists')
    expect(await readFile(path, 'utf8')).toContain('risk: high')
  })

  it('shows what the server changed with --update, accepts it, and names what is gone', async () => {
    const update = (input: string) =>
      runCli(['add', 'tool', '--update', '--prefix', 'mine.', '--tools', '-'], { cwd: directory, input })
    const same = await update(list)
    expect([same.code, same.out]).toEqual([0, ''])
    expect(same.err).toContain('0 written, 1 unchanged; no tool was left out')
    const { code, out } = await update(list.replace('Add a note.', 'Add a note, or delete all.'))
    expect(code).toBe(0)
    expect(out).toContain('  + description: "Add a note, or delete all."\n')
    const gone = await update(list.replace('notes.add', 'notes.other'))
    expect(gone.err).toContain('no longer listed by the server, and kept: tools/mine.notes.add.yaml')
  })

  it('exits 2 and changes no contract of a bundle that it cannot read', async () => {
    const own = join(directory, 'unreadable')
    await cp(STARTER, own, { recursive: true })
    await writeFile(join(own, 'rules/odd.yaml'), Buffer.from([0xff]))
    const contract = join(own, 'tools/web.fetch.yaml')
    const before = await readFile(contract, 'utf8')
    const input = JSON.stringify([{ name: 'web.fetch', inputSchema: { type: 'object' } }])
    const { code, err } = await runCli([...ALL, '-', '--dir', own, '--update'], { cwd: directory, input })
    expect([code, await readFile(contract, 'utf8')]).toEqual([2, before])
    expect(err).toContain('rules/odd.yaml')
  })

  it('exits 2 for a tool that another file already defines', async () => {
    const input = JSON.stringify([{ name: 'fetch', inputSchema: { type: 'object' } }])
    const other = join(directory, 'policies/tools/elsewhere.yaml')
    await writeFile(other, 'tool: fetch\ndescription: Mine.\nrisk: low\ninput_schema: { type: object }\n')
    const { code, err } = await runCli([...ALL, '-'], { cwd: directory, input })
    expect([code, err.split('\n')[0]]).toEqual([
      2,
      'countersign: nothing was written: `fetch` has a contract in tools/elsewhere.yaml',
    ])
    await rm(other)
  })

  it('reads OpenAPI as YAML, and exits 2 for another document', async () => {
    const yaml =
      'openapi: 3.1.0\ninfo: { title: t, version: "1" }\npaths: { /a: { get: { operationId: readA } } }\n'
    await writeFile(join(directory, 'api.yaml'), yaml)
    expect(
      (await inDirectory('add', 'tool', '--all', '--openapi', 'api.yaml', '--dir', 'imported')).out,
    ).toBe('wrote imported/tools/readA.yaml\n')
    for (const args of [
      ['--tools', 'api.yaml'],
      ['--openapi', 'nowhere'],
      ['--openapi', 'api.yaml', '--server', 'api'],
      ['--openapi', 'api.yaml', '--operation', 'readA'],
      ['--tools', 'api.yaml', '--server', 'my.server'],
      ['readA', '--openapi', 'api.yaml'],
    ])
      expect([args, (await inDirectory('add', 'tool', '--all', ...args)).code]).toEqual([args, 2])
    const updated = await inDirectory('add', 'tool', '--update', '--openapi', 'api.yaml', '--dir', 'imported')
    expect(updated.err).toBe('0 written, 1 unchanged; no tool was left out\n')
    const one = async (...args: string[]) => (await inDirectory('add', 'tool', 'a', ...args)).err
    expect(await one('--openapi', 'api.yaml', '--prefix', 'x')).toContain('--prefix needs --all')
    expect(await one('--example', '{}', '--operation', 'x')).toContain('--operation is for a source')
  })

  it('exits 2 for a document that is nested too deeply, and says so', async () => {
    const input = `{"tools":[{"name":"a","inputSchema":${'{"not":'.repeat(20_000)}{}${'}'.repeat(20_000)}}]}`
    const { code, err } = await runCli([...ALL, '-'], { cwd: directory, input })
    expect([code, err]).toEqual([2, 'countersign: `-` cannot be read: it is nested too deeply\n'])
  })
})

describe('countersign init', () => {
  interface Step {
    readonly name?: string
    readonly run?: string
  }

  it('exits 0 and writes a bundle that passes every step of its own workflow', async () => {
    const { code, out } = await inDirectory('init', 'fresh')
    expect(code).toBe(0)
    expect(out).toContain('next: countersign test fresh/policies\n')
    expect(out).toContain('set the variable COUNTERSIGN_PACKAGE of the GitHub repository')
    const own = join(directory, 'fresh')
    const text = await readFile(join(own, '.github/workflows/policies.yml'), 'utf8')
    const { jobs } = parseYaml(text) as { jobs: { policies: { steps: readonly Step[] } } }
    const steps = new Map(jobs.policies.steps.map(({ name = '', run = '' }) => [name, run]))
    for (const name of ['Check', 'Test']) {
      const [program, ...args] = steps.get(name)?.split(' ') ?? []
      expect(program).toBe('countersign')
      expect([name, (await runCli(args, { cwd: own })).code]).toEqual([name, 0])
    }
    expect((await runCli(['fmt', '--check'], { cwd: own })).code).toBe(0)
    expect(steps.get('Diff')).toMatch(/^countersign diff \S+ policies --fail-on loosens --format markdown /)
    expect(steps.get('Backtest')).toMatch(/^countersign backtest --evidence \S+ \S+ policies /)
    // a script must not contain text that others choose
    for (const run of steps.values()) expect(run).not.toContain('${{')
    // the first person to register a bare name would run code here
    expect(text).not.toMatch(/npx|npm (?:install|i|exec) [^\n]*\bcountersign\b/)
    const install = steps.get('Install') ?? ''
    // a pull request must not bring the program that judges it
    expect(text).not.toMatch(/\.\/\S+\.tgz/)
    const { status, stderr } = spawnSync('/bin/bash', ['--norc', '-c', install], {
      env: {},
    })
    expect(status).not.toBe(0)
    expect(stderr).toContain('set the variable COUNTERSIGN_PACKAGE of this repository')
  })

  it('names the next command as npx starts it, when npx started this one', async () => {
    const { out } = await runCli(['init', 'by-npx'], { cwd: directory, env: { npm_command: 'exec' } })
    expect(out).toContain('next: npx countersign test by-npx/policies\n')
  })

  it('keeps line ends the same in every checkout, so that the lock file still matches', async () => {
    expect((await inDirectory('init', 'attributes')).code).toBe(0)
    const own = join(directory, 'attributes')
    expect((await runCli(['lock', 'policies'], { cwd: own })).code).toBe(0)
    const git = (...args: readonly string[]): void => {
      const asOnWindows = ['-c', 'core.autocrlf=true', '-c', 'user.name=a', '-c', 'user.email=a@example.com']
      const { status, stderr } = spawnSync('git', [...asOnWindows, ...args], { cwd: own })
      expect([status, stderr]).toEqual([0, expect.anything()])
    }
    git('init', '--quiet')
    await writeFile(join(own, 'other.txt'), 'a\n')
    git('add', '.')
    git('commit', '--quiet', '-m', 'Start')
    await rm(join(own, 'policies'), { recursive: true })
    await rm(join(own, 'other.txt'))
    git('checkout', '--', '.')
    expect(await readFile(join(own, 'other.txt'), 'utf8')).toBe('a\r\n')
    expect(await readFile(join(own, 'policies/routing.yaml'), 'utf8')).not.toContain('\r')
    expect((await runCli(['check', 'policies'], { cwd: own })).code).toBe(0)
  })

  it('--empty: exits 0 with a bundle without a tool, an agent or a rule that passes the check', async () => {
    expect((await inDirectory('init', '--empty', 'bare')).code).toBe(0)
    const names = (await readdir(join(directory, 'bare/policies'), { recursive: true })).filter((name) =>
      name.endsWith('.yaml'),
    )
    expect(names.toSorted()).toEqual(['directory.yaml', 'routing.yaml'])
    expect((await inDirectory('check', 'bare/policies')).code).toBe(0)
  })

  it('exits 2 for a directory that is not empty, and leaves it unchanged; .git is ignored', async () => {
    await mkdir(join(directory, 'used'))
    await writeFile(join(directory, 'used/notes.txt'), 'mine')
    const { code, err } = await inDirectory('init', 'used')
    expect(code).toBe(2)
    expect(err).toContain('it holds `notes.txt`')
    expect(await readdir(join(directory, 'used'))).toEqual(['notes.txt'])
    await mkdir(join(directory, 'cloned/.git'), { recursive: true })
    expect((await inDirectory('init', 'cloned')).code).toBe(0)
  })
})

describe('countersign lock', () => {
  it('exits 0 and writes a manifest; a later change exits 3 until the bundle is locked again', async () => {
    const own = join(directory, 'locked')
    await cp(STARTER, own, { recursive: true })
    const { code, out } = await inDirectory('lock', own)
    expect([code, out]).toEqual([0, `wrote ${join(own, 'countersign.lock')}: 20 files\n`])
    expect((await inDirectory('check', own)).code).toBe(0)
    const path = join(own, 'rules/web.fetch.yaml')
    // Something that fmt has to do, too: blanks at the end of a line.
    await writeFile(path, `${await readFile(path, 'utf8')}# changed  \n`)
    const refused = await inDirectory('check', own)
    expect([refused.code, refused.out.split('\n')[2]]).toEqual([
      3,
      'rules/web.fetch.yaml:1:1: error lock-mismatch: the file does not match countersign.lock',
    ])
    expect((await inDirectory('fmt', own)).out).toContain('run `countersign lock`')
    expect((await inDirectory('lock', own)).code).toBe(0)
    expect((await inDirectory('check', own)).code).toBe(0)
    expect((await inDirectory('lock', 'nowhere')).code).toBe(3)
  })
})

describe('a directory that cannot be created', () => {
  it.runIf(existsSync('/proc/self')).each([
    ['init', '/proc/countersign'],
    ['schema', 'policies', '--out', '/proc/countersign'],
  ])('countersign %s reports the error and exits', async (...args) => {
    const { code, err } = await inDirectory(...args)
    expect([code, err]).toEqual([
      1,
      expect.stringContaining("ENOENT: no such file or directory, mkdir '/proc/"),
    ])
  })
})

describe('text from other people', () => {
  const HOSTILE = 'a\u001b[31m\u202e\u200b\u009b'
  const run = (args: readonly string[], input: string) => runCli(args, { cwd: directory, input })

  it('names of an imported document never control the terminal or imitate our output', async () => {
    const properties = { [`${HOSTILE}\nwrote everything`]: { type: 'string' } }
    const tools = [{ name: 'odd', inputSchema: { type: 'object', properties } }]
    const mcp = await run([...ALL, '-', '--dir', 'odd-mcp'], JSON.stringify({ tools }))
    const api = { openapi: '3.1.0', paths: { [`/${HOSTILE}`]: { get: { operationId: HOSTILE } } } }
    const openapi = await run(
      ['add', 'tool', '--all', '--openapi', '-', '--dir', 'odd-api'],
      JSON.stringify(api),
    )
    for (const { code, out, err } of [mcp, openapi]) {
      expect([code, hasHidden(out), hasHidden(err)]).toEqual([0, false, false])
      expect(err).toContain('<U+001B>[31m<U+202E><U+200B><U+009B>')
    }
    expect(mcp.err.trimEnd().split('\n')).toHaveLength(2)
  })

  it('values of an explained payload never control the terminal', async () => {
    const request = { tool_name: 'shell.run', payload: { argv: ['ls', HOSTILE] } }
    const { code, out } = await run(['explain', 'policies', '-'], JSON.stringify(request))
    expect([code, hasHidden(out)]).toEqual([0, false])
    expect(out).toContain('a\\u001b[31m<U+202E><U+200B><U+009B>')
  })

  it('names of files, revisions and options never control the terminal', async () => {
    for (const args of [
      ['diff', `x:${HOSTILE}`],
      [...ALL, HOSTILE],
      ['check', `--${HOSTILE}`],
    ]) {
      const { code, err } = await run(args, '')
      expect([code, hasHidden(err)]).toEqual([2, false])
      expect(err).toContain('<U+202E>')
    }
  })

  it('names of output directories never control the terminal or imitate our output', async () => {
    const odd = `${HOSTILE}\nwrote everything`
    const tools = JSON.stringify([{ name: 'odd', inputSchema: { type: 'object' } }])
    const runs = [
      await run(['init', `init-${odd}`], ''),
      await run(['schema', 'policies', '--out', `schema-${odd}`], ''),
      await run([...ALL, '-', '--dir', `import-${odd}`], tools),
    ]
    for (const { code, out } of runs) {
      expect([code, hasHidden(out)]).toEqual([0, false])
      expect(out).toContain('<U+202E>')
      expect(out).not.toMatch(/^wrote everything/m)
    }
  })

  it('example texts for a pattern never control the terminal', async () => {
    const bundle = join(directory, 'patterned')
    await cp(STARTER, bundle, { recursive: true })
    const test = "{ matches: '\\x{202e}' }"
    const rule = `  - { id: shell-odd, reject: Odd., when: { "payload.argv[0]": ${test} } }`
    await appendRule(join(bundle, 'rules/shell.run.yaml'), rule)
    for (const format of ['text', 'markdown']) {
      const { code, out } = await run(['diff', 'policies', bundle, '--format', format], '')
      expect([code, hasHidden(out)]).toEqual([0, false])
      expect(out).toContain('<U+202E>')
    }
  })
})

async function appendRule(path: string, rule: string): Promise<void> {
  const text = await readFile(path, 'utf8')
  await writeFile(path, text.replace('rules:\n', `rules:\n${rule}\n`))
}
