import { createHash } from 'node:crypto'
import { signingKeyOf, type SigningKey } from '../../domain/checkpoint.ts'
import type { Store } from '../../store/store.ts'
import type { LogIdentity } from '../jobs/checkpoints.ts'
import { read, put, SYSTEM, unchanged } from './records.ts'

/** Secrets that the gateway generates once, when the store is new. */
export interface OwnSecrets {
  /** SHA-256 of the admin key in force. */
  readonly adminKeyHash: Uint8Array
  /** The generated admin key, to print once; present only in the start that generated it. */
  readonly newAdminKey?: string
  readonly commitments: Uint8Array
  readonly log: LogIdentity
}

export interface SecretSources {
  readonly store: Store
  readonly random: (bytes: number) => Uint8Array
  readonly commitId: () => string
  readonly deadlineMs: number
  /** The admin key of the configuration; it always overrides a generated one. */
  readonly adminKey: string | undefined
  /**
   * The configured key that signs evidence. With a configured key, someone who steals the store does not get a signing
   * key.
   */
  readonly signingKey: SigningKey | undefined
}

const SECRET_BYTES = 32
const LOG_NAME_BYTES = 8

/**
 * Reads the gateway's own secrets, or generates them. Two instances that start at the same time agree on the secrets,
 * because the first commit wins.
 */
export async function ownSecrets(sources: SecretSources): Promise<OwnSecrets> {
  const fresh = (): string => Buffer.from(sources.random(SECRET_BYTES)).toString('base64url')
  const commitments = await readOrMake(sources, 'commitments', fresh())
  const key = sources.signingKey ?? (await storedKey(sources, fresh()))
  const name = await readOrMake(sources, 'log', Buffer.from(sources.random(LOG_NAME_BYTES)).toString('hex'))
  const own = {
    commitments: Buffer.from(commitments.value, 'base64url'),
    log: { name: name.value, key },
  }
  if (sources.adminKey !== undefined) {
    return { adminKeyHash: hashOf(sources.adminKey), ...own }
  }
  const generated = `csa_${fresh()}`
  const admin = await readOrMake(sources, 'admin', hashOf(generated).toString('hex'))
  return {
    adminKeyHash: Buffer.from(admin.value, 'hex'),
    ...(admin.made ? { newAdminKey: generated } : {}),
    ...own,
  }
}

async function storedKey(sources: SecretSources, fresh: string): Promise<SigningKey> {
  const seed = await readOrMake(sources, 'signing', fresh)
  return signingKeyOf(Buffer.from(seed.value, 'base64url'))
}

async function readOrMake(
  { store, commitId, deadlineMs }: SecretSources,
  id: string,
  value: string,
): Promise<{ value: string; made: boolean }> {
  const known = await read(store, SYSTEM, 'secret', id)
  if (known) return { value: known.value.value, made: false }
  const result = await store.commit(SYSTEM, {
    commitId: commitId(),
    deadline: store.now() + deadlineMs,
    guards: [unchanged('secret', id, undefined)],
    writes: [put('secret', id, { value })],
    events: [],
  })
  if (result.ok) return { value, made: true }
  const theirs = await read(store, SYSTEM, 'secret', id)
  if (theirs === undefined) throw new Error(`the store did not keep the secret \`${id}\``)
  return { value: theirs.value.value, made: false }
}

function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}
