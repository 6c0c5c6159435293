import { describe, expect, it } from 'vitest'
import { readCall } from '../../src/hook/call.ts'
import { HARNESSES } from '../../src/hook/harness.ts'
import { sha256 } from '@countersign/sdk'

const CLAUDE = HARNESSES['claude-code']
const bytes = (text: string): Uint8Array => Buffer.from(text)
const said = (other: object = {}): string =>
  JSON.stringify({
    session_id: 'a1-b2',
    transcript_path: '/t.jsonl',
    cwd: '/w',
    permission_mode: 'default',
    hook_event_name: 'PreToolUse',
    tool_name: 'Bash',
    tool_input: { command: 'ls' },
    tool_use_id: 'toolu_1',
    ...other,
  })

const CALL = { task: 'claude-code:a1-b2', tool: 'Bash', input: { command: 'ls' }, cwd: '/w' }

describe('a call', () => {
  it('consists of session, tool and input for Claude Code', async () => {
    const call = await readCall(bytes(said()), CLAUDE)
    expect(call).toEqual(CALL)
  })

  it('is the same for Gemini CLI, under its own event name', async () => {
    const text = said({ hook_event_name: 'BeforeTool', tool_name: 'run_shell_command' })
    const call = await readCall(bytes(text), HARNESSES.gemini)
    expect(call).toEqual({ ...CALL, task: 'gemini:a1-b2', tool: 'run_shell_command' })
  })

  it.each([
    ['nothing', '', 'at character 0'],
    ['no JSON', '{"session_id"', 'at character'],
    ['more than one document', `${said()}\n${said()}`, 'text after the document'],
    ['a list', `[${said()}]`, 'not a JSON object'],
    ['a name twice', said().replace('{', '{"tool_name":"Read",'), 'duplicate key `tool_name`'],
    [
      'an input in which a name stands twice',
      said().replace('"command"', '"command":"id","command"'),
      'duplicate',
    ],
    ['a number that does not survive', said().replace('"ls"', '9007199254740993'), '2^53-1'],
    ['a lone surrogate', said().replace('ls', '\\ud800'), 'surrogate'],
    ['__proto__', said().replace('"command"', '"__proto__"'), '__proto__'],
    ['another event', said({ hook_event_name: 'PostToolUse' }), 'for PreToolUse'],
    ['the event of another harness', said({ hook_event_name: 'BeforeTool' }), 'for PreToolUse'],
    ['no event', said({ hook_event_name: undefined }), 'for PreToolUse'],
    ['no session', said({ session_id: undefined }), 'session'],
    ['an empty session', said({ session_id: '' }), 'session'],
    ['a session that is no text', said({ session_id: 7 }), 'session'],
    ['no tool', said({ tool_name: undefined }), 'no tool'],
    ['a tool that is no text', said({ tool_name: ['Bash'] }), 'no tool'],
    ['no input', said({ tool_input: undefined }), 'must be an object'],
    ['an input that is a list', said({ tool_input: ['ls'] }), 'must be an object'],
    ['an input that is null', said({ tool_input: null }), 'must be an object'],
  ])('is refused with %s', async (_, text, why) => {
    await expect(readCall(bytes(text), CLAUDE)).rejects.toMatchObject({
      name: 'InvalidPayload',
      code: 'invalid_payload',
      message: expect.stringContaining(why) as string,
    })
  })

  it('is refused when it is not UTF-8', async () => {
    const input = Buffer.concat([bytes(said().slice(0, -1)), Buffer.from([0xff]), bytes('}')])
    await expect(readCall(input, CLAUDE)).rejects.toThrow('UTF-8')
  })
})

describe('the task of a session', () => {
  const TASK = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/
  const SESSIONS = [
    'a',
    '-',
    '..',
    'x'.repeat(116),
    'x'.repeat(117),
    'ü',
    'a b',
    'a:b',
    '/etc',
    '\n',
    '😀'.repeat(500),
  ]
  const taskOf = async (session_id: string) => (await readCall(bytes(said({ session_id })), CLAUDE)).task

  it('fits any session name, and differs for every session', async () => {
    const hashed = `sha256:${await sha256('a b')}`
    const sessions = [...SESSIONS, hashed]
    const tasks = await Promise.all(sessions.map(taskOf))
    expect(tasks.filter((task) => !TASK.test(task))).toEqual([])
    expect(new Set(tasks).size).toBe(sessions.length)
  })

  it('stays the same', async () => {
    expect(await taskOf('a b')).toBe(await taskOf('a b'))
  })
})
