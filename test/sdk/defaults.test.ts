import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, createGate } from '@countersign/sdk'
import { guardTools } from '@countersign/sdk/ai-sdk'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ROOT } from '../clients/python-environment.ts'
import { edited, openWorld } from '../gateway-fixture.ts'
import { gateBefore, THREAD } from './double.ts'

const HELD = { status: 'pending_review', thread_id: THREAD, message: 'Large refunds\nneed a look.' }

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

describe('a gate without options', () => {
  it('reads the address and the key from the environment, as in Python', async () => {
    vi.stubEnv('COUNTERSIGN_URL', ' http://127.0.0.1:1/ ')
    vi.stubEnv('COUNTERSIGN_AGENT_KEY', ' csk_of_the_environment ')
    const asked: [string, unknown][] = []
    const fetch = async (url: string, { headers }: RequestInit): Promise<Response> => {
      asked.push([url, (headers as Record<string, string>)['authorization']])
      return Response.json({ tools: [], unknown: [] })
    }
    await createClient({ fetch }).resolve([])
    await createClient({ fetch, url: 'http://127.0.0.1:2', key: 'csk_given' }).resolve([])
    expect(asked).toEqual([
      ['http://127.0.0.1:1/api/agent/tools/resolve', 'Bearer csk_of_the_environment'],
      ['http://127.0.0.1:2/api/agent/tools/resolve', 'Bearer csk_given'],
    ])
  })

  it('names the variable that is missing', () => {
    vi.stubEnv('COUNTERSIGN_URL', undefined)
    vi.stubEnv('COUNTERSIGN_AGENT_KEY', ' ')
    expect(() => createGate()).toThrow('set COUNTERSIGN_URL, or pass `url`: the address of the gateway')
    for (const key of [undefined, '']) {
      const options = { url: 'http://127.0.0.1:1', key }
      expect(() => createGate(options)).toThrow(
        'set COUNTERSIGN_AGENT_KEY, or pass `key`: the key of an agent',
      )
    }
    expect(() => createGate({ url: 'http://127.0.0.1:1', key: 'ä' })).toThrow(
      '`key` must be the key of an agent',
    )
  })
})

describe('a held call without a hook', () => {
  it('says on one line of standard error why it waits, where reviewers decide it, and for how long', async () => {
    const said = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const { gate } = gateBefore({}, HELD)
    await gate.guard('pay', {}, () => undefined)
    await gate.guard('pay', {}, () => undefined, { maxWaitMs: 900_000 })
    const at = `http://127.0.0.1:1/console/#/thread/${THREAD}`
    const line = (wait: string): string =>
      `held by policy: Large refunds need a look. Decide at ${at}; waiting up to ${wait}`
    expect(said.mock.calls).toEqual([[line('5 s')], [line('15 min')]])
  })

  it('calls the hook of its gate, and a call with a hook of its own calls only that', async () => {
    const said = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const [onPending, own] = [vi.fn(), vi.fn()]
    const { gate } = gateBefore({}, HELD, { onPending })
    await gate.guard('pay', {}, () => undefined)
    await gate.guard('pay', {}, () => undefined, { onPending: own })
    expect([onPending.mock.calls.length, own.mock.calls.length, said.mock.calls.length]).toEqual([1, 1, 0])
  })

  it('does the same behind an adapter', async () => {
    const onPending = vi.fn()
    const { gate } = gateBefore({}, HELD, { onPending })
    const execute = async (_input: object, _context: object): Promise<string> => 'ran'
    const { pay } = guardTools(gate, { pay: { execute } }, { taskId: 't' }).tools
    expect(await pay.execute({}, { toolCallId: 'c' })).toBe('ran')
    expect(onPending).toHaveBeenCalledOnce()
  })
})

describe('a tool that this agent may not use', () => {
  const tools = ['orders.refund', 'orders.list'].map((name) => ({ name, input_schema: {} }))
  const refused = (resolve: (tries: number) => object): Promise<unknown> =>
    gateBefore({ resolve: (_, tries) => resolve(tries) }).gate.guard('orders.refunds', {}, () => 1)

  it('is refused with the tool of the nearest name, if the agent has one', async () => {
    const known = refused((tries) => ({ tools: tries === 0 ? [] : tools, unknown: [] }))
    await expect(known).rejects.toMatchObject({
      code: 'unknown_tool',
      reason: 'the gateway does not let this agent use orders.refunds (did you mean orders.refund?)',
    })
  })

  it('is refused without a suggestion when no name is near, or the list does not arrive', async () => {
    const reason = 'the gateway does not let this agent use orders.refunds'
    for (const list of [{ tools: [{ name: 'ledger.transfer' }], unknown: [] }, { oops: true }]) {
      const known = refused((tries) => (tries === 0 ? { tools: [], unknown: [] } : list))
      await expect(known).rejects.toMatchObject({ code: 'unknown_tool', reason })
    }
  })
})

describe('agent.mjs of the README', () => {
  it('runs as printed on this Node, says that it waits, and continues after the approval', async () => {
    const [, program = ''] = /^```js\n(.*?)^```/ms.exec(readFileSync(join(ROOT, 'README.md'), 'utf8')) ?? []
    const directory = mkdtempSync(join(tmpdir(), 'cs-readme-'))
    const world = await openWorld({
      files: {
        ...edited('directory.yaml', 'tools: [t, ', 'tools: [orders.refund, t, '),
        'tools/orders.refund.yaml':
          'tool: orders.refund\ndescription: Refunds.\nrisk: low\ninput_schema: { type: object }\n',
        'rules/orders.refund.yaml':
          'tool: orders.refund\nrules:\n  - { id: refund, review: A reviewer looks. }\n',
      },
    })
    try {
      world.clock.run()
      await mkdir(join(directory, 'node_modules/@countersign'), { recursive: true })
      symlinkSync(join(ROOT, 'packages/sdk'), join(directory, 'node_modules/@countersign/sdk'))
      writeFileSync(join(directory, 'agent.mjs'), program)
      const env = { COUNTERSIGN_URL: world.url, COUNTERSIGN_AGENT_KEY: (await world.agent()).key }
      const child = spawn(process.execPath, ['agent.mjs'], { cwd: directory, env })
      let [out, err] = ['', '']
      child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
      child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
      const ended = new Promise((resolve) => child.on('close', resolve))
      await expect
        .poll(() => err)
        .toMatch(/^held by policy: A reviewer looks\. Decide at .*; waiting up to 15 min\n$/)
      const [, thread = ''] = /#\/thread\/(\S+);/.exec(err) ?? []
      expect((await (await world.reviewer('ann')).approve(thread)).status).toBe(200)
      expect([await ended, out]).toEqual([0, 'refunded order 7\n'])
    } finally {
      await world.close()
      rmSync(directory, { recursive: true, force: true })
    }
  })
})
