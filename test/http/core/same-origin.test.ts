import fc from 'fast-check'
import type { FastifyRequest } from 'fastify'
import { describe, expect, it } from 'vitest'
import {
  isLoopback,
  keepsCookies,
  linkUrl,
  requireSameOrigin,
  rightPlace,
  type Site,
  siteOf,
} from '../../../src/http/core/same-origin.ts'
import { runs } from '../../runs.ts'

const SITE: Site = siteOf('https://countersign.example', '127.0.0.1', 8787)

describe('the origin at which people reach the gateway', () => {
  it.each<[string | undefined, string, number, string]>([
    ['https://a.example', '0.0.0.0', 8787, 'https://a.example'],
    ['https://a.example/', '127.0.0.1', 8787, 'https://a.example'],
    ['https://A.example:443', '127.0.0.1', 8787, 'https://a.example'],
    ['https://a.example:8443', '127.0.0.1', 8787, 'https://a.example:8443'],
    [undefined, '127.0.0.1', 8787, 'http://127.0.0.1:8787'],
    [undefined, 'localhost', 80, 'http://localhost'],
    [undefined, '::1', 8787, 'http://[::1]:8787'],
    [undefined, '0.0.0.0', 8787, 'http://127.0.0.1:8787'],
    [undefined, '::', 8787, 'http://127.0.0.1:8787'],
    [undefined, '192.0.2.7', 8787, 'http://192.0.2.7:8787'],
    [undefined, '2001:db8::7', 8787, 'http://[2001:db8::7]:8787'],
    [undefined, 'fe80::7%eth0', 8787, 'http://[fe80::7]:8787'],
    [undefined, '::1%lo', 8787, 'http://[::1]:8787'],
  ])('public_url %s, listening on %s:%i, is %s', (publicUrl, host, port, url) => {
    expect(siteOf(publicUrl, host, port)).toEqual({ url })
  })

  it.each([
    ['https://countersign.example', true],
    ['http://localhost:8787', true],
    ['http://127.0.0.1:8787', true],
    ['http://[::1]:8787', true],
    ['http://countersign.example', false],
    ['http://192.0.2.7:8787', false],
  ])('a browser keeps the cookie of %s: %s', (url, keeps) => {
    expect(keepsCookies({ url })).toBe(keeps)
  })

  it.each([
    ['127.0.0.2', true],
    ['::1', true],
    ['[::1]', true],
    ['::', false],
    ['0.0.0.0', false],
    ['localhost', true],
    ['127.0.0.1.evil.example', false],
    ['localhost.evil.example', false],
  ])('%s is this machine: %s', (host, is) => {
    expect(isLoopback(host)).toBe(is)
  })

  it.each([
    ['localhost:8787', true],
    ['LocalHost:8787', true],
    ['[::1]:8787', true],
    ['127.0.0.1:8787', false],
    ['localhost:8788', false],
    ['localhost', false],
    ['localhost.evil.example:8787', false],
    ['', false],
    [undefined, false],
  ])('a page that is requested at %s must open elsewhere: %s', (host, elsewhere) => {
    const site = siteOf(undefined, '127.0.0.1', 8787)
    expect(rightPlace(site, host)).toBe(elsewhere ? 'http://127.0.0.1:8787' : undefined)
  })

  it('a public URL is the right origin under any requested name, unless it names this machine', () => {
    expect(rightPlace(SITE, 'localhost:8787')).toBeUndefined()
    const named = siteOf('http://localhost:8787', '0.0.0.0', 8787)
    expect(rightPlace(named, 'localhost:8787')).toBeUndefined()
    expect(rightPlace(named, '127.0.0.1:8787')).toBe('http://localhost:8787')
  })

  it('a link carries its token in the fragment', () => {
    const url = new URL(linkUrl(SITE, 'csl_acme_x'))
    expect([url.origin, url.pathname, url.search, url.hash]).toEqual([
      'https://countersign.example',
      '/console/',
      '',
      '#/sign-in/csl_acme_x',
    ])
  })
})

type Headers = Readonly<Record<string, string>>

