import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  DEMO_FILE,
  type DemoCredentials,
  readDemoCredentials,
  writeDemoCredentials,
} from '../../src/cli/client/credentials.ts'
import { curlCall, pythonCall, typescriptCall } from '../../src/cli/author/example-calls.ts'
import { peopleOf } from '../../src/cli/dev/people.ts'
import type { AgentEntry, Directory, Tenant } from '../../src/policy/language/snapshot.ts'

function tenant(agents: Record<string, string[]>, reviewers: readonly string[]): Tenant {
  const entry = ([id, owners]: [string, string[]]): [string, AgentEntry] => [
    id,
    { id, owners, tools: ['*'], signedApprovals: true, tokenTtlMs: 1, preventSelfReview: true },
  ]
  return {
    agents: new Map(Object.entries(agents).map(entry)),
    reviewers: new Map(reviewers.map((id) => [id, { id, name: id, groups: [], roles: [] }])),
  }
}

const directory = (tenants: Record<string, Tenant>): Directory => ({
  tenants: new Map(Object.entries(tenants)),
  groups: new Map(),
})

describe('peopleOf', () => {
  it('takes the first agent, and a reviewer who does not own it', () => {
    const own = directory({ main: tenant({ bot: ['ann'], other: ['bea'] }, ['ann', 'bea']) })
    expect(peopleOf(own)).toEqual({ tenant: 'main', agent: 'bot', agents: ['bot', 'other'], reviewer: 'bea' })
  })

  it('prefers the reviewer of an earlier start while the directory lists them', () => {
    const own = directory({ main: tenant({ bot: ['ann'] }, ['ann', 'bea', 'cat']) })
    expect(peopleOf(own, { reviewer: 'cat' })?.reviewer).toBe('cat')
    expect(peopleOf(own, { reviewer: 'gone' })?.reviewer).toBe('bea')
  })

  it("prefers the developer's own agent to the starter policies' agent", () => {
    const own = directory({
      acme: tenant({ 'demo-agent': ['dana'], 'my-agent': ['dana'] }, ['dana', 'alice']),
    })
    expect(peopleOf(own)?.agent).toBe('my-agent')
  })

  it('prefers the people of the starter policies to others', () => {
    const starter = tenant({ first: ['dana'], 'demo-agent': ['dana'] }, ['dana', 'alice'])
    expect(peopleOf(directory({ zero: tenant({}, []), acme: starter }))).toMatchObject({
      tenant: 'acme',
      agent: 'demo-agent',
      reviewer: 'alice',
    })
  })

  it('falls back to the owner as reviewer, and leaves out people who are not in the directory', () => {
    expect(peopleOf(directory({ main: tenant({ bot: ['ann'] }, ['ann']) }))?.reviewer).toBe('ann')
    expect(peopleOf(directory({ main: tenant({}, []) }))).toEqual({
      tenant: 'main',
      agent: undefined,
      agents: [],
      reviewer: undefined,
    })
    expect(peopleOf(directory({}))).toBeUndefined()
  })
})

describe('an example call', () => {
  const call = {
    url: 'http://127.0.0.1:1',
    key: 'csk_a',
    tool: 'notes.add',
    payload: { text: "it's\u202e", yes: true, none: null, list: [1.5, { tag: '\u{e0041}' }] },
  }

  it('is one shell word for curl, whatever the payload contains', () => {
    expect(curlCall(call)).toContain(
      `-d '{"tool_name":"notes.add","payload":{"text":"it'\\''s\\u202e","yes":true,"none":null,"list":[1.5,{"tag":"\\udb40\\udc41"}]}}'`,
    )
  })

  it('is JavaScript without hidden characters', () => {
    const places = { typescript: 'countersign/sdk', python: './p' }
    expect(typescriptCall(call, places)).toContain(
      `"notes.add", {"text":"it's\\u202e","yes":true,"none":null,"list":[1.5,{"tag":"\\udb40\\udc41"}]}, run`,
    )
  })

  it('is Python, which escapes whole code points', () => {
    expect(pythonCall(call)).toContain(
      `"notes.add", {"text": "it's\\u202e", "yes": True, "none": None, "list": [1.5, {"tag": "\\U000e0041"}]}, lambda`,
    )
  })
})

describe('writeDemoCredentials', () => {
  const credentials = (key: string): DemoCredentials => ({
    url: 'http://127.0.0.1:1',
    tenant: 'acme',
    agent_keys: { bot: key },
  })

  it('replaces the file as a whole, so that a command that reads it at that moment has all of it', () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-keys-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    writeDemoCredentials(folder, credentials('old'))
    const reader = openSync(join(folder, DEMO_FILE), 'r')
    onTestFinished(() => closeSync(reader))
    writeDemoCredentials(folder, credentials('new'))
    expect(JSON.parse(readFileSync(reader, 'utf8'))).toEqual(credentials('old'))
    expect(readDemoCredentials(folder)).toEqual(credentials('new'))
    expect(statSync(join(folder, DEMO_FILE)).mode & 0o777).toBe(0o600)
  })
})
