import { createHmac, randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { composeSecret, sign } from '../../src/webhooks/signature.ts'

const secret = composeSecret(randomBytes(32))
const now = Math.floor(Date.now() / 1_000)
const message = { id: 'whd_01', seconds: now, body: '{"type":"review.approved","text":"Grüße 👍"}' }

describe('the signature of a delivery', () => {
  it('is the header of the contract: HMAC-SHA256 over the raw body with the secret as its key', () => {
    const expected = createHmac('sha256', secret).update(Buffer.from(message.body, 'utf8')).digest('hex')
    expect(sign(message, [secret])['x-guard-signature']).toBe(`sha256=${expected}`)
  })

  it('is accepted by the official verifier of Standard Webhooks, with either secret during a rotation', () => {
    const next = composeSecret(randomBytes(32))
    for (const secrets of [[secret], [next, secret], [secret, next]])
      for (const known of secrets)
        expect(new Webhook(known).verify(message.body, sign(message, secrets))).toEqual(
          JSON.parse(message.body),
        )
    expect(() =>
      new Webhook(composeSecret(randomBytes(32))).verify(message.body, sign(message, [secret])),
    ).toThrow()
  })

  it('covers the sending time, so that an old one is refused', () => {
    for (const seconds of [now - 301, now + 400]) {
      const headers = sign({ ...message, seconds }, [secret])
      expect(() => new Webhook(secret).verify(message.body, headers)).toThrow()
    }
  })
})
