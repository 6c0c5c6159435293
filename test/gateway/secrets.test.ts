import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { signingKeyOf } from '../../src/domain/checkpoint.ts'
import { ownSecrets, type SecretSources } from '../../src/gateway/core/own-secrets.ts'
import { openEmbeddedStore } from '../../src/store/embedded/store.ts'
import type { Store } from '../../src/store/store.ts'
import { overriding } from '../gateway-fixture.ts'

/** The gateway's own secrets: made once, never shown twice. */

let directory: string
let store: Store
let made = 0
let commits = 0

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-secrets-'))
  store = await openEmbeddedStore({ path: directory, minFreeBytes: 0 })
  made = 0
})
afterEach(async () => {
  await store.close()
  await rm(directory, { recursive: true, force: true })
})

const sources = (change: Partial<SecretSources> = {}): SecretSources => ({
  store,
  random: (bytes) => Buffer.alloc(bytes, ++made),
  commitId: () => `c${++commits}`,
  deadlineMs: 10_000,
  adminKey: undefined,
  signingKey: undefined,
  ...change,
})
const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()

describe('ownSecrets', () => {
  it('creates an admin key for a new store, returns it once, and keeps only its hash', async () => {
    const first = await ownSecrets(sources())
    expect(first.newAdminKey).toMatch(/^csa_[A-Za-z0-9_-]{43}$/)
    expect(first.adminKeyHash).toEqual(sha256(first.newAdminKey ?? ''))
    const second = await ownSecrets(sources())
    expect(second).not.toHaveProperty('newAdminKey')
    expect(second.adminKeyHash).toEqual(first.adminKeyHash)
    expect(second.commitments).toEqual(first.commitments)
    const record = await store.get('_system', 'secret', 'admin')
    expect(record?.body).not.toContain(first.newAdminKey)
  })

  it('prefers the configured admin key, and does not store it', async () => {
    await ownSecrets(sources())
    const adminKey = 'a configured key of 32 characters or more'
    const { adminKeyHash, newAdminKey } = await ownSecrets(sources({ adminKey }))
    expect(newAdminKey).toBeUndefined()
    expect(adminKeyHash).toEqual(sha256(adminKey))
    expect((await store.get('_system', 'secret', 'admin'))?.body).not.toContain(
      sha256(adminKey).toString('hex'),
    )
  })

  it('prefers the configured signing key to a stored key, and creates no other key', async () => {
    const signingKey = signingKeyOf(Buffer.alloc(32, 9))
    const { log } = await ownSecrets(sources({ signingKey }))
    expect(log.key.public).toEqual(signingKey.public)
    expect(await store.get('_system', 'secret', 'signing')).toBeUndefined()
    const own = await ownSecrets(sources())
    expect([own.log.name, own.log.key.public]).toEqual([
      log.name,
      expect.not.objectContaining(signingKey.public),
    ])
    expect((await ownSecrets(sources({ signingKey }))).log.key.public).toEqual(signingKey.public)
  })

  it('returns the new key to only one of two concurrent starts', async () => {
    const both = await Promise.all([ownSecrets(sources()), ownSecrets(sources())])
    expect(both[0].adminKeyHash).toEqual(both[1].adminKeyHash)
    expect(both[0].commitments).toEqual(both[1].commitments)
    const shown = both.filter((one) => one.newAdminKey !== undefined)
    expect(shown).toHaveLength(1)
    expect(sha256(shown[0]?.newAdminKey ?? '')).toEqual(both[0].adminKeyHash)
  })

  it('fails when the store keeps nothing, so that no key is lost', async () => {
    const forgetful = overriding(store, {
      commit: () => Promise.resolve({ ok: false, reason: 'guard', failed: [0] }),
    })
    await expect(ownSecrets(sources({ store: forgetful }))).rejects.toThrow('did not keep the secret')
  })
})
