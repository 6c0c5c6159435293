// @store each, in the soak
import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { DRAINING } from '../../src/http/server/shutdown.ts'
import { composeCredential } from '../../src/domain/credential.ts'
import { TIMEOUTS } from '../../src/http/server/server.ts'
import { fileWorld, world } from '../agent-world.ts'
import { call, held, openWorld, type World } from '../gateway-fixture.ts'
import { until } from '../until.ts'
import { stopwatch } from '../stopwatch.ts'

/** Endpoints that need no credential: liveness, readiness, the OpenAPI document. */

fileWorld()

describe('GET livez and readyz', () => {
  it('200 without a credential', async () => {
    expect((await call(`${world.url}/livez`, 'GET')).body).toEqual({ live: true })
    const { status, body, headers } = await call(`${world.url}/readyz`, 'GET')
    expect([status, body]).toEqual([200, { ready: true, store: 'ready', policies: 'ready' }])
    // the doctor holds it against the clock of the machine
    expect(Date.parse(headers.get('date') ?? '')).toBe(world.clock.now)
  })

  it.each([
    ['ready', {}, 200],
    ['not ready', { 'routing.yaml': 'nonsense: true\n' }, 503],
  ])('200 on the metrics port too, where no crowd of callers waits: %s', async (_, files, status) => {
    const own = await openWorld({ files })
    const there = (path: string): Promise<Response> => fetch(new URL(path, own.app.metricsUrl))
    try {
      expect(await (await there('/livez')).json()).toEqual({ live: true })
      const answer = await there('/readyz')
      expect(answer.status).toBe(status)
      expect(await answer.json()).toEqual(await (await fetch(`${own.url}/readyz`)).json())
    } finally {
      await own.close()
    }
  })

  it('503 of readyz, 200 of livez, before a valid bundle was ever loaded; every call is rejected', async () => {
    const own = await openWorld({ files: { 'routing.yaml': 'nonsense: true\n' } })
    try {
      const response = await fetch(`${own.url}/readyz`)
      expect(response.status).toBe(503)
      expect(await response.json()).toMatchObject({ ready: false, store: 'ready' })
      expect((await fetch(`${own.url}/livez`)).status).toBe(200)
      expect((await own.admin<{ in_force: boolean }>('GET', 'policies')).body.in_force).toBe(false)
    } finally {
      await own.close()
    }
  })

  it('200 with a note while an older bundle is in force', async () => {
    const own = await openWorld()
    try {
      await own.changePolicies({ 'routing.yaml': 'nonsense: true\n' })
      const { status, body } = await call<{ policies: string }>(`${own.url}/readyz`, 'GET')
      expect(status).toBe(200)
      expect(body.policies).toContain('the last load failed')
    } finally {
      await own.close()
    }
  })

  it('rejects every call of a known agent without a bundle, and honours no approval', async () => {
    const own = await openWorld()
    try {
      const agent = await own.agent()
      await restartWith(own, 'nonsense: true\n')
      const { status, body } = await agent.submit('a', { tool_name: 't' })
      expect([status, body.status]).toEqual([200, 'reject'])
      expect(body.message).toMatch(/no policy is in force/i)
    } finally {
      await own.close()
    }
  })
})

describe('reviewers, while no bundle is in force', () => {
  it('reviewers stay signed in: 503 not_ready for key and session until a bundle loads again', async () => {
    const own = await openWorld()
    const routing = await readFile(`${own.policies}/routing.yaml`, 'utf8')
    try {
      const [key, session] = [await own.reviewer('ann'), await own.signIn('ann')]
      const stranger = composeCredential('reviewer', new Uint8Array(32), 'acme')
      const asked = (headers: Record<string, string>): Promise<Answered> =>
        call(`${own.url}/api/review/me`, 'GET', { headers })
      const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })
      const answers = async (): Promise<unknown[]> => {
        const all = [asked(bearer(key.key)), asked(session.credentials()), asked(bearer(stranger))]
        return (await Promise.all(all)).map(({ status, body }) => body.code ?? status)
      }
      await restartWith(own, 'nonsense: true\n')
      expect(await answers()).toEqual(['not_ready', 'not_ready', 'unauthenticated'])
      const link = await own.admin<{ code: string }>('POST', 'reviewers/acme/ann/login-link')
      expect([link.status, link.body.code]).toEqual([503, 'not_ready'])
      await restartWith(own, routing)
      expect(await answers()).toEqual([200, 200, 'unauthenticated'])
    } finally {
      await own.close()
    }
  })
})

