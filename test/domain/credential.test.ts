import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  composeCredential,
  type CredentialKind,
  hashCredential,
  parseCredential,
} from '../../src/domain/credential.ts'
import { sha256 } from '../../src/domain/digest.ts'
import { runs } from '../runs.ts'

const KINDS: readonly CredentialKind[] = ['agent', 'reviewer', 'session', 'link', 'approval']
const secret = fc.uint8Array({ minLength: 32, maxLength: 32 })
const tenant = fc.stringMatching(/^[a-z0-9-]{1,32}$/)

describe('credentials', () => {
  it('credentials contain their tenant, and are recognised only by their own kind', () => {
    fc.assert(
      fc.property(fc.constantFrom(...KINDS), secret, tenant, (kind, bytes, name) => {
        const text = composeCredential(kind, bytes, kind === 'approval' ? undefined : name)
        for (const other of KINDS) {
          const expected = other === kind ? { tenant: kind === 'approval' ? '' : name } : undefined
          expect(parseCredential(other, text)).toEqual(expected)
        }
      }),
    )
  })

  it('credentials differ for different secrets, and are stored as SHA-256', () => {
    fc.assert(
      fc.property(secret, secret, (a, b) => {
        const [one, two] = [composeCredential('agent', a, 'acme'), composeCredential('agent', b, 'acme')]
        expect(one === two).toBe(Buffer.compare(a, b) === 0)
        expect(hashCredential(one)).toBe(sha256(one))
      }),
    )
  })

  it('credentials are invalid when one character is changed, added or removed', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...KINDS),
        secret,
        fc.nat(),
        fc.constantFrom('A', 'b', '0', '_', ' ', '\n'),
        (kind, bytes, at, piece) => {
          const text = composeCredential(kind, bytes, kind === 'approval' ? undefined : 'acme')
          const place = at % text.length
          for (const length of [0, 1]) {
            const changed = text.slice(0, place) + piece + text.slice(place + length)
            if (changed !== text) expect(parseCredential(kind, changed)).toBeUndefined()
          }
          const shorter = text.slice(0, place) + text.slice(place + 1)
          expect(parseCredential(kind, shorter)).toBeUndefined()
          expect(parseCredential(kind, `${text}\n`)).toBeUndefined()
        },
      ),
      { numRuns: runs(2_000) },
    )
  })

  it('cannot be moved to another tenant, because the checksum covers it', () => {
    const text = composeCredential('agent', new Uint8Array(32), 'acme')
    expect(parseCredential('agent', text.replace('_acme_', '_other_'))).toBeUndefined()
  })

  it('credentials have the published form, so that scanners recognise them', () => {
    expect(composeCredential('approval', new Uint8Array(32))).toMatch(/^cst_A{43}[A-Za-z0-9_-]{6}$/)
    expect(composeCredential('agent', new Uint8Array(32), 'acme')).toMatch(/^csk_acme_A{43}[A-Za-z0-9_-]{6}$/)
    expect(composeCredential('reviewer', new Uint8Array(32), 'acme')).toMatch(
      /^csr_acme_A{43}[A-Za-z0-9_-]{6}$/,
    )
  })
})
