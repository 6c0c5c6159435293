// @store each, in the soak
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { LIMITS } from '../../src/contract/limits.ts'
import { sha256 } from '../../src/domain/digest.ts'
import { BUNDLE } from '../bundle.ts'
import { createClient } from '../../packages/sdk/src/client.ts'
import { fileWorld, world } from '../agent-world.ts'
import { type Agent, openWorld, type World } from '../gateway-fixture.ts'

/** POST /api/agent/tools/resolve (docs/agent-api.md). */

let bot: Agent

fileWorld()
beforeAll(async () => {
  bot = await world.agent()
})

describe('POST tools/resolve', () => {
  it('200 with name, description and input schema of the requested tools', async () => {
    const { status, body } = await bot.resolve(['pay'])
    expect(status).toBe(200)
    const contract = parse(BUNDLE['tools/pay.yaml'] ?? '') as { input_schema: object }
    expect(body).toEqual({
      tools: [
        {
          name: 'pay',
          description: 'Move money.',
          input_schema: contract.input_schema,
          risk: 'low',
          revision: sha256(BUNDLE['tools/pay.yaml'] ?? ''),
        },
      ],
      unknown: [],
    })
  })

  it('200 with every tool that the agent may use for an empty list', async () => {
    const names = async (agent: Agent) => (await agent.resolve([])).body.tools.map(({ name }) => name)
    expect(await names(bot)).toEqual(['bare', 'brief', 'hold', 'pay', 't'])
    expect(await names(await world.agent('other'))).toContain('private')
  })

  it('200 lists as unknown, without distinction, missing tools and tools that the agent may not use', async () => {
    const { body } = await bot.resolve(['no.such', 't', 'private', '__proto__', 'toString', 't', ''])
    expect(body.tools.map(({ name }) => name)).toEqual(['t'])
    expect(body.unknown).toEqual(['no.such', 'private', '__proto__', 'toString', ''])
  })

  it.each([
    ['no list', {}, '/tools'],
    ['null', { tools: null }, '/tools'],
    ['a text', { tools: 'pay' }, '/tools'],
    ['a number in the list', { tools: ['pay', 1] }, '/tools/1'],
    ['a property more', { tools: [], x: 1 }, '/x'],
    ['too many names', { tools: Array(LIMITS.TOOL_NAMES + 1).fill('x') }, '/tools'],
  ])('400 for %s', async (_, body, pointer) => {
    const { status, problem } = await bot.call('POST', 'tools/resolve', { body })
    expect([status, problem.code]).toEqual([400, 'invalid_request'])
    expect(problem.errors?.map((error) => error.pointer)).toContain(pointer)
  })

  it('413 for a body over the cap, 415 for another media type', async () => {
    const raw = '{"tools":[]}'
    const large = await bot.call('POST', 'tools/resolve', { raw: raw + ' '.repeat(LIMITS.BODY_BYTES) })
    expect(large.status).toBe(413)
    const headers = { 'content-type': 'text/plain' }
    expect((await bot.call('POST', 'tools/resolve', { raw, headers })).status).toBe(415)
  })

  it('200 leaves no evidence and reveals no rule', async () => {
    const records = await world.evidenceOf(async () => {
      const { text } = await bot.resolve([])
      expect(text).not.toContain('pay-small')
    })
    expect(records).toEqual([])
  })
})

describe('more contracts than an answer can hold', () => {
  const NAMES = Array.from({ length: 300 }, (_, i) => `big.${String(i).padStart(3, '0')}`)
  const contract = (name: string): string =>
    `tool: ${name}\ndescription: ${'d'.repeat(3_000)}\nrisk: low\ninput_schema: { type: object }\n`
  let large: World
  let other: Agent
  beforeAll(async () => {
    const files = Object.fromEntries(NAMES.map((name) => [`tools/${name}.yaml`, contract(name)]))
    large = await openWorld({ files })
    other = await large.agent('other')
  })
  afterAll(() => large.close())

  it('200 with as many as fit, and the names of the others, until all are sent', async () => {
    const found: string[] = []
    let asked: readonly string[] = []
    for (let pages = 0; pages < 9; pages++) {
      const { status, body, text } = await other.resolve(asked)
      expect(status).toBe(200)
      expect(JSON.stringify(body.tools).length).toBeLessThanOrEqual(
        LIMITS.RESOLVED_BYTES + body.tools.length + 1,
      )
      expect(text.length).toBeLessThan(1.2 * LIMITS.RESOLVED_BYTES)
      found.push(...body.tools.map(({ name }) => name))
      if (body.more === undefined) break
      asked = body.more.slice(0, LIMITS.TOOL_NAMES)
      const behind = body.more.slice(LIMITS.TOOL_NAMES)
      expect(behind.length === 0 || asked.length === LIMITS.TOOL_NAMES).toBe(true)
    }
    expect(found.filter((name) => name.startsWith('big.'))).toEqual(NAMES)
  })

  it('the SDK client gets all of them', async () => {
    const client = createClient({ url: large.url, key: other.key })
    const { tools, unknown, more } = await client.resolve([])
    expect(tools.map(({ name }) => name).filter((name) => name.startsWith('big.'))).toEqual(NAMES)
    expect([unknown, more]).toEqual([[], undefined])
    const named = await client.resolve([...NAMES.slice(0, 200), 'no.such'])
    expect([named.tools.length, named.unknown]).toEqual([200, ['no.such']])
  })

  it('one contract is always returned, however large', async () => {
    const { body } = await other.resolve([NAMES[0] as string])
    expect(body.tools).toHaveLength(1)
    expect(body).not.toHaveProperty('more')
  })
})
