import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { signingKeyOf } from '../../../src/domain/checkpoint.ts'
import { rotateAdminKey } from '../../../src/gateway/core/admin-keys.ts'
import { put } from '../../../src/gateway/core/records.ts'
import { ownSecrets, type SecretSources } from '../../../src/gateway/jobs/own-secrets.ts'
import { openEmbeddedStore } from '../../../src/store/embedded/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { overriding } from '../../gateway-fixture.ts'

/** The gateway's own secrets: it makes them once, and never shows them twice. */

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
  deployment: undefined,
  adminKey: undefined,
  signingKey: undefined,
  ...change,
})

const putInstance = (host: string): Promise<unknown> =>
  store.commit('_system', {
    commitId: `c${++commits}`,
    deadline: Infinity,
    guards: [],
    writes: [
      put('instance', host, { host, version: '', started_at: 1, seen_at: 1, load_ok: true, load: 'loaded' }),
      { op: 'index', index: 'instances', member: host, to: 1 },
    ],
    events: [],
  })

describe('ownSecrets', () => {
  it('creates an admin key for a new store, returns it once, and keeps only its hash', async () => {
    const first = await ownSecrets(sources())
    expect(first.newAdminKey).toMatch(/^csa_[A-Za-z0-9_-]{43}$/)
    expect(first.adminKeys.accepts(first.newAdminKey ?? '')).toBe(true)
    expect(first.adminKeys.accepts('another key')).toBe(false)
    const second = await ownSecrets(sources())
    expect(second).not.toHaveProperty('newAdminKey')
    expect(second.adminKeys.accepts(first.newAdminKey ?? '')).toBe(true)
    expect(second.commitments).toEqual(first.commitments)
    const record = await store.get('_system', 'secret', 'admin')
    expect(record?.body).not.toContain(first.newAdminKey)
  })

  it('refuses a configured key that is not the key of the store, and changes nothing', async () => {
    const ours = sources({ adminKey: 'the key of production, of 32 characters', deployment: 'production' })
    const { adminKeys, newAdminKey } = await ownSecrets(ours)
    expect(newAdminKey).toBeUndefined()
    expect(adminKeys.accepts('the key of production, of 32 characters')).toBe(true)
    await putInstance('prod-1')
    const theirs = sources({ adminKey: 'the key of staging, also 32 characters', deployment: 'production' })
    await expect(ownSecrets(theirs)).rejects.toThrow(
      /^another deployment uses this store: the deployment `production`, which last ran on prod-1, has the admin key with SHA-256 [0-9a-f]{8,}, and this gateway one with SHA-256 [0-9a-f]{8,}\. Name this deployment with COUNTERSIGN_DEPLOYMENT, .*`countersign store rotate-admin-key`$/,
    )
    expect((await ownSecrets(ours)).commitments).toBeDefined()
  })

  it('accepts a configured key once for the store of an earlier version, which recorded none', async () => {
    await ownSecrets(sources())
    await store.commit('_system', {
      commitId: 'earlier',
      deadline: Infinity,
      guards: [],
      writes: [{ op: 'delete', type: 'admin', id: 'key' }],
      events: [],
    })
    const adminKey = 'a configured key of 32 characters or more'
    expect((await ownSecrets(sources({ adminKey }))).adminKeys.accepts(adminKey)).toBe(true)
    await expect(ownSecrets(sources({ adminKey: `${adminKey}!` }))).rejects.toThrow('another deployment')
  })

  it('accepts both admin keys during an overlap, and only the new one after it', async () => {
    const time = { now: store.now() }
    const timed = overriding(store, { now: () => time.now })
    const adminKey = 'the first admin key of 32 characters'
    const running = await ownSecrets(sources({ store: timed, adminKey }))
    const { until } = await rotateAdminKey(sources({ store: timed }), 'the second key', 60_000)
    const end = time.now + 60_000
    expect(until).toBe(end)
    expect(running.adminKeys.accepts('the second key')).toBe(false)
    await running.adminKeys.refresh()
    expect(['the second key', adminKey].map((key) => running.adminKeys.accepts(key))).toEqual([true, true])
    await ownSecrets(sources({ store: timed, adminKey }))
    time.now += 60_000
    expect(['the second key', adminKey].map((key) => running.adminKeys.accepts(key))).toEqual([true, false])
    await expect(ownSecrets(sources({ store: timed, adminKey }))).rejects.toThrow('another deployment')
    const [event] = await store.events('_system', 0, 10)
    expect(JSON.parse(event?.body ?? '')).toMatchObject({
      type: 'admin_key.rotated',
      details: { key_name: expect.any(String), old_key_until: new Date(end).toISOString() },
    })
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
    expect(both[0].commitments).toEqual(both[1].commitments)
    const shown = both.filter((one) => one.newAdminKey !== undefined)
    expect(shown).toHaveLength(1)
    for (const { adminKeys } of both) expect(adminKeys.accepts(shown[0]?.newAdminKey ?? '')).toBe(true)
  })

  it('fails when the store keeps nothing, so that no key is lost', async () => {
    const forgetful = overriding(store, {
      commit: () => Promise.resolve({ ok: false, reason: 'guard', failed: [0] }),
    })
    await expect(ownSecrets(sources({ store: forgetful }))).rejects.toThrow('did not keep the secret')
    const adminKey = 'a configured key of 32 characters or more'
    await expect(ownSecrets(sources({ store: forgetful, adminKey }))).rejects.toThrow(
      'did not keep the admin key',
    )
  })
})
