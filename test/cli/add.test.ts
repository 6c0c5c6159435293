import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, describe, it, onTestFinished } from 'vitest'
import { MAIN, startProcess } from '../crash.ts'
import { type CliRun, runCli } from './run.ts'

/** A folder with a bundle in ./policies. */
async function folder(...init: string[]): Promise<string> {
  const cwd = mkdtempSync(join(tmpdir(), 'cs-add-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  expect((await runCli(['init', '.', ...init], { cwd })).code).toBe(0)
  return cwd
}

const add = (cwd: string, ...args: string[]): Promise<CliRun> => runCli(['add', 'tool', ...args], { cwd })
const read = (cwd: string, path: string): string => readFileSync(join(cwd, 'policies', path), 'utf8')

/** Holds one call of the tool in the bundle. */
async function verdictOf(cwd: string, tool_name: string, payload: object, agent: string): Promise<string> {
  writeFileSync(join(cwd, 'r.json'), JSON.stringify({ tool_name, payload, agent }))
  const { out } = await runCli(['explain', 'policies', 'r.json', '--format', 'json'], { cwd })
  return (JSON.parse(out) as { outcome: { verdict: string } }).outcome.verdict
}

describe('countersign add tool', () => {
  it('adds a typed, tested and held tool from an example, and permits it to a new agent', async () => {
    const cwd = await folder()
    const { code, out, err } = await add(
      cwd,
      'orders.cancel',
      '--example',
      '{"order_id":"o_17","refund":true}',
    )
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain('wrote ./policies/tools/orders.cancel.yaml')
    expect(out).toContain('agent acme/my-agent may use orders.cancel')
    expect(out).toContain('next: `countersign dev`')
    expect(read(cwd, 'directory.yaml')).toContain('my-agent: { owners: [dana], tools: [orders.cancel] }')
    expect((await runCli(['test', 'policies'], { cwd })).code).toBe(0)
    expect((await runCli(['fmt', 'policies', '--check'], { cwd })).code).toBe(0)
    expect(await verdictOf(cwd, 'orders.cancel', { order_id: 'o', refund: false }, 'acme/my-agent')).toBe(
      'review',
    )
  })

  it('adds a second tool to the same agent, from an OpenAPI operation under a new name', async () => {
    const cwd = await folder('--empty')
    await add(cwd, 'orders.cancel', '--example', '{"order_id":"o_17"}')
    const body = { type: 'object', required: ['to'], properties: { to: { type: 'string', format: 'email' } } }
    writeFileSync(
      join(cwd, 'api.json'),
      JSON.stringify({
        openapi: '3.1.0',
        paths: {
          '/mail': {
            post: {
              operationId: 'sendMail',
              requestBody: { required: true, content: { 'application/json': { schema: body } } },
            },
          },
        },
      }),
    )
    const missing = await add(cwd, 'mail.send', '--openapi', 'api.json')
    expect([missing.code, missing.err]).toEqual([2, expect.stringContaining('there are: sendMail')])
    const { code, out } = await add(cwd, 'mail.send', '--openapi', 'api.json', '--operation', 'sendMail')
    expect(code).toBe(0)
    expect(out).toContain('agent main/my-agent may use mail.send')
    expect(read(cwd, 'directory.yaml')).toContain(
      'tools: [orders.cancel, mail.send], prevent_self_review: false }',
    )
    const payload = { body: { to: 'someone@example.com' } }
    expect(await verdictOf(cwd, 'mail.send', payload, 'main/my-agent')).toBe('review')
  })

  it('lists the tools of an MCP server, and keeps the source in the contract', async () => {
    const cwd = await folder('--empty')
    const tools = [
      {
        name: 'add_note',
        inputSchema: { type: 'object', required: ['n'], properties: { n: { type: 'string' } } },
      },
    ]
    writeFileSync(
      join(cwd, 'server.mjs'),
      `import { createInterface } from 'node:readline'
const tools = ${JSON.stringify(tools)}
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) continue
  const page = params.cursor ? { tools } : { tools: [], nextCursor: 'more' }
  const result = method === 'initialize' ? { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 's', version: '1' } } : page
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
}`,
    )
    const server = ['--mcp', '--operation', 'add_note', '--', process.execPath, 'server.mjs']
    const { code, err } = await add(cwd, 'notes.add', ...server)
    expect([code, err]).toEqual([0, ''])
    expect(read(cwd, 'tools/notes.add.yaml')).toMatch(
      /source:\n {2}server: mcp\n {2}name: add_note\n {2}digest: /,
    )
    expect(await verdictOf(cwd, 'notes.add', { n: 'text' }, 'main/my-agent')).toBe('review')
    const failing = await add(cwd, 'notes.other', '--mcp', '--', process.execPath, '-e', 'process.exit(3)')
    expect([failing.code, failing.err]).toEqual([1, expect.stringContaining('ended with code 3')])
  })

  it('prints a call that `countersign dev` holds at once', async () => {
    const cwd = await folder()
    const through = ['sh', '-c', `cd ${cwd} && exec "$@"`, 'sh']
    const gateway = startProcess(MAIN, ['dev', '--port', '0', '--metrics-port', '0'], { through })
    onTestFinished(() => void gateway.kill('SIGKILL'))
    await gateway.lineWhere((line) => line.includes('Ctrl-C stops the gateway'))
    const { code, out } = await add(cwd, 'orders.cancel', '--example', '{"order_id":"o_17"}')
    expect(code).toBe(0)
    const curl = /# curl\n([^]*?)\n\n/.exec(out)?.[1] ?? ''
    const shell = spawn('sh', ['-c', curl], { stdio: ['ignore', 'pipe', 'inherit'] })
    expect(JSON.parse(await text(shell.stdout))).toMatchObject({
      status: 'pending_review',
      message: 'Every call of orders.cancel is reviewed.',
    })
  })

  it.each([
    ['nothing but a name', ['x'], 'give exactly one of --example, --openapi, --mcp, --tools and --python'],
    ['two sources', ['x', '--example', '{}', '--openapi', 'a'], 'give exactly one'],
    ['no JSON', ['x', '--example', '{'], '--example is neither JSON nor a file with JSON'],
    ['no object', ['x', '--example', '[1]'], '--example must be a JSON object'],
    ['a bad name', ['.x', '--example', '{}'], '`.x` is not a tool name'],
    [
      'a known tool',
      ['file.write', '--example', '{}'],
      '`file.write` has a contract already: tools/file.write.yaml',
    ],
    [
      'a tenant that is not there',
      ['x', '--example', '{}', '--agent', 'a/b'],
      'directory.yaml lists no tenant `a`',
    ],
    ['--mcp without a command', ['x', '--mcp'], '--mcp takes the command of the server'],
  ])('refuses %s, and writes nothing', async (_, args, message) => {
    const cwd = await folder()
    const files = readdirSync(join(cwd, 'policies'), { recursive: true })
    const { code, out, err } = await add(cwd, ...args)
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(`countersign: ${message}`)
    expect(readdirSync(join(cwd, 'policies'), { recursive: true })).toEqual(files)
  })

  it('writes nothing if the bundle then fails to load', async () => {
    const cwd = await folder('--empty')
    writeFileSync(join(cwd, 'policies/rules/other.yaml'), 'tool: nothing\nrules: []\n')
    const { code, err } = await add(cwd, 'x', '--example', '{}')
    expect([code, err.includes('nothing was written')]).toEqual([3, true])
    expect(readdirSync(join(cwd, 'policies/tools'))).toEqual(['README.md'])
  })
})
