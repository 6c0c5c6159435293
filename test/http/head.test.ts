import { describe, expect, it } from 'vitest'
import { agentWorld, ann, bot, world } from '../agent-world.ts'
import { held } from '../gateway-fixture.ts'

agentWorld()

const head = (path: string, key?: string): Promise<Response> =>
  fetch(`${world.url}${path}`, {
    method: 'HEAD',
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
  })

describe('HEAD', () => {
  it.each(['/livez', '/readyz', '/openapi.json', '/.well-known/countersign/keys', '/console/'])(
    '200 without a body: %s',
    async (path) => {
      const [asked, got] = [await head(path), await fetch(`${world.url}${path}`)]
      expect([asked.status, await asked.text()]).toEqual([got.status, ''])
      expect(asked.headers.get('content-type')).toBe(got.headers.get('content-type'))
    },
  )

  it('is answered like GET where a credential is needed', async () => {
    const { thread } = await held(bot)
    expect((await head('/api/review/threads', ann.key)).status).toBe(200)
    expect((await head(`/api/review/threads/${thread}`, ann.key)).status).toBe(200)
    expect((await head('/api/review/threads')).status).toBe(401)
    expect((await head('/api/review/threads/none', ann.key)).status).toBe(404)
  })

  it('404 for a poll, and for routes that write or stream: it collects no approval', async () => {
    const { thread } = await held(bot)
    await ann.approve(thread)
    expect((await head(`/api/agent/decisions?thread_id=${thread}`, bot.key)).status).toBe(404)
    expect((await head('/api/review/stream', ann.key)).status).toBe(404)
    expect((await head('/api/admin/evidence?tenant=acme', ann.key)).status).toBe(404)
    expect((await bot.poll({ thread_id: thread })).body.approval_token).toBeDefined()
  })
})