function isRefused(method: string, headers: Headers, raw: readonly string[] = []): boolean {
  const rawHeaders = [...Object.entries(headers).flat(), ...raw]
  try {
    requireSameOrigin({ method, headers, raw: { rawHeaders } } as unknown as FastifyRequest, SITE)
    return false
  } catch (error) {
    expect(error).toMatchObject({ code: 'foreign_origin' })
    return true
  }
}

const OURS = 'https://countersign.example'
const FOREIGN = [
  'https://evil.example',
  'https://countersign.example.evil.example',
  'https://evil.countersign.example',
  'http://countersign.example',
  'https://countersign.example:8443',
  'https://COUNTERSIGN.example',
  'https://countersign.example/',
  'http://127.0.0.1:8787',
  'null',
  '',
]

describe('what changes something', () => {
  it.each([
    ['from our page', { origin: OURS, 'sec-fetch-site': 'same-origin' }, false],
    ['from our page in a browser without Sec-Fetch-Site', { origin: OURS }, false],
    ['without a word of where from', {}, true],
    ['with Sec-Fetch-Site only', { 'sec-fetch-site': 'same-origin' }, true],
    ['with a Referer only', { referer: `${OURS}/console/` }, true],
    ['from a sister site with our Origin', { origin: OURS, 'sec-fetch-site': 'same-site' }, true],
    ['from another site with our Origin', { origin: OURS, 'sec-fetch-site': 'cross-site' }, true],
    ['by hand', { origin: OURS, 'sec-fetch-site': 'none' }, true],
    ['with a Sec-Fetch-Site nobody knows', { origin: OURS, 'sec-fetch-site': 'SAME-ORIGIN' }, true],
    [
      'by a form of another site, as a navigation',
      { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
      true,
    ],
  ] as const)('%s', (_, headers, refused) => {
    for (const method of ['POST', 'DELETE', 'PUT', 'PATCH', 'post'])
      expect(isRefused(method, headers as Headers), method).toBe(refused)
  })

  it.each(FOREIGN)('a request with Origin %j is refused', (origin) => {
    expect(isRefused('POST', { origin, 'sec-fetch-site': 'same-origin' })).toBe(true)
    expect(isRefused('DELETE', { origin })).toBe(true)
  })

  it('a request with two Origin headers is refused, though Node.js shows only the first', () => {
    expect(isRefused('POST', { origin: OURS }, ['Origin', 'https://evil.example'])).toBe(true)
  })

  it("a request passes with exactly the gateway's Origin and only same-origin in Sec-Fetch-Site", () => {
    const word = fc.constantFrom('same-origin', 'same-site', 'cross-site', 'none', 'x', undefined)
    const origin = fc.oneof(fc.constantFrom(OURS, ...FOREIGN), fc.webUrl(), fc.constant(undefined))
    const mode = fc.constantFrom('navigate', 'cors', 'no-cors', undefined)
    fc.assert(
      fc.property(fc.constantFrom('POST', 'DELETE'), origin, word, mode, (method, from, site, how) => {
        const headers = Object.entries({ origin: from, 'sec-fetch-site': site, 'sec-fetch-mode': how })
        const given = Object.fromEntries(headers.filter(([, value]) => value !== undefined)) as Headers
        const right = from === OURS && (site === undefined || site === 'same-origin')
        expect(isRefused(method, given)).toBe(!right)
      }),
      { numRuns: runs(2_000) },
    )
  })
})

describe('what only reads', () => {
  it.each([
    ['from our page', { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' }, false],
    ['typed by hand', { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }, false],
    ['from our page, which says so itself', { origin: OURS, 'sec-fetch-site': 'same-origin' }, false],
    [
      'by the browser itself, ahead of its person',
      { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'no-cors' },
      false,
    ],
    ['by a browser that says nothing', {}, false],
    ['by a link of another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }, false],
    ['by a script of another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }, true],
    ['as an image of another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }, true],
    ['by a script of a sister site', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' }, true],
    ['from another site, without mode', { 'sec-fetch-site': 'cross-site' }, true],
    ['with the Origin of another site', { origin: 'https://evil.example' }, true],
  ] as const)('%s', (_, headers, refused) => {
    for (const method of ['GET', 'HEAD']) expect(isRefused(method, headers as Headers), method).toBe(refused)
  })
})
