import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { composeCredential, type CredentialKind } from '../../../src/domain/credential.ts'
import type { Deps } from '../../../src/gateway/core/deps.ts'
import { sendersOf } from '../../../src/http/admission/request.ts'

const key = (kind: CredentialKind, tenant: string, fill = 1): string =>
  composeCredential(kind, new Uint8Array(32).fill(fill), tenant)
const SEEN = key('agent', 'acme')
const ADMIN_KEY = 'any string of at least 32 characters'

const gateway = {
  keys: new Map([[SEEN, { tenant: 'acme', id: 'bot', via: 'key', keyHash: 'hash-of-seen', keyRevision: 1 }]]),
  policies: { current: () => ({ directory: { tenants: new Map([['acme', {}]]) } }) },
} as unknown as Deps
const adminKeys = {
  accepts: (given: string): boolean => given === ADMIN_KEY,
  refresh: () => Promise.resolve(),
}

const of = (headers: IncomingMessage['headers'], url = '/api/agent/decisions') =>
  sendersOf({ gateway, adminKeys })({ headers, url } as IncomingMessage)
const bearer = (text: string) => ({ authorization: `Bearer ${text}` })

describe('the sender that a request counts for before its credential is checked', () => {
  it('a known key counts for its tenant, and its late bodies for itself', () => {
    expect(of(bearer(SEEN))).toEqual({ tenant: 'acme', holder: 'hash-of-seen' })
  })

  it.each([
    ['another key of an agent', bearer(key('agent', 'acme', 2))],
    ['a key of a reviewer', bearer(key('reviewer', 'acme'))],
    ['a session', { cookie: `theme=dark; __Host-countersign=${key('session', 'acme')}` }],
    ['a forged key', bearer(`csk_acme_${'A'.repeat(49)}`)],
    ['the seen key with something behind it', bearer(`${SEEN}x`)],
  ])('%s counts for the claimed tenant, apart from known keys', (_, headers) => {
    expect(of(headers)).toEqual({ tenant: '?acme', holder: '?acme' })
  })

  it.each([
    ['no credential', {}],
    ['a tenant that no directory names', bearer(key('agent', 'nowhere'))],
    ['a key that is cut', bearer(SEEN.slice(0, 30))],
    ['something else', bearer('x'.repeat(40))],
    ['the admin key where it opens nothing', bearer(ADMIN_KEY)],
    ['another admin key', bearer(`${ADMIN_KEY}.`)],
  ])('%s counts for strangers, who share one sender', (_, headers) => {
    expect(of(headers)).toEqual({ tenant: '?', holder: '?' })
  })

  it('the admin key counts for the administrator', () => {
    expect(of(bearer(ADMIN_KEY), '/api/admin/policies').tenant).toBe('!')
    expect(of(bearer(`${ADMIN_KEY}.`), '/api/admin/policies').tenant).toBe('?')
  })
})
