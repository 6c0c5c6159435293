// @store each, in the soak
import { beforeAll, describe, expect, it } from 'vitest'
import { composeCredential } from '../../src/domain/credential.ts'
import { INDEX } from '../../src/gateway/core/indexes.ts'
import { encodeCursor } from '../../src/gateway/core/page-cursor.ts'
import type { Store } from '../../src/store/store.ts'
import { fileWorld, world } from '../agent-world.ts'
import { type Answer, approved, held, overriding } from '../gateway-fixture.ts'
import { BUNDLE } from '../bundle.ts'
import { type Endpoint, ENDPOINTS, type Named, resolved, sampleOf, type Schema } from '../samples.ts'

/**
 * Data of another tenant is as absent as data that never existed. The test asks every operation for ids of another
 * tenant and for ids of nothing. Answers, evidence and the calls of the store must be the same. Most time is spent in
 * those calls.
 */

const OTHER_TOOL = `tool: vault.open
description: Only globex has it.
risk: high
labels: [secrets]
sensitive: [payload.pin]
input_schema:
  type: object
  additionalProperties: false
  required: [pin]
  properties: { pin: { type: string, maxLength: 8 } }
`
const OTHER_RULES = `tool: vault.open
rules:
  - id: vault-history
    review: People look at it.
    when: { task.tools: { some: t } }
  - id: vault-rest
    reject: Never.
`
const DIRECTORY = (BUNDLE['directory.yaml'] ?? '')
  .replaceAll(/owners: \[olga\](?!, tools)/g, 'owners: [olga], tools: [t, pay, hold, brief, bare]')
  .replace('owners: [ann]', 'owners: [ann], tools: [t]')
  .replace('  globex:\n    agents:\n', '  globex:\n    agents:\n      clerk: { owners: [yan] }\n')

const THREAD_OF_NOBODY = 'thr_00000000000000000000000000'
const ID = '00000000000000000000000000'

interface Pair {
  readonly foreign: string
  readonly nothing: readonly string[]
}

const calls: string[] = []
let keys: Record<Endpoint['plane'], string>
let names: Readonly<Record<string, Pair | 'nothing of a tenant'>>

const recording = (store: Store): Store => {
  const noted = <K extends 'get' | 'range' | 'count' | 'charged' | 'events' | 'commit'>(
    method: K,
  ): Store[K] =>
    ((...args: readonly unknown[]) => {
      calls.push(`${method} ${String(args[0])} ${method === 'get' ? String(args[1]) : ''}`)
      return (store[method] as (...all: readonly unknown[]) => unknown)(...args)
    }) as Store[K]
  return overriding(store, {
    get: noted('get'),
    range: noted('range'),
    count: noted('count'),
    charged: noted('charged'),
    events: noted('events'),
    commit: noted('commit'),
  })
}