interface Answered {
  readonly status: number
  readonly body: { readonly code?: string }
}

async function restartWith(own: World, routing: string): Promise<void> {
  await own.stop()
  await writeFile(`${own.policies}/routing.yaml`, routing)
  await own.start()
}

/**
 * Statuses of endpoints without a credential that answer a bare request with an error. The request comes from no page,
 * and there is no identity provider.
 */
const BARE: Readonly<Record<string, number>> = {
  sign_in: 403,
  start_single_sign_on: 404,
  end_single_sign_on: 404,
  end_chat_link: 404,
}

describe('GET openapi.json', () => {
  it('200 with the OpenAPI document that the gateway validates with', async () => {
    const { status, text } = await call(`${world.url}/openapi.json`, 'GET')
    expect(status).toBe(200)
    expect(text).toBe(readFileSync(new URL('../../schemas/openapi.json', import.meta.url), 'utf8'))
  })

  it('serves every path and method of the document, and no other', async () => {
    const { body } = await call<{
      paths: Record<string, Record<string, { operationId: string; security: object[] }>>
    }>(`${world.url}/openapi.json`, 'GET')
    for (const [path, methods] of Object.entries(body.paths)) {
      for (const method of ['get', 'post', 'put', 'patch', 'delete']) {
        const url = world.url + path.replaceAll(/\{\w+\}/g, 'x')
        const { status } = await fetch(url, { method: method.toUpperCase() })
        const operation = methods[method]
        if (operation === undefined) expect([path, method, status]).toEqual([path, method, 404])
        else if (operation.security.length > 0) expect([path, method, status]).toEqual([path, method, 401])
        else expect([path, method, status]).toEqual([path, method, BARE[operation.operationId] ?? 200])
      }
    }
  })
})

describe('shutting down', () => {
  it('a request that began before the shutdown is answered, and its connection closes', async () => {
    const own = await openWorld()
    const { health } = own.app
    const { port } = new URL(own.url)
    const socket = connect(Number(port), '127.0.0.1')
    let text = ''
    socket.on('data', (chunk) => (text += chunk.toString('latin1')))
    const ended = new Promise((resolve) => socket.on('close', resolve))
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\nGET /readyz HTTP/1.1\r\n')
    await until(() => text.includes('{"live":true}'))
    const closed = own.close()
    await until(async () => !(await health.ready()).ready)
    socket.write('Host: x\r\n\r\n')
    await ended
    await closed
    expect(text).toMatch(/HTTP\/1\.1 503 [\s\S]*"ready":false/)
    expect(text.toLowerCase()).toContain('connection: close')
  })

  it('503 shutting_down with Retry-After for a later request, and the connection closes', async () => {
    const own = await openWorld()
    const { port } = new URL(own.url)
    const socket = connect(Number(port), '127.0.0.1')
    let text = ''
    socket.on('data', (chunk) => (text += chunk.toString('latin1')))
    const ended = new Promise((resolve) => socket.on('close', resolve))
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\nGET /openapi.json HTTP/1.1\r\n')
    await until(() => text.includes('{"live":true}'))
    const closing = performance.now()
    const closed = own.close()
    // with room for a machine that is slow to begin
    await until(() => performance.now() - closing > DRAINING.REFUSE_AFTER_MS + 1_000)
    socket.write('Host: x\r\n\r\n')
    await ended
    await closed
    expect(text).toMatch(/HTTP\/1\.1 503 [\s\S]*"code":"shutting_down"/)
    expect(text).toContain('retry-after: 1')
    expect(text.toLowerCase()).toContain('connection: close')
  })

  it('takes no longer when clients keep connections open, silent or not', async () => {
    const own = await openWorld()
    const agent = await own.agent()
    const { port } = new URL(own.url)
    const silent = connect(Number(port), '127.0.0.1')
    const ended = new Promise((resolve) => silent.on('close', resolve))
    await agent.poll({ thread_id: (await held(agent)).thread })
    const tookMs = stopwatch()
    await own.close()
    await ended
    expect(tookMs()).toBeLessThan(TIMEOUTS.KEEP_ALIVE_MS / 2)
  })
})
