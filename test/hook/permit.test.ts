import { readdirSync, realpathSync, truncateSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { HeldCall } from '../../src/hook/call.ts'
import { HookEnded, permit, type PermitParts } from '../../src/hook/permit.ts'
import { createCallIds } from '@countersign/sdk/runtime'
import { createGate } from '@countersign/sdk'
import { openUnfinished } from '../../src/system/unfinished.ts'
import { agentWorld, ann, bot as agent, world } from '../agent-world.ts'
import { type Agent, openWorld, type Reviewer, type World } from '../gateway-fixture.ts'
import { until } from '../until.ts'

/* Each run is a hook of its own, before a whole gateway; between them there is the directory and nothing else. */

let directory: string
let session = 0
let task: string

agentWorld()
beforeAll(async () => {
  // polls of the gateway end by its clock
  world.clock.run()
  directory = await mkdtemp(join(tmpdir(), 'countersign-hook-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))
beforeEach(() => {
  task = `claude-code:s${++session}`
})

const run = (call: Partial<HeldCall> = {}, other: Partial<PermitParts> = {}): Promise<void> => {
  const parts: PermitParts = {
    gate: createGate({ url: world.url, key: agent.key }),
    callIds: createCallIds(
      openUnfinished({
        directory: () => directory,
        keptMs: 86_400_000,
        now: Date.now,
        note: expect.unreachable,
      }),
    ),
    harness: 'claude-code',
    prefix: '',
    maxWaitMs: 60_000,
    signal: new AbortController().signal,
    note: () => undefined,
    ...other,
  }
  return permit(parts, { task, tool: 'hold', input: { n: 1 }, ...call })
}
const left = (): string[] => readdirSync(directory)
/** The threads of the session that people are asked about, once there are at least `count`. */
async function asked(count = 1): Promise<string[]> {
  const threads = async () =>
    (await world.allEvidence())
      .map(({ record }) => record)
      .filter((record) => record.type === 'review.pending' && record.task_id === task)
      .map(({ thread_id = '' }) => thread_id)
  await until(async () => (await threads()).length >= count)
  return threads()
}

describe('a call', () => {
  it('allows a call that policy allows', async () => {
    await run({ tool: 't', input: { any: ['thing'] } })
    expect(left()).toEqual([])
  })

  it('denies a call that policy rejects', async () => {
    await expect(run({ tool: 'bare' })).rejects.toMatchObject({ code: 'rejected' })
    expect(left()).toEqual([])
  })

  it('denies a tool that the gateway does not know', async () => {
    await expect(run({ tool: 'Bash' })).rejects.toMatchObject({ code: 'unknown_tool' })
  })

  it('allows an approved call, redeems its proof, and shows the caller to reviewers', async () => {
    const done = run()
    const [thread = ''] = await asked()
    expect((await ann.show(thread)).text).toContain('claude-code')
    await ann.approve(thread)
    await done
    expect((await ann.show(thread)).text).toContain('redeemed')
  })

  it('denies a call that reviewers reject', async () => {
    const done = run()
    const [thread = ''] = await asked()
    await Promise.all([
      expect(done).rejects.toMatchObject({ code: 'rejected', reason: 'not now' }),
      ann.vote(thread, { decision: 'reject', revision: 1, comment: 'not now' }),
    ])
    expect(left()).toEqual([])
  })

  it('is decided under its tool prefix', async () => {
    const recorded = await world.evidenceOf(() => run({ tool: 'y', input: { amount: 1 } }, { prefix: 'pa' }))
    expect(recorded[0]?.record).toMatchObject({ type: 'decision.allowed', tool: 'pay', task_id: task })
  })
})

describe('a call that no reviewer decides in time', () => {
  const timedOut = (call: Partial<HeldCall> = {}) =>
    expect(run(call, { maxWaitMs: 0 })).rejects.toMatchObject({ code: 'still_pending' })

  it('continues its thread when it is repeated, and runs once', async () => {
    await timedOut()
    await timedOut()
    const threads = await asked()
    expect([threads.length, left().length]).toEqual([1, 1])
    await ann.approve(threads[0] ?? '')
    await run()
    expect(left()).toEqual([])
    await timedOut()
    expect((await asked(2)).length).toBe(2)
  })

  it('is a different call when input, tool or session differ', async () => {
    await timedOut()
    await timedOut({ input: { n: 2 } })
    await timedOut({ tool: 'brief' })
    expect((await asked(3)).length).toBe(3)
    task = `claude-code:s${++session}`
    await timedOut()
    expect((await asked()).length).toBe(1)
  })

  it('never merges two simultaneous calls', async () => {
    await Promise.all([timedOut(), timedOut()])
    await Promise.all([timedOut(), timedOut(), timedOut()])
    expect((await asked(3)).length).toBe(3)
  })
})

describe('a hook that ends while reviewers decide', () => {
  it('withdraws its call on a signal, so that the next hook opens a new thread', async () => {
    const before = left()
    const stop = new AbortController()
    const done = run({}, { signal: stop.signal })
    const [thread = ''] = await asked()
    stop.abort()
    await expect(done).rejects.toMatchObject({ code: 'aborted' })
    expect((await ann.show(thread)).body).toHaveProperty('withdrawn_at')
    expect([(await ann.approve(thread)).status, left()]).toEqual([409, before])
    await expect(run({}, { maxWaitMs: 0 })).rejects.toMatchObject({ code: 'still_pending' })
    expect((await asked(2)).length).toBe(2)
  })

  it('leaves its call for a grace when its harness ends it, and the next hook joins it', async () => {
    const stop = new AbortController()
    const done = run({}, { signal: stop.signal })
    const [thread = ''] = await asked()
    stop.abort(new HookEnded('a signal ended the hook (SIGTERM)'))
    await expect(done).rejects.toMatchObject({ code: 'still_pending' })
    const record = await world.app.deps.store.get('acme', 'thread', thread)
    expect(JSON.parse(record?.body ?? '{}')).toHaveProperty('left_until')
    await ann.approve(thread)
    await run({}, {})
  })

  it("withdraws an earlier hook's call on a signal, even before it knows the contract", async () => {
    await expect(run({}, { maxWaitMs: 0 })).rejects.toMatchObject({ code: 'still_pending' })
    const [thread = ''] = await asked()
    await expect(run({}, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'aborted' })
    expect((await ann.show(thread)).body).toHaveProperty('withdrawn_at')
  })

  it('leaves its call to the next hook when only its waiting time is over', async () => {
    const stop = new AbortController()
    const done = run({}, { signal: stop.signal })
    const [thread = ''] = await asked()
    stop.abort(new DOMException('the calling process has ended', 'TimeoutError'))
    await expect(done).rejects.toMatchObject({ code: 'still_pending', thread_id: thread })
    await ann.approve(thread)
    await run()
    expect((await asked()).length).toBe(1)
  })
})

it('without a gateway no call runs, and the call is kept', async () => {
  const before = left().length
  const gate = createGate({ url: 'http://127.0.0.1:9', key: 'csk_x', timeoutMs: 200 })
  await expect(run({ tool: 't' }, { gate })).rejects.toMatchObject({ code: 'gateway_unavailable' })
  expect(left().length).toBe(before + 1)
})

describe('the contract of a call', () => {
  const source = (server: string, name: string) => `source: { server: ${server}, name: "${name}" }\n`
  const contract = (tool: string, more = '') =>
    `tool: ${tool}\ndescription: d\nrisk: low\nreversibility: read_only\ninput_schema: { type: object }\n${more}`
  let own: World
  let other: Agent

  beforeAll(async () => {
    own = await openWorld({
      files: {
        'rules/easy.yaml':
          'tools: ["*"]\nrules:\n  - id: easy\n    allow: Easy.\n    when: { tool.reversibility: read_only }\n',
        'tools/a.yaml': contract('run_2', source('shop', '_run')),
        'tools/b.yaml': contract('Bash', source('shop', 'Bash')),
        'tools/c.yaml': contract('Read'),
        'tools/d.yaml': contract('dotted', source('my_shop', 'a.b')),
        'tools/e.yaml': contract('twin_1', source('s', 'x.y')),
        'tools/f.yaml': contract('twin_2', source('s', 'x_y')),
      },
    })
    other = await own.agent('other')
  })
  afterAll(() => own.close())
  const runs = (tool: string, harness: PermitParts['harness'] = 'claude-code'): Promise<void> =>
    run({ tool }, { harness, gate: createGate({ url: own.url, key: other.key }) })

  it.each([
    ['mcp__shop___run', 'claude-code'],
    ['mcp__shop___run', 'codex'],
    ['mcp_shop__run', 'gemini'],
    ['mcp__my_shop__a_b', 'claude-code'],
    ['Read', 'claude-code'],
    ['mcp__shop__Bash', 'claude-code'],
  ] as const)('is found under the name that the server uses: %s in %s', async (tool, harness) => {
    await expect(runs(tool, harness)).resolves.toBeUndefined()
  })

  it.each([
    ['that of an MCP server for a tool of the harness', 'Bash', 'of the MCP server `shop`'],
    ['that of another server', 'mcp__other___run', 'does not let this agent use'],
    ['one of two that the harness names alike', 'mcp__s__x_y', 'more than one contract'],
  ])('is never %s', async (_, tool, why) => {
    await expect(runs(tool)).rejects.toThrow(why)
  })
})

describe('the files that a command names', () => {
  const contract = (tool: string, members: string): string =>
    `tool: ${tool}\ndescription: d\nrisk: low\nreversibility: irreversible\n` +
    `input_schema:\n  type: object\n  additionalProperties: false\n  properties: { command: {}${members} }\n`
  let own: World
  let other: Agent
  let eve: Reviewer
  let folder: string

  beforeAll(async () => {
    own = await openWorld({
      files: {
        'rules/shell.yaml': 'tools: [Bash, Plain]\nrules:\n  - id: asks\n    review: A person reads it.\n',
        'tools/bash.yaml': contract('Bash', ', files: { type: array }, cwd: { type: string }'),
        'tools/plain.yaml': contract('Plain', ''),
      },
    })
    own.clock.run()
    other = await own.agent('other')
    eve = await own.reviewer('ann')
    folder = realpathSync(await mkdtemp(join(directory, 'files-')))
  })
  beforeEach(() => writeFileSync(join(folder, 'deploy.sh'), 'echo 1\n'))
  afterAll(() => own.close())

  const runs = (call: Partial<HeldCall> = {}, more: Partial<PermitParts> = {}): Promise<void> =>
    run(
      { tool: 'Bash', input: { command: 'sh deploy.sh' }, cwd: folder, ...call },
      { gate: createGate({ url: own.url, key: other.key }), ...more },
    )
  async function held(): Promise<string> {
    const threads = async () =>
      (await own.allEvidence())
        .map(({ record }) => record)
        .filter((record) => record.type === 'review.pending' && record.task_id === task)
    await until(async () => (await threads()).length > 0)
    return (await threads()).at(-1)?.thread_id ?? ''
  }

  it('are in the payload, and let the approved call run while they stay the same', async () => {
    const done = runs()
    const thread = await held()
    expect((await eve.show(thread)).body).toMatchObject({
      payload: { cwd: folder, files: [{ path: 'deploy.sh', real: join(folder, 'deploy.sh'), size: 7 }] },
    })
    writeFileSync(join(folder, 'deploy.sh'), 'echo 2\n')
    writeFileSync(join(folder, 'deploy.sh'), 'echo 1\n')
    await eve.approve(thread)
    await done
  })

  it('refuse the approved call when one changed, and no proof is redeemed', async () => {
    const done = runs()
    const refused = expect(done).rejects.toThrow('deploy.sh changed since it was asked')
    const thread = await held()
    writeFileSync(join(folder, 'deploy.sh'), 'echo MUTATED\n')
    await eve.approve(thread)
    await refused
    const records = (await own.allEvidence()).filter(({ record }) => record.thread_id === thread)
    expect(records.map(({ record }) => record.type)).not.toContain('token.redeemed')
    expect((await eve.show(thread)).body).toHaveProperty('withdrawn_at')
  })

  it('are a part to see when they were not read', async () => {
    writeFileSync(join(folder, 'big'), '')
    truncateSync(join(folder, 'big'), 2 ** 30)
    await expect(runs({ input: { command: 'sh big' } }, { maxWaitMs: 0 })).rejects.toMatchObject({
      code: 'still_pending',
    })
    expect((await eve.show(await held())).body).toMatchObject({
      payload: { files: [{ path: 'big', sha256: 'not read' }] },
      display: { parts: ['payload.files[0]'] },
    })
  })

  it('are named as unbound, once, where the contract has no `files`', async () => {
    const notes: string[] = []
    const note = (line: string): void => void notes.push(line)
    await expect(runs({ tool: 'Plain' }, { maxWaitMs: 0, note })).rejects.toMatchObject({
      code: 'still_pending',
    })
    expect(notes).toEqual(['files are not bound: the contract of Plain has no `files`'])
    expect((await eve.show(await held())).body).toMatchObject({ payload: { command: 'sh deploy.sh' } })
  })

  it.each([
    [
      'an input that has `files` of its own',
      { input: { command: 'ls', files: [] } },
      'which the hook fills in',
    ],
    ['a harness that names no folder', { cwd: undefined }, 'names no folder'],
  ])('refuse %s', async (_, call, why) => {
    await expect(runs(call)).rejects.toThrow(why)
  })
})