fileWorld({
  wrapStore: recording,
  config: { webhooksAllow: '127.0.0.1/32:9' },
  webhooks: { everyMs: 2 ** 31 - 1 },
  files: { 'directory.yaml': DIRECTORY, 'tools/vault.yaml': OTHER_TOOL, 'rules/vault.yaml': OTHER_RULES },
})
beforeAll(async () => {
  const bot = await world.agent()
  keys = { agent: bot.key, review: (await world.reviewer('ann')).key, admin: '', public: '' }
  keys.admin = keys.review
  const clerk = await world.agent('clerk', 'globex')
  const zoe = await world.reviewer('zoe', 'globex')
  const { id } = (await createWebhook('globex')).body
  // paused, so that its deliveries wait and no other work runs beside the test
  await world.admin('POST', `webhooks/${id}/pause`)
  const { task, thread } = await held(clerk, { images: ['data:image/png;base64,AAAA'] }, 'globex-task')
  const { token } = await approved(clerk, zoe)
  await clerk.submit(task, { tool_name: 't' }, { 'idempotency-key': 'globex-key' })
  await held(bot, {}, 'acme-task')
  await createWebhook('acme')
  const deliveries = await world.app.deps.store.range('globex', INDEX.deliveries(id), { limit: 1 })
  const delivery = deliveries[0]?.member ?? ''
  expect(delivery).toMatch(/^whd_globex_/)
  const cursorAt = (member: string): string => encodeCursor({ score: world.clock.now, member })
  const secret = Uint8Array.from({ length: 32 }, (_, i) => i)
  const webhooks = { foreign: id, nothing: [`whk_acme_${ID}`, `whk_globex_${ID}`, `whk_nobody_${ID}`] }
  names = {
    thread_id: { foreign: thread, nothing: [THREAD_OF_NOBODY] },
    votes: { foreign: thread, nothing: [THREAD_OF_NOBODY] },
    taskID: { foreign: task, nothing: ['nobody-task'] },
    task_id: { foreign: task, nothing: ['nobody-task'] },
    tool_name: { foreign: 'vault.open', nothing: ['vault.shut'] },
    tools: { foreign: 'vault.open', nothing: ['vault.shut'] },
    tool: { foreign: 'vault.open', nothing: ['vault.shut'] },
    agent: { foreign: 'clerk', nothing: ['crank'] },
    reviewer: { foreign: 'zoe', nothing: ['zed'] },
    signature: { foreign: token, nothing: [composeCredential('approval', secret)] },
    event_type: {
      foreign: `revision.${task}.${thread}`,
      nothing: [`revision.${task}.${THREAD_OF_NOBODY}`],
    },
    'Idempotency-Key': { foreign: 'globex-key', nothing: ['nobody-key'] },
    tenant: { foreign: 'globex', nothing: ['nobody'] },
    'reviewers id': { foreign: 'zoe', nothing: ['zed'] },
    'agents id': { foreign: 'clerk', nothing: ['crank'] },
    'webhooks id': webhooks,
    delivery: { foreign: delivery, nothing: [`whd_acme_${ID}`, `whd_globex_${ID}`] },
    cursor: { foreign: cursorAt(thread), nothing: [cursorAt(THREAD_OF_NOBODY)] },
    'listDeliveries cursor': {
      foreign: cursorAt(delivery),
      nothing: [cursorAt(`whd_acme_${ID}`)],
    },
    ...Object.fromEntries(OF_NO_TENANT.map((name) => [name, 'nothing of a tenant'] as const)),
  }
})

/**
 * Numbers, words of the contract, and claims of the caller about itself. A name in neither list fails the test: its
 * author has to say what it is.
 */
const OF_NO_TENANT: readonly string[] = [
  'revision index status risk group mine claimed since until q limit state after before everywhere',
  'Prefer If-Match Countersign-Unattended Last-Event-ID workflow_name task_label subject preview risk_level summary',
  'payload action_hash images request_payload event_summary decision comment take_over reason url events format',
  'overlap_ms grace_seconds agent_history used time task sort asked voted displayed expires_within path',
  'in_store disclosures field equals outcome duration_ms reference run',
  // a proposal is sealed for one session, and linked accounts are found under the caller's tenant
  'proposal workspace member channel only',
].flatMap((line) => line.split(' '))

const createWebhook = (tenant: string): Promise<Answer<{ id: string }>> =>
  world.admin('POST', 'webhooks', {
    body: { tenant, url: 'https://127.0.0.1:9/x', ...(tenant === 'acme' && { events: ['webhook.ping'] }) },
  })

interface Place {
  readonly endpoint: Endpoint
  readonly name: string
  readonly in: 'path' | 'query' | 'header' | 'body'
}

const PLACES: readonly Place[] = ENDPOINTS.filter(({ plane }) => plane !== 'public').flatMap((endpoint) => [
  ...endpoint.parameters.map(({ name, in: where }) => ({ endpoint, name, in: where })),
  ...Object.keys(bodyOf(endpoint)?.properties ?? {}).map((name) => ({ endpoint, name, in: 'body' as const })),
])

function bodyOf({ body }: Endpoint): Schema | undefined {
  return body && resolved(body)
}

/** The meaning of a name depends on its operation. */
function meaningOf({ endpoint, name }: Place): Pair | 'nothing of a tenant' | undefined {
  const area = /^\/api\/\w+\/(\w+)/.exec(endpoint.path)?.[1] ?? ''
  return names[`${endpoint.id} ${name}`] ?? names[`${area} ${name}`] ?? names[name]
}

const REST: Named = {
  tool_name: 't',
  tools: ['t'],
  tenant: 'acme',
  url: 'https://127.0.0.1:9/y',
  payload: {},
  request_payload: {},
  event_type: 'tool.done',
  revision: 1,
}
const REST_IN_PATH: Readonly<Record<string, string>> = {
  taskID: 'acme-task',
  thread_id: THREAD_OF_NOBODY,
  tenant: 'acme',
}

interface Result {
  readonly status: number
  readonly headers: string
  readonly text: string
  readonly evidence: string
  readonly asked: string
  readonly elsewhere: number
}

