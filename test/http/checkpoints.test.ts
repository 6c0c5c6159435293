// @store each, in the soak
import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { SETTINGS } from '../../src/settings/settings.ts'
import type { CheckpointList, VerifierKeys } from '../../src/contract/checkpoint.ts'
import { openCheckpoint } from '../../src/domain/checkpoint.ts'
import { verifyEvidence } from '../../src/evidence/verify.ts'
import { makeCheckpoint } from '../../src/gateway/jobs/checkpoints.ts'
import { ownSecrets } from '../../src/gateway/jobs/own-secrets.ts'
import { agentWorld, ann, bot, world } from '../agent-world.ts'
import { type Answer, call, HASH, HOUR, MINUTE, newTask, openWorld } from '../gateway-fixture.ts'
import { until } from '../until.ts'
import { inPieces } from '../backup/file-of.ts'

/** Signed checkpoints of evidence (docs/evidence.md), end to end. */

agentWorld({ checkpointEveryMs: 10 })

const list = (query = ''): Promise<Answer<CheckpointList>> =>
  world.admin('GET', `checkpoints?tenant=acme${query}`)
const allow = (): Promise<unknown> => bot.submit(newTask(), { tool_name: 't', payload: {} })
/** The export as an auditor gets it. */
async function* exported(): AsyncGenerator<Uint8Array> {
  const { text } = await world.admin('GET', 'evidence?tenant=acme')
  yield Buffer.from(text)
}
/** Everything that is written is signed. */
async function signed(): Promise<CheckpointList> {
  const count = (await world.evidence()).length
  await until(async () => (await list()).body.checkpoints[0]?.size === count)
  return (await list()).body
}

