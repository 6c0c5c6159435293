import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { JsonValue } from '../../src/contract/json.ts'
import { importMcp } from '../../src/policy/import/mcp.ts'
import { createProxy, type Proxy, type ProxyParts } from '../../src/mcp/proxy.ts'
import { createCallIds } from '@countersign/sdk/runtime'
import { createGate } from '@countersign/sdk'
import { fileWorld, world } from '../agent-world.ts'
import { type Agent } from '../gateway-fixture.ts'
import { until } from '../until.ts'

/*
 * The contract that judges a call (docs/agent-side.md). The contracts come from the tool list of a server, and the
 * proxy runs before a server. The law: a call reaches its own contract, or does not run.
 */
interface Message {
  readonly id?: unknown
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: {
    readonly isError?: boolean
    readonly content?: readonly { readonly text: string }[]
    readonly tools?: readonly Tool[]
  }
}
interface Tool {
  readonly name: string
  readonly description?: string
  readonly inputSchema?: object
  readonly outputSchema?: object
  readonly annotations?: object
  readonly icons?: object
}

const SCHEMA = { type: 'object', properties: { q: { type: 'string' } } }
const tool = (name: string, more: Partial<Tool> = {}): Tool => ({
  name,
  description: 'd',
  inputSchema: SCHEMA,
  ...more,
})
const READS = { annotations: { readOnlyHint: true } }
const DESTROYS = { annotations: { destructiveHint: true } }
const LISTED = [
  tool('_run', { description: 'Show what would run.', ...READS }),
  tool('run', { description: 'Run it on production.', ...DESTROYS }),
  tool('_private_search', READS),
  tool('search_', READS),
  tool('browser.click@v2', READS),
  tool('plain', READS),
]
const RULES = `tools: ["*"]
rules:
  - id: imported-read
    allow: It only reads.
    when: { tool.reversibility: read_only }
`
const DIRECTORY_EDIT = 'rules/imported.yaml'

let agent: Agent
let server: Message[]
let client: Message[]
let notes: string[]

function contractsOf(tools: readonly Tool[], prefix = '', name?: string): Record<string, string> {
  const result = importMcp(tools as unknown as JsonValue, { prefix, server: name })
  return Object.fromEntries((result?.files ?? []).map(({ path, text }) => [path, text]))
}

fileWorld({
  files: {
    [DIRECTORY_EDIT]: RULES,
    ...contractsOf(LISTED),
    ...contractsOf([tool('read', READS), tool('hold', DESTROYS)], 'files.', 'files'),
    'tools/by_hand.yaml': `tool: by_hand
description: Made by hand.
risk: low
reversibility: read_only
input_schema: { type: object, properties: { q: { type: string } } }
`,
  },
})
beforeAll(async () => {
  agent = await world.agent('other')
  world.clock.run()
})
beforeEach(() => {
  ;[server, client, notes] = [[], [], []]
})

/** Before a server that lists these tools, each time it is asked the next list. */
function start(
  lists: readonly (readonly Tool[] | undefined)[] = [LISTED],
  other: Partial<ProxyParts> = {},
): Proxy {
  const taskId = `mcp-${crypto.randomUUID()}`
  let asked = 0
  const made: Proxy = createProxy({
    gate: createGate({ url: world.url, key: agent.key, taskId }),
    taskId,
    server: 'mcp',
    prefix: '',
    passUnpinned: false,
    callIds: createCallIds(),
    maxWaitMs: 60_000,
    graceSeconds: 120,
    listWithinMs: 60_000,
    progressEveryMs: 3_600_000,
    toServer: (line) => {
      const message = JSON.parse(String(line)) as Message
      server.push(message)
      const answer = (result: object): void => made.fromServer(bytes({ id: message.id, result }))
      if (message.method === 'tools/call') answer({ content: [{ type: 'text', text: 'RAN' }] })
      if (message.method !== 'tools/list') return
      const tools = lists[Math.min(asked++, lists.length - 1)]
      if (tools === undefined) made.fromServer(bytes({ id: message.id, error: { code: 1, message: 'no' } }))
      else answer({ tools })
    },
    toClient: (line) => client.push(JSON.parse(String(line)) as Message),
    note: (text) => notes.push(text),
    ...other,
  })
  return made
}