/** Asks one operation with one id in one place, everything else as it fits. */
async function ask({ endpoint, name, in: where }: Place, id: string): Promise<Result> {
  const pathOf = (one: string): string =>
    where === 'path' && one === name ? id : (REST_IN_PATH[one] ?? (one === 'id' ? `whk_acme_${ID}` : '1'))
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, one: string) => encodeURIComponent(pathOf(one)))
  const query = endpoint.parameters
    .filter((one) => one.in === 'query' && (one.name === name || one.name === 'tenant'))
    .map((one) => `${one.name}=${encodeURIComponent(one.name === name ? id : 'acme')}`)
  const headers = {
    authorization: `Bearer ${keys[endpoint.plane]}`,
    ...(where === 'header' && { [name]: id }),
  }
  const before = await state()
  calls.length = 0
  const response = await fetch(`${world.url}${path}${query.length > 0 ? `?${query.join('&')}` : ''}`, {
    method: endpoint.method,
    headers: { ...headers, ...(endpoint.body && { 'content-type': 'application/json' }) },
    ...(endpoint.body && { body: JSON.stringify(bodyWith(endpoint, where === 'body' ? name : '', id)) }),
  })
  const text = await response.text()
  const asked = calls.join('\n')
  const after = await state()
  return {
    status: response.status,
    headers: plain([...response.headers].filter(([one]) => one !== 'date').join('\n'), id),
    text: plain(text, id),
    evidence: plain(JSON.stringify(after.acme.slice(before.acme.length)), id),
    asked,
    elsewhere: after.globex - before.globex,
  }
}

function bodyWith(endpoint: Endpoint, name: string, id: string): unknown {
  const value = valueOf(endpoint, name, id)
  const needed = Object.fromEntries(
    Object.entries(REST).filter(([one]) => bodyOf(endpoint)?.properties?.[one]),
  )
  const revision = { revision_id: 'r', tool_name: 't', subject: 's', request_payload: {} }
  const payload = name === 'event_type' ? { payload: { revision } } : {}
  return sampleOf(endpoint.body as Schema, {
    ...needed,
    ...payload,
    ...(name !== '' && { [name]: value }),
  })
}

function valueOf({ id: operation }: Endpoint, name: string, id: string): unknown {
  if (name === 'tools') return [id]
  if (name === 'votes') return [{ thread_id: id, revision: 1, displayed: NOTHING_SHOWN }]
  return name === 'agent' && operation === 'explain_policies' ? `${id}/a` : id
}

const NOTHING_SHOWN = { digest: '0'.repeat(64), seen: [], unseen: [] }

async function state(): Promise<{ acme: string[]; globex: number }> {
  const { store } = world.app.deps
  const records = await store.events('acme', 0, 10_000)
  return {
    acme: records.map(({ body }) => body),
    globex: (await store.events('globex', 0, 10_000)).length,
  }
}

/** Without the id that was asked for, and without what is new in every answer. */
const plain = (text: string, id: string): string =>
  text
    .replaceAll(id, '{id}')
    .replaceAll(/countersign-(?:request|evidence),[^\n]*/g, '*')
    .replaceAll(/[\w.-]*[\w-]{20,}[\w.-]*/g, '*')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '{time}')
    .replaceAll(/(epoch\\?":)\d+/g, '$1{epoch}')
    .replaceAll(/[0-9a-f]{64}/g, '{hash}')

describe('the ids of another tenant', () => {
  it('the ids of another tenant cover every parameter of every operation', () => {
    expect(PLACES.filter((place) => meaningOf(place) === undefined).map(({ name }) => name)).toEqual([])
    expect(PLACES.filter((place) => typeof meaningOf(place) === 'object').length).toBeGreaterThan(45)
  })

  it.each(
    PLACES.filter(({ name }) => !OF_NO_TENANT.includes(name)).map(
      (place) => [place.endpoint.id, place.in, place.name, place] as const,
    ),
  )('the ids of another tenant get the same 404 as unknown ids: %s, %s %s', async (_, __, ___, place) => {
    const pair = meaningOf(place)
    if (typeof pair !== 'object') return
    // a value that was read once is known from then on
    for (const id of [pair.foreign, ...pair.nothing]) await ask(place, id)
    for (const nothing of pair.nothing) {
      let [foreign, none] = [await ask(place, pair.foreign), await ask(place, nothing)]
      // the worker of webhooks reads the store when it likes
      for (let tries = 0; tries < 3 && foreign.asked !== none.asked; tries++)
        [foreign, none] = [await ask(place, pair.foreign), await ask(place, nothing)]
      expect(foreign).toEqual(none)
      expect(foreign.elsewhere).toBe(0)
    }
  })
})