describe('GET /api/admin/checkpoints', () => {
  it('the newest covers all evidence, signed by the published key', async () => {
    for (let i = 0; i < 5; i++) await allow()
    const { origin, verifier_key, checkpoints } = await signed()
    const [newest] = checkpoints
    expect(origin).toMatch(/^countersign\/[0-9a-f]{16}\/acme$/)
    expect(openCheckpoint(newest?.note ?? '', verifier_key)).toEqual({
      origin,
      size: newest?.size,
      root: newest?.root,
      at: newest?.at,
    })
    const keys = await call<VerifierKeys>(`${world.url}/.well-known/countersign/keys`, 'GET')
    expect(keys.status).toBe(200)
    const raw = Buffer.from(verifier_key.split('+').slice(2).join('+'), 'base64').subarray(1)
    expect(keys.body).toEqual({
      origin: origin.slice(0, -'acme'.length),
      keys: [{ alg: 'Ed25519', public_key: raw.toString('base64') }],
    })
    expect(keys.text).not.toContain('acme')
  })

  it('the export agrees with every checkpoint that the gateway ever returned', async () => {
    const notes: string[] = []
    for (let i = 0; i < 4; i++) {
      await allow()
      notes.push((await signed()).checkpoints[0]?.note ?? '')
    }
    const { verifier_key } = await signed()
    const verdict = await verifyEvidence(exported(), { notes, verifierKeys: [verifier_key], receipts: [] })
    expect(verdict.faults).toEqual([])
    expect(verdict.signed?.size).toBe(verdict.records)
  })

  it('keeps the last one of each hour, in pages, and skips hours without evidence', async () => {
    world.clock.advance(HOUR - (world.clock.now % HOUR))
    const before = (await list()).body.checkpoints.length
    const sizes: number[] = []
    for (const pause of [60 * MINUTE, 70 * MINUTE, 3 * HOUR]) {
      await allow()
      await signed()
      await allow()
      sizes.unshift((await signed()).checkpoints[0]?.size ?? 0)
      world.clock.advance(pause)
    }
    const { body } = await list()
    expect(body.checkpoints.map(({ size }) => size).slice(0, 3)).toEqual(sizes)
    expect(body.checkpoints).toHaveLength(before + 3)
    const { body: page } = await list(`&limit=1&before=${sizes[0]}`)
    expect(page.checkpoints.map(({ size }) => size)).toEqual([sizes[1]])
  })

  it('continues with the same key and the same tree after a restart', async () => {
    const before = await signed()
    await world.restart()
    await allow()
    const after = await signed()
    expect([after.origin, after.verifier_key]).toEqual([before.origin, before.verifier_key])
    const notes = [before, after].map(({ checkpoints }) => checkpoints[0]?.note ?? '')
    const proofs = { notes, verifierKeys: [after.verifier_key], receipts: [] }
    expect((await verifyEvidence(exported(), proofs)).faults).toEqual([])
  })

  it('the configured key signs in place of the stored one; after a rotation both keys cover one history', async () => {
    const own = await openWorld({ checkpointEveryMs: 10 })
    try {
      const agent = await own.agent()
      const newest = async (): Promise<{ note: string; key: string }> => {
        await agent.submit(newTask(), { tool_name: 't', payload: {} })
        const count = (await own.evidence()).length
        const asked = (): Promise<Answer<CheckpointList>> => own.admin('GET', 'checkpoints?tenant=acme')
        await until(async () => (await asked()).body.checkpoints[0]?.size === count)
        const { verifier_key, checkpoints } = (await asked()).body
        return { note: checkpoints[0]?.note ?? '', key: verifier_key }
      }
      const pem = (): string =>
        generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
      const made = [await newest()]
      const warned = (): number =>
        own.logged.filter((line) => line.includes('a different key signed') && line.includes('"acme"')).length
      for (const [i, signingKey] of [pem(), pem()].entries()) {
        expect(warned()).toBe(i)
        await own.restart({ signingKey: SETTINGS.signingKey.parse(signingKey) })
        made.push(await newest())
        // who forgot to give a gateway its key hears of it; once for each change
        await newest()
        await until(() => warned() > i)
        expect(warned()).toBe(i + 1)
      }
      expect(new Set(made.map(({ key }) => key)).size).toBe(3)
      const { text } = await own.admin('GET', 'evidence?tenant=acme')
      const notes = made.map(({ note }) => note)
      const verify = (verifierKeys: string[]) =>
        verifyEvidence(inPieces(text, 1_000), { notes, verifierKeys, receipts: [] })
      expect((await verify(made.map(({ key }) => key))).faults).toEqual([])
      expect((await verify(made.slice(1).map(({ key }) => key))).faults).toEqual([
        { property: 'signature', text: 'checkpoint 1 is not signed by this key' },
      ])
    } finally {
      await own.close()
    }
  })

  it('signs no tree that is larger than the evidence, and logs it', async () => {
    const own = await openWorld({ checkpointEveryMs: 10 })
    try {
      const agent = await own.agent()
      const asked = (): Promise<Answer<CheckpointList>> => own.admin('GET', 'checkpoints?tenant=acme')
      const newest = async (): Promise<number | undefined> => (await asked()).body.checkpoints[0]?.size
      await until(async () => (await newest()) === (await own.evidence()).length)
      const size = await newest()
      const { store } = own.app.deps
      const known = await store.get('acme', 'tree', 'head')
      const write = (commitId: string, body: string) =>
        store.commit('acme', {
          commitId,
          deadline: Infinity,
          guards: [],
          writes: [{ op: 'put', type: 'tree', id: 'head', body }],
          events: [],
        })
      const ahead = JSON.stringify({ size: 1_000, frontier: Array.from({ length: 6 }, () => HASH) })
      await write('ahead', ahead)
      await agent.submit(newTask(), { tool_name: 't', payload: {} })
      const said = 'has 1000 records, but the store has fewer'
      await until(() => own.logged.some((line) => line.includes(said)))
      expect(await newest()).toBe(size)
      await write('mended', known?.body ?? '')
      await until(async () => (await newest()) === (await own.evidence()).length)
    } finally {
      await own.close()
    }
  })

  it('two instances that sign at once agree, and lose no record', async () => {
    const { deps } = world.app
    const own = await ownSecrets({
      store: deps.store,
      random: (bytes) => deps.random(bytes),
      commitId: () => deps.nextCommitId(),
      deadlineMs: 10_000,
      deployment: undefined,
      adminKey: undefined,
      signingKey: undefined,
    })
    for (let round = 0; round < 10; round++) {
      await allow()
      const made = await Promise.all(Array.from({ length: 4 }, () => makeCheckpoint(deps, own.log, 'acme')))
      expect(new Set(made.map(({ size }) => size)).size).toBe(1)
    }
    const { checkpoints, verifier_key } = await signed()
    const proofs = { notes: [checkpoints[0]?.note ?? ''], verifierKeys: [verifier_key], receipts: [] }
    expect((await verifyEvidence(exported(), proofs)).faults).toEqual([])
  })

  it('is for the admin key and for the admin role in its own tenant; a tenant without evidence has no checkpoint', async () => {
    const ask = async (tenant: string, headers: Record<string, string>): Promise<number> =>
      (await call(`${world.url}/api/admin/checkpoints?tenant=${tenant}`, 'GET', { headers })).status
    const ben = await world.reviewer('ben')
    expect([await ask('acme', ann.credentials()), await ask('globex', ann.credentials())]).toEqual([200, 404])
    expect([await ask('acme', ben.credentials()), await ask('acme', {})]).toEqual([403, 401])
    const { body } = await world.admin<CheckpointList>('GET', 'checkpoints?tenant=nobody')
    expect(body.checkpoints).toEqual([])
    expect((await world.admin('GET', 'checkpoints?tenant=No')).status).toBe(400)
    const system = await world.admin<CheckpointList>('GET', 'checkpoints?tenant=_system')
    expect(system.body.checkpoints[0]?.size).toBeGreaterThan(0)
  })
})
