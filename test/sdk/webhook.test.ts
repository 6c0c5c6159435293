import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { verifyWebhook, WebhookRefused } from '@countersign/sdk'
import { composeSecret, sign } from '../../src/webhooks/signature.ts'
import { ensureProgram } from '../debian.ts'
import { execFileSync } from '../sync-child.ts'
import { runs } from '../runs.ts'

const secret = composeSecret(randomBytes(32))
const now = 1_790_000_000
const body = JSON.stringify({ id: 'whd_acme_01', type: 'review.approved', message: 'Grüße 👍' })
const headersOf = (secrets = [secret], seconds = now): Record<string, string> => ({
  ...sign({ id: 'whd_acme_01', seconds, body }, secrets),
})
const refused = async (check: Promise<unknown>): Promise<void> => {
  await expect(check).rejects.toBeInstanceOf(WebhookRefused)
}

describe('verifyWebhook', () => {
  it('returns the message of a delivery, from both kinds of headers, as text or bytes', async () => {
    const message = JSON.parse(body) as object
    const headers = headersOf()
    expect(await verifyWebhook(secret, headers, body, { now })).toEqual(message)
    expect(await verifyWebhook(secret, new Headers(headers), Buffer.from(body), { now })).toEqual(message)
    const upper = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    )
    expect(await verifyWebhook([secret], upper, body, { now })).toEqual(message)
  })

  it('reads the headers of other fetch implementations, and headers in lists', async () => {
    const own = new Headers(headersOf())
    const foreign = { get: (name: string) => own.get(name) } as Headers
    expect(await verifyWebhook(secret, foreign, body, { now })).toMatchObject({ id: 'whd_acme_01' })
    const lists = Object.fromEntries(Object.entries(headersOf()).map(([name, value]) => [name, [value]]))
    expect(await verifyWebhook(secret, lists, body, { now })).toMatchObject({ id: 'whd_acme_01' })
    const twice = { ...lists, 'x-guard-signature': ['sha256=00', ...(lists['x-guard-signature'] ?? [])] }
    await refused(verifyWebhook(secret, twice, body, { now }))
  })

  it('accepts either secret during a rotation', async () => {
    const next = composeSecret(randomBytes(32))
    const headers = headersOf([next, secret])
    for (const known of [secret, next, [secret, next]])
      expect(await verifyWebhook(known, headers, body, { now })).toMatchObject({ id: 'whd_acme_01' })
    await refused(verifyWebhook(composeSecret(randomBytes(32)), headers, body, { now }))
  })

  it('refuses a delivery older than five minutes, or as far in the future', async () => {
    for (const seconds of [now - 301, now + 301])
      await refused(verifyWebhook(secret, headersOf([secret], seconds), body, { now }))
    await verifyWebhook(secret, headersOf([secret], now - 300), body, { now })
  })

  it('accepts nothing when the tolerance or the time is not a number', async () => {
    await refused(verifyWebhook(secret, headersOf(), body, { now, toleranceSeconds: Number.NaN }))
    await refused(verifyWebhook(secret, headersOf(), body, { now: Number.NaN }))
  })

  it('refuses a missing, empty or malformed secret, which anyone could have', async () => {
    for (const none of ['', 'whsec_', 'whsec_AAAA', secret.slice('whsec_'.length), ` ${secret}`, undefined]) {
      const headers = headersOf([none ?? ''])
      await expect(verifyWebhook(none as string, headers, body, { now })).rejects.toThrow(
        'a secret is `whsec_` and base64',
      )
    }
  })

  it('refuses a delivery that lacks a header, or whose id differs from its body', async () => {
    for (const name of ['x-guard-signature', 'webhook-id', 'webhook-timestamp', 'webhook-signature']) {
      const { [name]: _, ...rest } = headersOf()
      await refused(verifyWebhook(secret, rest, body, { now }))
    }
    const other = sign({ id: 'whd_acme_02', seconds: now, body }, [secret])
    await refused(verifyWebhook(secret, { ...other }, body, { now }))
  })

  it('refuses a signed body that is not a message, and explains that a body was already parsed', async () => {
    for (const text of ['null', '[]', '{', '"whd_acme_01"']) {
      const signed = sign({ id: 'whd_acme_01', seconds: now, body: text }, [secret])
      await refused(verifyWebhook(secret, { ...signed }, text, { now }))
    }
    for (const parsed of [JSON.parse(body) as unknown, undefined, null])
      await expect(verifyWebhook(secret, headersOf(), parsed as string, { now })).rejects.toThrow(
        new TypeError('the body must be raw, as text or bytes: take it before anything parses it'),
      )
  })

  it('refuses every delivery with one changed bit, over 10,000 changes of body and signatures', async () => {
    const headers = headersOf()
    const targets = [
      'body',
      'x-guard-signature',
      'webhook-signature',
      'webhook-id',
      'webhook-timestamp',
    ] as const
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...targets), fc.nat(4_095), async (target, at) => {
        const bytes = Buffer.from(target === 'body' ? body : (headers[target] ?? ''))
        const bit = at % (bytes.length * 8)
        bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        const changed = target === 'body' ? headers : { ...headers, [target]: bytes.toString('latin1') }
        await refused(verifyWebhook(secret, changed, target === 'body' ? bytes : body, { now }))
      }),
      { numRuns: runs(10_000) },
    )
  })
})

describe('the Python receiver in docs/webhooks.md', () => {
  const docs = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8')
  const code = /```python\n([\s\S]*?)```/.exec(docs)?.[1] ?? ''

  const verify = (headers: object, text: string, { at = now, known = secret } = {}): string => {
    const main = [
      code,
      'import sys',
      'given = json.load(sys.stdin)',
      'try:',
      "    print(verify(given['secret'], given['headers'], given['body'].encode(), now=given['now'])['id'])",
      'except ValueError as problem:',
      "    print('refused')",
    ].join('\n')
    const input = JSON.stringify({ secret: known, headers, body: text, now: at })
    return execFileSync('python3', ['-c', main], { input }).trim()
  }

  it('accepts genuine deliveries, and refuses changed, old or foreign ones', () => {
    ensureProgram('python3', 'python3-minimal')
    expect(code).toContain('def verify')
    expect(verify(headersOf(), body)).toBe('whd_acme_01')
    expect(verify(headersOf(), `${body} `)).toBe('refused')
    expect(verify(headersOf(), body, { at: now + 301 })).toBe('refused')
    expect(verify(headersOf([composeSecret(randomBytes(32))]), body)).toBe('refused')
    const { 'webhook-signature': _, ...rest } = headersOf()
    expect(verify(rest, body)).toBe('refused')
    for (const odd of ['9'.repeat(400), '٣', '²', '', ` ${now}`])
      expect(verify({ ...headersOf(), 'webhook-timestamp': odd }, body)).toBe('refused')
  })

  it('accepts either secret during a rotation, and no empty one', () => {
    const next = composeSecret(randomBytes(32))
    for (const known of [secret, next])
      expect(verify(headersOf([next, secret]), body, { known })).toBe('whd_acme_01')
    expect(verify(headersOf(['']), body, { known: '' })).toBe('refused')
  })
})