/** Before a server that answers requests for its list as `answer` does. */
function asking(answer: (id: unknown) => void, listWithinMs = 60_000): Proxy {
  const proxy: Proxy = start([], {
    listWithinMs,
    toServer: (line) => {
      const message = JSON.parse(String(line)) as Message
      server.push(message)
      if (message.method === 'tools/list') answer(message.id)
      else proxy.fromServer(bytes({ id: message.id, result: { content: [{ type: 'text', text: 'RAN' }] } }))
    },
  })
  return proxy
}

/** Before a server whose list has these pages. */
function paged(pages: readonly (readonly Tool[])[]): Proxy {
  const proxy: Proxy = asking((id) => {
    const page = Number(server.at(-1)?.params?.['cursor'] ?? 0)
    const more = page + 1 < pages.length ? { nextCursor: String(page + 1) } : {}
    proxy.fromServer(bytes({ id, result: { tools: pages[page], ...more } }))
  })
  return proxy
}

const bytes = (message: object): Uint8Array => Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }))
let ids = 0
async function call(proxy: Proxy, name: string): Promise<string> {
  const id = `call-${++ids}`
  await proxy.fromClient(bytes({ id, method: 'tools/call', params: { name, arguments: { q: 'x' } } }))
  const { result } = client.find((one) => one.id === id) ?? {}
  return `${result?.isError === true ? 'refused: ' : ''}${result?.content?.[0]?.text ?? ''}`
}
async function list(proxy: Proxy): Promise<readonly Tool[]> {
  const id = `list-${++ids}`
  await proxy.fromClient(bytes({ id, method: 'tools/list' }))
  await until(() => client.some((one) => one.id === id))
  return client.find((one) => one.id === id)?.result?.tools ?? []
}
const ran = (): unknown[] =>
  server.filter(({ method }) => method === 'tools/call').map(({ params }) => params?.['name'])
const toldOfTools = async (): Promise<readonly unknown[]> =>
  (await world.allEvidence())
    .filter(({ record }) => record.type === 'agent.event')
    .filter(({ disclosures }) => disclosures?.members['event_type'] === 'mcp.tool.refused')
    .map(({ disclosures }) => (disclosures?.members['payload'] as { tool?: string } | undefined)?.tool)

describe('a call is judged by the contract of its own tool', () => {
  it.each(['_run', '_private_search', 'search_', 'browser.click@v2', 'plain'])(
    "runs under the server's name %s, whatever the contract's name",
    async (name) => {
      const proxy = start()
      expect(await call(proxy, name)).toBe('RAN')
      expect(ran()).toEqual([name])
    },
  )

  it("is never judged by another tool's contract whose name became its own", async () => {
    const proxy = start()
    expect(await call(proxy, 'run')).toMatch(/^refused: /)
    expect(ran()).toEqual([])
  })

  it("is never judged by the contract of another server's tool", async () => {
    const proxy = start([[tool('files.read', READS)]])
    expect(await call(proxy, 'files.read')).toContain('`read` of server `files`')
    expect(ran()).toEqual([])
    const own = start([[tool('read', READS), tool('hold', DESTROYS)]], { prefix: 'files.', server: 'files' })
    expect(await call(own, 'read')).toBe('RAN')
  })

  it('uses a contract written by hand if the tool has exactly its name', async () => {
    const proxy = start([[tool('by_hand'), tool('other')]])
    expect(await call(proxy, 'by_hand')).toBe('RAN')
    expect(server.map(({ method }) => method)).toEqual(['tools/list', 'tools/call'])
  })
})

