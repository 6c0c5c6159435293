import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BUNDLE } from '../bundle.ts'
import { type CliRun, runCli } from '../cli/run.ts'

/* What `--settings` prints: that it is what the docs show, and that its command is a block however the hook ends. */
let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-settings-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

const settings = (...args: string[]): Promise<CliRun> =>
  runCli(['hook', ...args, '--settings'], { cwd: directory })

interface Printed {
  readonly hooks: Record<string, { hooks: { command: string }[] }[]>
}

/** The command that is printed for a harness. */
async function commandOf(...args: string[]): Promise<string> {
  const { hooks } = JSON.parse((await settings(...args)).out) as Printed
  return Object.values(hooks)[0]?.[0]?.hooks[0]?.command ?? ''
}

/** As a harness runs a command, with all of its input written whether it is read or not. */
function shell(command: string, path = process.env['PATH'] ?? ''): Promise<CliRun> {
  const child = spawn('/bin/sh', ['-c', command], { env: { PATH: path } })
  let [out, err] = ['', '']
  child.stdout.on('data', (text: Buffer) => (out += text.toString()))
  child.stderr.on('data', (text: Buffer) => (err += text.toString()))
  child.stdin.on('error', () => undefined)
  child.stdin.end('{}')
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })))
}

describe('docs/hooks.md', () => {
  const text = readFileSync(fileURLToPath(new URL('../../docs/hooks.md', import.meta.url)), 'utf8')
  const block = (language: string): string[] =>
    [...text.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'gm'))].map(([, inner = '']) => inner)

  it('shows the output of --settings', async () => {
    expect(block('json')).toEqual([(await settings('claude-code')).out])
  })

  it('shows the output of --settings for an administrator of Codex', async () => {
    const [toml = ''] = block('toml')
    // a TOML string of these characters is a JSON string
    expect(toml).toContain(`\ncommand = ${JSON.stringify(await commandOf('codex'))}\ntimeout = 80\n`)
  })

  it('has a contract and rules that pass the check', async () => {
    const bundle = await mkdtemp(join(directory, 'bundle-'))
    const [contract = '', rules = ''] = block('yaml')
    const files = {
      'tools/Bash.yaml': contract,
      'rules/Bash.yaml': rules,
      'routing.yaml': BUNDLE['routing.yaml'] ?? '',
      'directory.yaml':
        'tenants: { acme: { agents: { coder: { owners: [olga] } }, reviewers: { olga: { name: Olga Orr, groups: [desk, leads, board] }, ann: { name: Ann Ash, groups: [desk, leads, board] }, ben: { name: Ben Bay, groups: [desk, leads, board] } } } }\n',
    }
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(bundle, path)), { recursive: true })
      writeFileSync(join(bundle, path), content)
    }
    const { code, out } = await runCli(['test', bundle], { cwd: directory })
    expect([code, out]).toEqual([0, expect.stringContaining('3 passed, 0 failed')])
  })
})

const A_WORD = "{ echo 'countersign: the tool did not run' >&2; exit 2; }"

describe('--settings', () => {
  it("prints Claude Code settings: every tool, a time limit above the hook's, and a block on failure", async () => {
    const { code, out } = await settings('claude-code')
    expect(code).toBe(0)
    expect(JSON.parse(out)).toEqual({
      hooks: {
        PreToolUse: [
          {
            matcher: '*',
            hooks: [
              {
                type: 'command',
                command: 'countersign hook claude-code || exit 2',
                timeout: 80,
                onFailure: 'block',
              },
            ],
          },
        ],
      },
    })
  })

  it('prints Gemini CLI settings with times in milliseconds', async () => {
    const { code, out } = await settings('gemini', '--max-wait', '10m')
    expect(code).toBe(0)
    const command = `countersign hook gemini --max-wait 10m || ${A_WORD}`
    expect(JSON.parse(out)).toEqual({
      hooks: {
        BeforeTool: [
          { matcher: '.*', hooks: [{ type: 'command', name: 'countersign', command, timeout: 630_000 }] },
        ],
      },
    })
  })

  it('prints Codex settings with times in seconds', async () => {
    const { code, out } = await settings('codex', '--max-wait', '10m')
    expect(code).toBe(0)
    const command = `countersign hook codex --max-wait 10m || ${A_WORD}`
    expect(JSON.parse(out)).toEqual({
      hooks: { PreToolUse: [{ matcher: '*', hooks: [{ type: 'command', command, timeout: 630 }] }] },
    })
  })

  it('keeps every word of the options, whatever it contains', async () => {
    const prefix = `a'b "$HOME" \\ ;c.`
    const command = await commandOf('claude-code', '--prefix', prefix)
    const { out } = await shell(`countersign() { printf '%s\\n' "$@"; }; ${command}`)
    expect(out).toBe(`hook\nclaude-code\n--prefix\n${prefix}\n`)
  })

  it.each([
    ['--max-wait', 'long'],
    ['--state', 'hooks'],
    ['--state', './hooks'],
    ['--state', ''],
  ])('refuses options that the hook would refuse: %s %o', async (flag, value) => {
    const { code, out, err } = await settings('claude-code', flag, value)
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(flag)
  })
})

describe.each(['claude-code', 'codex', 'gemini'])('the command for %s blocks on failure', (harness) => {
  it.each([
    ['is not there', undefined],
    ['was killed', 'kill -9 $$'],
    ['was ended by a signal of which no shell speaks', 'kill -13 $$'],
    ['said no without a word', 'exit 2'],
    ['ended with a code that is no block', 'exit 1'],
  ])('blocks the call when the program %s', async (_, script) => {
    const path = await mkdtemp(join(directory, 'path-'))
    if (script !== undefined) {
      writeFileSync(join(path, 'countersign'), `#!/bin/sh\n${script}\n`)
      chmodSync(join(path, 'countersign'), 0o755)
    }
    const { code, out, err } = await shell(await commandOf(harness), path)
    expect([code, out]).toEqual([2, ''])
    // Codex and Gemini CLI run the tool when standard error is empty
    if (harness !== 'claude-code') expect(err).toMatch(/the tool did not run\n$/)
  })

  it('adds nothing to an answer that allows', async () => {
    const command = await commandOf(harness)
    expect(await shell(`countersign() { :; }; ${command}`)).toEqual({ code: 0, out: '', err: '' })
  })
})
