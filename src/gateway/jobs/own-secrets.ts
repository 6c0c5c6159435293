import { signingKeyOf, type SigningKey } from '../../domain/checkpoint.ts'
import type { Store } from '../../store/store.ts'
import type { LogIdentity } from './checkpoints.ts'
import { adminKeyHash, type AdminKeys, openAdminKeys } from '../core/admin-keys.ts'
import { read, put, SYSTEM, unchanged } from '../core/records.ts'

/** Secrets that the gateway generates once, when the store is new. */
export interface OwnSecrets {
  readonly adminKeys: AdminKeys
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
  /** The name of the deployment. */
  readonly deployment: string | undefined
  /** The admin key of the configuration. A store that knows another key is refused (admin-keys.ts). */
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
  // before anything else, so that a gateway of another deployment changes nothing here
  const admin = await adminKeysOf(sources)
  const commitments = await readOrMake(sources, 'commitments', fresh(sources))
  const key = sources.signingKey ?? (await storedKey(sources, fresh(sources)))
  const name = await readOrMake(sources, 'log', Buffer.from(sources.random(LOG_NAME_BYTES)).toString('hex'))
  return {
    ...admin,
    commitments: Buffer.from(commitments.value, 'base64url'),
    log: { name: name.value, key },
  }
}

const fresh = ({ random }: SecretSources): string => Buffer.from(random(SECRET_BYTES)).toString('base64url')

/** The keys of the store. Only a store that knows no key gets a generated one. */
async function adminKeysOf(sources: SecretSources): Promise<Pick<OwnSecrets, 'adminKeys' | 'newAdminKey'>> {
  const { adminKey, deployment } = sources
  if (adminKey !== undefined) {
    const adminKeys = await openAdminKeys(sources, adminKeyHash(adminKey), { configured: true, deployment })
    return { adminKeys }
  }
  const known = await read(sources.store, SYSTEM, 'admin', 'key')
  const generated = `csa_${fresh(sources)}`
  const admin =
    known === undefined
      ? await readOrMake(sources, 'admin', adminKeyHash(generated))
      : { value: known.value.key_hash, made: false }
  const adminKeys = await openAdminKeys(sources, admin.value, { configured: false, deployment })
  return { adminKeys, ...(admin.made && adminKeys.accepts(generated) ? { newAdminKey: generated } : {}) }
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
