import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto'

/**
 * Checkpoints of evidence (docs/evidence.md): C2SP tlog-checkpoint in a C2SP signed note, with Ed25519. The origin
 * names a tenant's log; it is also the name of its key.
 */
export interface Checkpoint {
  readonly origin: string
  /** Number of records. */
  readonly size: number
  /** Merkle tree hash of the records 1 to `size` (RFC 6962), lowercase hex. */
  readonly root: string
  /** Time of signing, RFC 3339. This time is the only extension line. */
  readonly at: string
}

export interface SigningKey {
  readonly private: KeyObject
  /** The 32 bytes of RFC 8032. */
  readonly public: Uint8Array
}

const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')
const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex')
/** C2SP signed-note: the type of an Ed25519 key. */
const ED25519 = 0x01
const KEY_ID_BYTES = 4
const TIME = 'time '

export function signingKeyOf(seed: Uint8Array): SigningKey {
  return withPublic(
    createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: 'der', type: 'pkcs8' }),
  )
}

/**
 * Reads the key from a string in the format of `openssl genpkey -algorithm ed25519`. Returns undefined for another kind
 * of key, and for any other text.
 */
export function signingKeyInPem(pem: string): SigningKey | undefined {
  try {
    const key = createPrivateKey({ key: pem, format: 'pem' })
    return key.asymmetricKeyType === 'ed25519' ? withPublic(key) : undefined
  } catch {
    return undefined
  }
}

function withPublic(key: KeyObject): SigningKey {
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' })
  return { private: key, public: spki.subarray(SPKI_HEAD.length) }
}

/** The signed note: text, an empty line, the signature. */
export function signCheckpoint(checkpoint: Checkpoint, key: SigningKey): string {
  const text = textOf(checkpoint)
  const signature = sign(null, Buffer.from(text), key.private)
  const line = Buffer.concat([keyId(checkpoint.origin, key.public), signature]).toString('base64')
  return `${text}\n— ${checkpoint.origin} ${line}\n`
}

function textOf({ origin, size, root, at }: Checkpoint): string {
  return `${origin}\n${size}\n${Buffer.from(root, 'hex').toString('base64')}\n${TIME}${at}\n`
}

/**
 * The verifier key (C2SP signed-note, `<name>+<key id>+<base64 of type and key>`), which auditors receive once over a
 * secure channel.
 */
export function verifierKey(origin: string, publicKey: Uint8Array): string {
  const id = keyId(origin, publicKey).toString('hex')
  return `${origin}+${id}+${Buffer.concat([Buffer.of(ED25519), publicKey]).toString('base64')}`
}

/** The checkpoint in a note that this key signed; otherwise undefined. */
export function openCheckpoint(note: string, verifier: string): Checkpoint | undefined {
  const key = readVerifierKey(verifier)
  const [text, signatures] = splitNote(note)
  if (key === undefined || text === undefined) return undefined
  const id = keyId(key.name, key.public)
  const signed = signatures.some((line) => {
    const bytes = signatureIn(line, key.name)
    if (bytes === undefined || !bytes.subarray(0, KEY_ID_BYTES).equals(id)) return false
    return verify(null, Buffer.from(text), publicKeyOf(key.public), bytes.subarray(KEY_ID_BYTES))
  })
  const checkpoint = signed ? readText(text) : undefined
  return checkpoint?.origin === key.name ? checkpoint : undefined
}

function splitNote(note: string): readonly [text: string | undefined, signatures: readonly string[]] {
  const end = note.lastIndexOf('\n\n')
  if (end < 0 || !note.endsWith('\n')) return [undefined, []]
  return [note.slice(0, end + 1), note.slice(end + 2, -1).split('\n')]
}

function signatureIn(line: string, name: string): Buffer | undefined {
  const head = `— ${name} `
  if (!line.startsWith(head)) return undefined
  const text = line.slice(head.length)
  const bytes = Buffer.from(text, 'base64')
  // Base64 has several spellings of the same bytes, but only one is accepted.
  return bytes.toString('base64') === text ? bytes : undefined
}

const ROOT = /^[A-Za-z0-9+/]{43}=$/
const SIZE = /^(?:0|[1-9][0-9]{0,15})$/
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

function readText(text: string): Checkpoint | undefined {
  const [origin = '', size = '', root = '', ...extensions] = text.slice(0, -1).split('\n')
  const time = extensions.find((line) => line.startsWith(TIME))
  if (!SIZE.test(size) || !ROOT.test(root) || time === undefined) return undefined
  if (!RFC_3339.test(time.slice(TIME.length))) return undefined
  return {
    origin,
    size: Number(size),
    root: Buffer.from(root, 'base64').toString('hex'),
    at: time.slice(TIME.length),
  }
}

/**
 * C2SP signed-note: no space and no plus in the name; 44 characters of base64 are one byte for the type and 32 for the
 * key.
 */
const VERIFIER_KEY = /^([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})$/

/** The origin of the log and the 32 bytes of RFC 8032 in a verifier key. Returns undefined for a malformed key. */
export function readVerifierKey(
  text: string,
): { readonly name: string; readonly public: Uint8Array } | undefined {
  const [, name = '', id, key = ''] = VERIFIER_KEY.exec(text.trim()) ?? []
  const bytes = Buffer.from(key, 'base64')
  const publicKey = bytes.subarray(1)
  if (bytes[0] !== ED25519 || keyId(name, publicKey).toString('hex') !== id) return undefined
  return { name, public: publicKey }
}

function keyId(name: string, publicKey: Uint8Array): Buffer {
  const named = Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(ED25519), publicKey])
  return hash('sha256', named, 'buffer').subarray(0, KEY_ID_BYTES)
}

function publicKeyOf(bytes: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.concat([SPKI_HEAD, bytes]), format: 'der', type: 'spki' })
}
