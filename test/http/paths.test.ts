import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { agentWorld, ann, bot, world } from '../agent-world.ts'
import { ADMIN_KEY } from '../gateway-fixture.ts'
import { exchange } from './socket.ts'

/**
 * One thing has one name. Every other spelling of a path leads nowhere, for every caller, before the gateway reads the
 * credential.
 */

const DOCUMENT = new URL('../../schemas/openapi.json', import.meta.url)
const { paths } = JSON.parse(readFileSync(DOCUMENT, 'utf8')) as {
  paths: Record<string, Record<string, { parameters?: { in: string }[] }>>
}
const ROUTES = Object.entries(paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => ({
    method: method.toUpperCase(),
    path: path.replaceAll(/\{\w+\}/g, 'a'),
  })),
)

const escaped = (one: string, byte: string): string => `%${byte}${one.slice(1)}`
const hex = (one: string): string => (one.codePointAt(0) ?? 0).toString(16)
const inSegment = (path: string, number: number, change: (segment: string) => string): string =>
  path
    .split('/')
    .map((segment, i) => (i === number && segment !== '' ? change(segment) : segment))
    .join('/')

/** Other spellings of a path, at every place of it. */
function otherSpellings(path: string): string[] {
  const places = path.split('/').map((_, i) => i)
  const spelled = places.flatMap((place) => [
    inSegment(path, place, (one) => escaped(one, hex(one))),
    inSegment(path, place, (one) => escaped(one, hex(one).toUpperCase())),
    inSegment(path, place, (one) => `${one.slice(0, -1)}%${hex(one.slice(-1))}`),
    inSegment(path, place, (one) => `/${one}`),
    inSegment(path, place, (one) => `./${one}`),
    inSegment(path, place, (one) => `x/../${one}`),
    inSegment(path, place, (one) => `%2e/${one}`),
    inSegment(path, place, (one) => `x/%2E./${one}`),
  ])
  return [
    ...new Set([...spelled, `${path}/`, `${path}/.`, `${path}/..`, `${path}//`, `/x/..${path}`]),
  ].filter((one) => one !== path)
}

agentWorld()

interface Asked {
  readonly method: string
  readonly path: string
  readonly key?: string | undefined
}

/** Sent as it is written: fetch would tidy the path up. */
async function ask({ method, path, key }: Asked): Promise<{ status: number; said: string }> {
  const head = `${method} ${path} HTTP/1.1\r\nHost: gw.test\r\nConnection: close\r\nContent-Length: 2\r\n`
  const credential = key === undefined ? '' : `Authorization: Bearer ${key}\r\n`
  const { status, text } = await exchange(world.url, [
    `${head}${credential}Content-Type: application/json\r\n\r\n{}`,
  ])
  return { status, said: text.replace(/countersign-request: \S+\r\n/i, '').replace(/\r\ndate: [^\r]+/i, '') }
}

describe('a path in another spelling', () => {
  it('has spellings for every route', () => {
    expect(ROUTES.length).toBeGreaterThan(45)
    expect(otherSpellings('/api/agent/decisions')).toContain('/%61pi/agent/decisions')
  })

  it.each(ROUTES.map(({ method, path }) => [method, path] as const))(
    '404 for %s %s',
    async (method, path) => {
      const keys = [undefined, bot.key, ann.key, ADMIN_KEY]
      const before = await world.app.deps.store.events('acme', 0, 10_000)
      const nothing = await ask({ method, path: '/nothing/here' })
      for (const [i, other] of otherSpellings(path).entries()) {
        const { status, said } = await ask({ method, path: other, key: keys[i % keys.length] })
        expect([status, said], other).toEqual([404, nothing.said])
      }
      expect(await world.app.deps.store.events('acme', 0, 10_000)).toHaveLength(before.length)
    },
  )

  it('gets the same answer with every credential', async () => {
    const answers = await Promise.all(
      [undefined, 'nonsense', bot.key, ann.key, ADMIN_KEY].map((key) =>
        ask({ method: 'GET', path: '/%61pi/admin/policies', key }),
      ),
    )
    expect(new Set(answers.map(({ said }) => said)).size).toBe(1)
  })

  it('keeps necessary escapes, and the two paths that end in a slash', async () => {
    expect((await bot.submit('a%3Ab', { tool_name: 't' })).body.task_id).toBe('a:b')
    expect((await ask({ method: 'GET', path: '/' })).status).toBe(303)
    expect([200, 503]).toContain((await ask({ method: 'GET', path: '/console/' })).status)
    expect((await ask({ method: 'GET', path: '/livez?%41=%2e//..' })).status).toBe(200)
  })
})

describe('an invalid escape sequence', () => {
  const BROKEN = [
    '%',
    '%z',
    '%zz',
    '%4',
    '%%',
    '%0g',
    '%ff',
    '%c0%af',
    '%ed%a0%80',
    '%e2%82',
    '%u0041',
    '%f8%a1%a1%a1%a1',
  ]
  const TARGETS = ROUTES.filter(({ method }) => method === 'GET')

  it.each(BROKEN)('400 in any query, with any credential: %s', async (broken) => {
    for (const { method, path } of TARGETS)
      for (const query of [`x=${broken}`, `${broken}=x`, `thread_id=a&task_id=${broken}`])
        for (const key of [undefined, bot.key, ann.key, ADMIN_KEY]) {
          const { status, said } = await ask({ method, path: `${path}?${query}`, key })
          expect([status, said.includes('"code":"invalid_request"')], `${path}?${query}`).toEqual([400, true])
        }
  })

  it.each(BROKEN)('400 in a path: %s', async (broken) => {
    for (const path of [`/${broken}`, `/api/agent/tasks/${broken}/requests`])
      expect((await ask({ method: 'POST', path, key: bot.key })).status).toBe(400)
  })
})