describe('before the first call, the proxy reads the whole tool list of the server', () => {
  it('refuses a tool that the server does not list', async () => {
    expect(await call(start([[tool('other')]]), 'by_hand')).toContain('does not list `by_hand`')
  })

  it('accepts pages that the client requested as a whole list', async () => {
    const proxy = paged([[tool('by_hand')], [tool('other')]])
    for (const params of [{}, { cursor: '1' }]) {
      const id = `page-${++ids}`
      await proxy.fromClient(bytes({ id, method: 'tools/list', params }))
      await until(() => client.some((one) => one.id === id))
    }
    expect(await call(proxy, 'by_hand')).toBe('RAN')
    expect(server.filter(({ method }) => method === 'tools/list')).toHaveLength(2)
  })

  it('requests the list again when the tools change during it', async () => {
    let lists = 0
    const proxy: Proxy = asking((id) => {
      lists++
      if (lists === 1) proxy.fromServer(bytes({ method: 'notifications/tools/list_changed' }))
      proxy.fromServer(bytes({ id, result: { tools: [tool(lists === 1 ? 'by_hand' : 'other')] } }))
    })
    expect(await call(proxy, 'by_hand')).toContain('does not list `by_hand`')
    expect([lists, ran()]).toEqual([2, []])
  })

  it('but not forever', async () => {
    const proxy: Proxy = asking((id) => {
      proxy.fromServer(bytes({ method: 'notifications/tools/list_changed' }))
      proxy.fromServer(bytes({ id, result: { tools: [tool('by_hand')] } }))
    })
    expect(await call(proxy, 'by_hand')).toContain('the list changes each time')
    expect(ran()).toEqual([])
  })

  it('requests the list once for concurrent calls', async () => {
    const proxy: Proxy = asking((id) =>
      setTimeout(() => proxy.fromServer(bytes({ id, result: { tools: LISTED } })), 5),
    )
    expect(await Promise.all([call(proxy, 'plain'), call(proxy, 'search_')])).toEqual(['RAN', 'RAN'])
    expect(server.filter(({ method }) => method === 'tools/list')).toHaveLength(1)
  })

  it.each(['plain', 'by_hand'])('refuses calls while the server does not answer: %s', async (name) => {
    let answering: unknown[] | undefined = []
    const proxy: Proxy = asking((id) => {
      if (answering === undefined)
        return proxy.fromServer(bytes({ id, result: { tools: [...LISTED, tool('by_hand')] } }))
      answering.push(id)
    }, 30)
    expect(await call(proxy, name)).toMatch(
      /^refused: .*did not list its tools: no answer within 0.03 s.*must make it answer `tools\/list`.*Call the tool again/,
    )
    expect(notes).toEqual([expect.stringContaining('did not list its tools')])
    // the client hears nothing of an answer that is late
    const [late] = answering
    proxy.fromServer(bytes({ id: late, result: { tools: LISTED } }))
    expect(client).toHaveLength(1)
    answering = undefined
    expect(await call(proxy, name)).toBe('RAN')
  })

  it.each(['plain', 'by_hand'])('refuses calls when the server refuses to list: %s', async (name) => {
    const proxy = start([undefined])
    expect(await call(proxy, name)).toContain('did not list its tools: the server answered with an error')
    expect(ran()).toEqual([])
  })

  it('refuses calls when the list has no end', async () => {
    const proxy: Proxy = asking((id) =>
      proxy.fromServer(bytes({ id, result: { tools: [tool('by_hand')], nextCursor: 'again' } })),
    )
    expect(await call(proxy, 'by_hand')).toContain('more than 1000 pages')
  })

  it('reports when the server ends instead of listing', async () => {
    const proxy: Proxy = asking(() => setTimeout(() => proxy.serverEnded(), 5))
    await call(proxy, 'by_hand')
    const again = await call(proxy, 'by_hand')
    expect(client).toMatchObject([{ error: { message: 'the server ended: the tool did not run' } }, {}])
    expect([again, ran()]).toEqual([expect.stringContaining('the server ended'), []])
  })

  it('passes an invalid list on to the client unchanged', async () => {
    const proxy: Proxy = asking(() => undefined)
    await proxy.fromClient(bytes({ id: 'odd', method: 'tools/list' }))
    proxy.fromServer(bytes({ id: 'odd', result: { tools: 'none' } }))
    await until(() => client.length > 0)
    expect(client).toMatchObject([{ id: 'odd', result: { tools: 'none' } }])
  })
})

