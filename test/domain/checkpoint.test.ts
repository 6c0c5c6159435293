import { createPublicKey, generateKeyPairSync, hash, sign } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  type Checkpoint,
  openCheckpoint,
  readVerifierKey,
  signCheckpoint,
  signingKeyInPem,
  signingKeyOf,
  verifierKey,
} from '../../src/domain/checkpoint.ts'

/** C2SP signed-note and tlog-checkpoint. */

const key = signingKeyOf(Buffer.alloc(32, 7))
const CHECKPOINT: Checkpoint = {
  origin: 'countersign/1a2b/acme',
  size: 20852163,
  root: '0f'.repeat(32),
  at: '2026-11-20T12:00:00.000Z',
}
const note = signCheckpoint(CHECKPOINT, key)
const verifier = verifierKey(CHECKPOINT.origin, key.public)

describe('a checkpoint', () => {
  it('is four lines of text, an empty line, and a signature', () => {
    expect(note).toMatch(
      /^countersign\/1a2b\/acme\n20852163\nDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8=\ntime 2026-11-20T12:00:00\.000Z\n\n— countersign\/1a2b\/acme [A-Za-z0-9+/]{91}=\n$/,
    )
    expect(verifier).toMatch(/^countersign\/1a2b\/acme\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}$/)
  })

  it('opens with its key, and with no other name or key', () => {
    expect(openCheckpoint(note, verifier)).toEqual(CHECKPOINT)
    const stranger = signingKeyOf(Buffer.alloc(32, 8))
    expect(openCheckpoint(note, verifierKey(CHECKPOINT.origin, stranger.public))).toBeUndefined()
    expect(openCheckpoint(note, verifierKey('countersign/1a2b/globex', key.public))).toBeUndefined()
    const cosigned = note + '— somebody AAAA\n'
    expect(openCheckpoint(cosigned, verifier)).toEqual(CHECKPOINT)
  })

  it('does not open when any byte of it has changed', () => {
    const bytes = Buffer.from(note)
    const opened: string[] = []
    for (let at = 0; at < bytes.length; at++)
      for (let bit = 0; bit < 8; bit++) {
        const changed = Buffer.from(bytes)
        changed[at] = (bytes[at] ?? 0) ^ (1 << bit)
        const text = changed.toString('utf8')
        if (openCheckpoint(text, verifier) !== undefined) opened.push(`${at}.${bit} of ${bytes.length}`)
      }
    expect(opened).toEqual([])
  })

  it.each([
    ['nothing', ''],
    ['no signature', note.split('\n\n')[0] ?? ''],
    ['no line end', note.slice(0, -1)],
    ['a key that is none', 'x'],
  ])('%s is refused', (_, text) => {
    expect(openCheckpoint(text, verifier)).toBeUndefined()
    expect(openCheckpoint(note, text)).toBeUndefined()
  })

  it('does not open with an invalid size, root or time, although the key has signed it', () => {
    for (const odd of [{ size: -1 }, { size: 1.5 }, { root: '0f' }, { at: 'soon' }, { at: '2026-11-20' }])
      expect(openCheckpoint(signCheckpoint({ ...CHECKPOINT, ...odd }, key), verifier)).toBeUndefined()
  })
})

describe('a checkpoint of another log', () => {
  it('does not open, although the key has signed it under its own name', () => {
    const text = note.slice(0, note.indexOf('\n\n') + 1)
    const id = Buffer.from(verifier.split('+')[1] ?? '', 'hex')
    const signedByHand = (signed: string): string => {
      const bytes = Buffer.concat([id, sign(null, Buffer.from(signed), key.private)])
      return `${signed}\n— ${CHECKPOINT.origin} ${bytes.toString('base64')}\n`
    }
    expect(signedByHand(text)).toBe(note)
    expect(openCheckpoint(signedByHand(text.replace('acme', 'globex')), verifier)).toBeUndefined()
  })
})

/** C2SP signed-note: the first four bytes of SHA-256(name, line end, type, key), and base64 of type and key. */
function written(name: string, type: number, publicKey: Uint8Array): string {
  const typed = Buffer.concat([Buffer.of(type), publicKey])
  const id = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), typed]), 'hex').slice(0, 8)
  return `${name}+${id}+${typed.toString('base64')}`
}

describe('a verifier key', () => {
  /** The key of Go's checksum database, as golang.org/x/mod writes it. */
  const GO = 'sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8'
  const go = readVerifierKey(GO)

  it('has the format of other implementations, in both directions', () => {
    expect(go?.name).toBe('sum.golang.org')
    expect(verifierKey('sum.golang.org', go?.public ?? Buffer.alloc(0))).toBe(GO)
    expect(written('sum.golang.org', 1, go?.public ?? Buffer.alloc(0))).toBe(GO)
    expect(readVerifierKey(`  ${GO}\n`)).toEqual(go)
  })

  it.each([
    ['no name', written('', 1, key.public)],
    ['a name with a space', written('a log', 1, key.public)],
    ['another id', GO.replace('033de0ae', '033de0af')],
    ['an id in capitals', GO.replace('033de0ae', '033DE0AE')],
    ['another key', GO.replace('OuAn8', 'OuAn9')],
    ['another type', written('log', 2, key.public)],
    ['another type, under the id of this one', verifierKey('log', key.public).replace('+A', '+B')],
    ['a key that is too short', written('log', 1, key.public.subarray(1))],
    ['a key that is too long', written('log', 1, Buffer.concat([key.public, Buffer.of(0)]))],
    ['something behind it', `${GO}+`],
    ['one part', 'sum.golang.org'],
    ['two parts', 'sum.golang.org+033de0ae'],
  ])('is refused with %s', (_, text) => {
    expect(text).not.toBe(GO)
    expect(readVerifierKey(text)).toBeUndefined()
    expect(openCheckpoint(note, text)).toBeUndefined()
  })
})

describe('a key in PEM', () => {
  const pem = key.private.export({ format: 'pem', type: 'pkcs8' })

  it('yields the same key when it is read back', () => {
    const read = signingKeyInPem(pem.toString())
    expect(read?.public).toEqual(key.public)
    expect(read && openCheckpoint(signCheckpoint(CHECKPOINT, read), verifier)).toEqual(CHECKPOINT)
  })

  it.each([
    ['nothing', ''],
    ['something else', 'a key'],
    ['a public key', createPublicKey(key.private).export({ format: 'pem', type: 'spki' }).toString()],
    [
      'another kind of key',
      generateKeyPairSync('x25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    ],
    [
      'one that is locked',
      key.private.export({ format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'p' }).toString(),
    ],
  ])('%s is refused', (_, text) => {
    expect(signingKeyInPem(text)).toBeUndefined()
  })
})
