import { posix } from 'node:path'
import { parse } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mailDomain, normalPath, urlHost, urlOrigin } from '../../../src/policy/language/addresses.ts'
import { rounds } from '../../runs.ts'
import { textsOf } from '../../texts.ts'

/**
 * Every other reader agrees on the texts that our functions read: both parsers of Node, the grammar of RFC 3986, and
 * the paths of Node.
 */

const RUNS = rounds({ check: 3_000, short: 3_000, long: 100_000 })

const FRAGMENTS = textsOf('fragments', 'of addresses')
const BASES = textsOf('fragments', 'whole addresses')
const edit = fc.record({ at: fc.nat(), cut: fc.nat(3), put: fc.constantFrom(...FRAGMENTS) })
const texts = fc.tuple(fc.constantFrom(...BASES), fc.array(edit, { maxLength: 3 })).map(([base, edits]) =>
  edits.reduce((before, { at, cut, put }) => {
    const place = at % (before.length + 1)
    return before.slice(0, place) + put + before.slice(place + cut)
  }, base),
)

function over(check: (text: string) => boolean): void {
  let read = 0
  const property = fc.property(texts, (text) => {
    if (check(text)) read++
  })
  fc.assert(property, { numRuns: RUNS })
  expect(read).toBeGreaterThan(RUNS / 50)
}

describe('any variation of a URL', () => {
  it('has the host that every parser finds in it, and never credentials', () => {
    over((text) => {
      const host = urlHost(text)
      if (host === undefined) return false
      const url = new URL(text)
      expect([url.hostname, url.port, url.username, url.password]).toEqual([host, '', '', ''])
      const [, authority = ''] = /^[^:/?#]+:\/\/([^/?#]*)/.exec(text) ?? []
      expect(authority.toLowerCase().replace(/:\d+$/, '')).toBe(host)
      // oxlint-disable-next-line typescript/no-deprecated -- another parser, with faults of its own
      const old = parse(text)
      expect(old.auth).toBeNull()
      expect(old.hostname).toBe(host.replace(/^\[|\]$/g, ''))
      return true
    })
  })

  it('has the origin that every parser finds in it', () => {
    over((text) => {
      const origin = urlOrigin(text)
      if (origin === undefined) return false
      const url = new URL(text)
      expect(origin).toBe(`${url.protocol}//${url.host}`)
      return true
    })
  })
})

describe('any variation of a path', () => {
  it('is the path that Node.js resolves, before and after escapes are decoded', () => {
    over((text) => {
      const path = normalPath(text)
      if (path === undefined) return false
      expect(path).toBe(posix.resolve('/somewhere/else', text))
      expect(decodeURIComponent(text)).toBe(text)
      expect(path.split('/').slice(1)).not.toContain('..')
      return true
    })
  })
})

describe('any variation of a mail address', () => {
  it('has one @, followed by a domain of letters, digits and hyphens', () => {
    over((text) => {
      const domain = mailDomain(text)
      if (domain === undefined) return false
      expect(text).toMatch(/^[^@%!|`"(),:;<>[\\\]\s\p{C}]{1,64}@[A-Za-z0-9.-]+$/u)
      expect(text.split('@')[1]?.toLowerCase()).toBe(domain)
      for (const label of domain.split('.')) expect(label).toMatch(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/)
      const url = `https://${domain}/`
      if (URL.canParse(url)) expect(new URL(url).hostname).toBe(domain)
      return true
    })
  })
})