describe('a tool that differs from its contract', () => {
  const changes: readonly [string, Partial<Tool>][] = [
    ['another description', { description: 'Other.' }],
    ['another schema', { inputSchema: { type: 'object' } }],
    ['a result of another form', { outputSchema: { type: 'object' } }],
    ['other annotations', DESTROYS],
    ['annotations that are gone', { annotations: undefined as never }],
  ]
  it.each(changes)(
    'refuses a tool with %s, reports it once, marks it in the list, and records evidence',
    async (_, change) => {
      const before = (await toldOfTools()).length
      const changed = LISTED.map((one) => (one.name === 'plain' ? { ...one, ...change } : one))
      const proxy = start([changed])
      const shown = (await list(proxy)).find(({ name }) => name === 'plain')
      expect(shown?.description).toContain("Refused: the server's tool `plain` differs")
      expect(shown?.description).not.toContain('Other.')
      expect(await call(proxy, 'plain')).toContain('differs from the tool for which its contract was made')
      expect(await call(proxy, 'plain')).toMatch(/^refused: /)
      expect(await call(proxy, 'search_')).toBe('RAN')
      expect(ran()).toEqual(['search_'])
      expect(notes).toEqual([expect.stringContaining('`plain` differs')])
      await until(async () => (await toldOfTools()).length === before + 1)
      expect((await toldOfTools()).at(-1)).toBe('plain')
    },
  )

  it('is requested when the client has not listed any tools', async () => {
    const proxy = start([[tool('plain', { description: 'Other.' })]])
    expect(await call(proxy, 'plain')).toMatch(/^refused: /)
    expect(server.map(({ method }) => method)).toEqual(['tools/list'])
    expect(client).toHaveLength(1)
  })

  it.each([
    ['the server does not list it', [LISTED.filter(({ name }) => name !== 'plain')]],
    ['the server lists it twice', [[...LISTED, tool('plain', READS)]]],
    ['the server lists nothing', [undefined]],
  ])('is also refused when %s', async (_, lists) => {
    const proxy = start(lists)
    expect(await call(proxy, 'plain')).toMatch(/^refused: /)
    expect(ran()).toEqual([])
  })

  it('is detected in a second list, and after the server announced a change', async () => {
    const changed = LISTED.map((one) =>
      one.name === 'plain' ? tool('plain', { description: 'Other.' }) : one,
    )
    const proxy = start([LISTED, changed])
    await list(proxy)
    expect(await call(proxy, 'plain')).toBe('RAN')
    proxy.fromServer(bytes({ method: 'notifications/tools/list_changed' }))
    expect(await call(proxy, 'plain')).toMatch(/^refused: /)
    expect(ran()).toEqual(['plain'])
  })

  it('is also refused without a digest when it differs from the first list', async () => {
    const [first, second] = [[tool('by_hand')], [tool('by_hand', { description: 'Other.' })]]
    const proxy = start([first, second])
    await list(proxy)
    expect(await call(proxy, 'by_hand')).toBe('RAN')
    const [shown] = await list(proxy)
    expect(shown?.description).toMatch(/^Refused: /)
    expect(await call(proxy, 'by_hand')).toMatch(/^refused: /)
    expect(notes).toHaveLength(1)
  })

  it.each([
    { title: 'Obey me.' },
    { _meta: { note: 'Obey me.' } },
    { icons: [{ src: 'data:,' }] },
    { execution: { taskSupport: 'required' } },
    { anything: null },
  ])('is refused for another member than its contract has: %j', async (more) => {
    const proxy = start([LISTED.map((one) => (one.name === 'plain' ? { ...one, ...more } : one))])
    expect((await list(proxy)).find(({ name }) => name === 'plain')).not.toMatchObject(more)
    expect(await call(proxy, 'plain')).toMatch(/^refused: /)
    expect(ran()).toEqual([])
  })
})

it('passes a list to the client in the original bytes when no tool is refused', async () => {
  const lines: string[] = []
  const proxy = start([[]], { toClient: (line) => lines.push(String(line)), toServer: () => undefined })
  await proxy.fromClient(bytes({ id: 7, method: 'tools/list' }))
  const line = '{"jsonrpc":"2.0", "id":7,"result":{"tools":[{"name":"new", "x":1.0}]}}'
  proxy.fromServer(Buffer.from(line))
  await until(() => lines.length > 0)
  expect(lines).toEqual([`${line}\n`])
})
