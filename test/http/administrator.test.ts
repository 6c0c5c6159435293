// @store each, in the soak
import { request } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Problem } from '../../src/contract/errors.ts'
import type { FreezeList } from '../../src/contract/freeze.ts'
import type { WebhookList, WebhookSecret } from '../../src/contract/webhook.ts'
import { BUNDLE } from '../bundle.ts'
import { fileWorld, world } from '../agent-world.ts'
import { overriding, type Reviewer } from '../gateway-fixture.ts'
import { until } from '../until.ts'

/**
 * A reviewer with the admin role loses the right while a body is on its way. Credentials arrive first. Bodies arrive up
 * to ten seconds later.
 */

let hook: string
/** How often the store was asked for a credential, and has answered. */
let looked = 0

const allowed = { tenant: 'acme', url: 'https://127.0.0.1:8443/' }

fileWorld({
  config: { webhooksAllow: '127.0.0.1/32:8443' },
  wrapStore: (store) =>
    overriding(store, {
      get: async (...args) => {
        const record = await store.get(...args)
        if (['key', 'session'].includes(args[1])) looked += 1
        return record
      },
    }),
})
beforeAll(async () => {
  hook = (await world.admin<WebhookSecret>('POST', 'webhooks', { body: allowed })).body.id
  await world.admin('POST', `webhooks/${hook}/pause`)
})

/** Asks, and sends the body only when the credential was accepted and `meanwhile` has happened. */
async function ask(
  who: Reviewer,
  path: string,
  body: object,
  meanwhile: () => Promise<unknown>,
): Promise<{ status: number | undefined; problem: Problem }> {
  const text = JSON.stringify(body)
  const headers = {
    ...who.credentials(),
    'content-type': 'application/json',
    'content-length': String(text.length),
  }
  const before = looked
  const asked = request(`${world.url}/api/admin/${path}`, { method: 'POST', headers })
  const answered = new Promise<{ status: number | undefined; problem: Problem }>((resolve, reject) => {
    asked.on('error', reject).on('response', (response) => {
      let said = ''
      response.on('data', (chunk: Buffer) => (said += chunk.toString()))
      response.on('end', () =>
        resolve({ status: response.statusCode, problem: JSON.parse(said || '{}') as Problem }),
      )
    })
  })
  asked.flushHeaders()
  await until(() => looked > before)
  await nextTurn()
  await meanwhile()
  asked.end(text)
  return answered
}

const revoke = (): Promise<unknown> => world.admin('DELETE', 'reviewers/acme/ann/key')
const endSessions = (): Promise<unknown> => world.admin('DELETE', 'reviewers/acme/ann/sessions')
const reason = 'late'

describe('an administrator who loses the right during the request', () => {
  it.each([
    ['freezes nothing', 'freeze', { tenant: 'acme', tool: 't', reason }],
    ['lets nothing go', 'unfreeze', { tenant: 'acme', agent: 'bot', reason }],
    ['registers no webhook', 'webhooks', { ...allowed, payload: 'full' }],
    ['gets no secret', 'rotate-secret', {}],
    ['pings nobody', 'ping', {}],
  ])('401 and %s', async (_, path, body) => {
    await world.admin('POST', 'freeze', { body: { tenant: 'acme', agent: 'bot', reason } })
    const full = 'tenant' in body ? path : `webhooks/${hook}/${path}`
    const written = await world.evidenceOf(async () => {
      for (const [who, end] of [
        [await world.reviewer('ann'), revoke],
        [await world.signIn('ann'), endSessions],
      ] as const)
        expect(await ask(who, full, body, end)).toMatchObject({ status: 401 })
    })
    const acts = written.filter(({ record }) => /^(?:freeze|webhook)\./.test(record.type))
    expect(acts).toEqual([])
    const { freezes } = (await world.admin<FreezeList>('GET', 'freezes?tenant=acme')).body
    expect(freezes.map(({ agent }) => agent)).toEqual(['bot'])
    expect((await world.admin<WebhookList>('GET', 'webhooks?tenant=acme')).body.webhooks).toHaveLength(1)
  })

  it('403 when the role is removed, and 200 while it remains', async () => {
    const ann = await world.reviewer('ann')
    const tool = { tenant: 'acme', tool: 'pay', reason }
    expect(await ask(ann, 'freeze', tool, () => Promise.resolve())).toMatchObject({ status: 200 })
    const directory = (BUNDLE['directory.yaml'] ?? '').replace(', roles: [admin]', '')
    const refused = await ask(ann, 'unfreeze', tool, () =>
      world.changePolicies({ 'directory.yaml': directory }),
    )
    expect(refused).toMatchObject({ status: 403, problem: { code: 'not_permitted' } })
  })
})
