import { readdirSync } from 'node:fs'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import Fastify from 'fastify'
import { BUILT_CONSOLE, consoleRoutes } from '../../src/http/operations/console-assets.ts'
import { fileWorld, world } from '../agent-world.ts'

/** The console's files. Read with node:http: fetch undoes encodings by itself. */

fileWorld()

interface Got {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> {
  return new Promise((resolve, reject) => {
    const asked = request(`${world.url}${path}`, { method, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      )
    })
    asked.on('error', reject)
    asked.end()
  })
}

function undone(body: Buffer, encoding: string | undefined): Buffer {
  if (encoding === 'br') return brotliDecompressSync(body)
  return encoding === 'gzip' ? gunzipSync(body) : body
}

const assets = async (): Promise<string[]> =>
  [...(await get('/console/')).body.toString().matchAll(/(?:src|href)="([^"]+)"/g)].map(
    (match) => match[1] ?? '',
  )

describe('GET /console/', () => {
  it('200 with the page, which browsers revalidate every time, under the strictest policy', async () => {
    const { status, headers, body } = await get('/console/')
    expect(status).toBe(200)
    expect(body.toString()).toContain('<title>Countersign</title>')
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types evaluator",
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'permissions-policy': expect.stringContaining('camera=()'),
      vary: 'accept-encoding',
    })
    expect(headers['set-cookie']).toBeUndefined()
  })

  it('303 from / and from /console, with the same headers', async () => {
    for (const path of ['/', '/console']) {
      const { status, headers } = await get(path)
      expect([status, headers['location']]).toEqual([303, '/console/'])
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
    }
  })

  it('303 from other names of this machine to the sign-in origin, for pages only', async () => {
    const { port, host } = new URL(world.url)
    for (const name of ['localhost', 'LOCALHOST', '[::1]'])
      for (const path of ['/', '/console', '/console/']) {
        const { status, headers } = await get(path, { host: `${name}:${port}` })
        expect([name, path, status, headers['location']]).toEqual([name, path, 303, `${world.url}/console/`])
      }
    for (const other of [host, `localhost:${Number(port) + 1}`, 'localhost', 'localhost.evil.example', 'x'])
      expect([other, (await get('/console/', { host: other })).status]).toEqual([other, 200])
    const [asset = ''] = (await assets()).filter((name) => name.endsWith('.js'))
    for (const path of [`/console/${asset}`, '/livez', '/api/review/session'])
      expect((await get(path, { host: `localhost:${port}` })).status).toBe(200)
  })

  it('304 for a page that the browser has, in the encoding of its copy', async () => {
    for (const encoding of ['', 'gzip', 'br']) {
      const accept = { 'accept-encoding': encoding }
      const { etag } = (await get('/console/', accept)).headers
      const again = await get('/console/', { ...accept, 'if-none-match': `"other", W/${String(etag)}` })
      expect([again.status, again.body.length, again.headers['etag']]).toEqual([304, 0, etag])
      expect((await get('/console/', { ...accept, 'if-none-match': '"other"' })).status).toBe(200)
    }
  })
})

describe('a gateway without a built console', () => {
  it('503 with an explanation; the gateway still starts and answers', async () => {
    const app = Fastify()
    consoleRoutes(app, {
      built: new URL('file:///nowhere/at/all/'),
      site: () => ({ url: 'http://127.0.0.1:8787' }),
    })
    const { statusCode, body, headers } = await app.inject('/console/')
    expect([statusCode, headers['content-type']]).toEqual([503, 'text/plain; charset=utf-8'])
    expect(body).toContain('npm run build')
    await app.close()
  })
})

describe('GET /console/assets/*', () => {
  it('200 for each file of the page, cached forever, with its type', async () => {
    const types = []
    for (const path of await assets()) {
      const { status, headers } = await get(`/console/${path}`)
      expect([status, headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable'])
      expect(headers['x-content-type-options']).toBe('nosniff')
      types.push(String(headers['content-type']).split(';')[0])
    }
    expect(new Set(types)).toEqual(new Set(['image/svg+xml', 'text/css', 'text/javascript']))
  })

  it('200 in the best accepted encoding, with the same content', async () => {
    const [path = ''] = (await assets()).filter((name) => name.endsWith('.js'))
    const plain = (await get(`/console/${path}`)).body
    const answers: [string, string | undefined][] = [
      ['gzip, deflate, br, zstd', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0, gzip;q=0.5', 'gzip'],
      ['BR', 'br'],
      ['br;q=0', undefined],
      ['identity', undefined],
      ['', undefined],
    ]
    for (const [accepted, encoding] of answers) {
      const { headers, body } = await get(`/console/${path}`, { 'accept-encoding': accepted })
      expect(headers['content-encoding'], accepted).toBe(encoding)
      expect(undone(body, encoding).equals(plain)).toBe(true)
      expect(headers['content-length']).toBe(String(body.length))
    }
  })

  it('200 for the evaluator, which alone may compile code, and has no network access', async () => {
    const names = readdirSync(new URL('assets/', BUILT_CONSOLE)).filter((name) => name.endsWith('.js'))
    const policies = new Map<string, unknown>()
    for (const name of names) {
      const { status, headers } = await get(`/console/assets/${name}`)
      expect([name, status]).toEqual([name, 200])
      policies.set(name.replace(/-[\w-]{8}\.js$/, ''), headers['content-security-policy'])
      const again = await get(`/console/assets/${name}`, { 'if-none-match': String(headers['etag']) })
      expect([again.status, again.headers['content-security-policy']]).toEqual([
        304,
        headers['content-security-policy'],
      ])
    }
    const { 'content-security-policy': ofPage } = (await get('/console/')).headers
    expect(ofPage).not.toContain('unsafe')
    expect(Object.fromEntries(policies)).toEqual({
      index: ofPage,
      finding: ofPage,
      'several-pane': ofPage,
      ...Object.fromEntries(
        ['agents', 'chats', 'history', 'policies', 'webhooks', 'playground'].map((page) => [
          `${page}-page`,
          ofPage,
        ]),
      ),
      evaluator: "default-src 'none'; script-src 'unsafe-eval'",
    })
  })

  it('404 for missing files, paths outside, and compressed copies', async () => {
    const [path = ''] = await assets()
    const others = [
      'assets/x.js',
      'assets/..%2findex.html',
      'assets/%2e%2e%2f%2e%2e%2fpackage.json',
      `${path}.gz`,
      'x',
    ]
    for (const name of others) {
      const { status, headers } = await get(`/console/${name}`)
      expect(status, name).toBe(404)
      expect(headers['content-type']).toContain('application/problem+json')
      expect(headers['cache-control']).toBe('no-store')
    }
  })

  it('404 for every method except GET and HEAD', async () => {
    expect((await get('/console/', {}, 'POST')).status).toBe(404)
    expect((await get('/console/', {}, 'HEAD')).status).toBe(200)
  })
})
