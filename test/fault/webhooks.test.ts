import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { priorities } from '../priorities.ts'
import { startRedis } from '../redis/server.ts'
import { Receivers } from '../webhooks/receiver.ts'
import { type Gateway, inDirectory, startGateway, transfer, TRANSFER_PATH } from './gateway.ts'
import { until } from '../until.ts'
import { seeded } from '../random.ts'
import { IS_LONG, rounds } from '../runs.ts'

/**
 * Gateways are killed while they decide and deliver. Every acknowledged event is delivered, and every event has one id.
 */

const KILLS = Number(process.env['COUNTERSIGN_TEST_KILLS'] ?? rounds({ check: 1, short: 4, long: 500 }))
const CLIENTS = 8
const MOST_ANSWERS = 60
const SMALL_CENTS = 100
/** A try and its lease, and the rounds of a worker. */
const LAST_TRIES_MS = 60_000
const LOOK_MS = 100

const receivers = new Receivers()
afterAll(() => receivers.dispose())

describe(`${KILLS} times kill -9 under load: no event is lost, and every event has one id`, () => {
  it(
    'keeps every event on the embedded store',
    () => inDirectory((directory) => killAgainAndAgain(directory, [])),
    KILLS * 20_000 + 120_000,
  )

  it(
    'on redis',
    () =>
      inDirectory(async (directory) => {
        const redis = await startRedis()
        try {
          await killAgainAndAgain(directory, ['--store', redis.url])
        } finally {
          await redis.dispose()
        }
      }),
    KILLS * 20_000 + 120_000,
  )
})

async function killAgainAndAgain(directory: string, args: readonly string[]): Promise<void> {
  const seed = Number(process.env['COUNTERSIGN_TEST_SEED'] ?? (IS_LONG ? Date.now() % 2 ** 31 : 20_261_116))
  console.log(`seed ${seed} (COUNTERSIGN_TEST_SEED repeats the moments of the kills)`)
  const random = seeded(seed)
  const receiver = await receivers.open()
  const trust = mkdtempSync(join(tmpdir(), 'countersign-trust-'))
  writeFileSync(join(trust, 'ca.crt'), receivers.ca)
  const open = (): Promise<Gateway> =>
    startGateway({
      directory,
      args: [...args, '--webhooks-allow', `127.0.0.1/32:${receiver.port}`],
      through: [`NODE_EXTRA_CA_CERTS=${join(trust, 'ca.crt')}`],
    })
  /** Ids by event. */
  const told = new Map<string, Set<string>>()
  let loses = true
  // one of three answers is lost on its way
  receiver.answer = ({ body }, response) => {
    const event = `${String(body['task_id'])} ${body.type}`
    told.set(event, (told.get(event) ?? new Set()).add(body.id))
    if (loses && random() < 0.3) response.destroy()
    else response.end()
  }
  const acknowledged = new Set<string>()
  let gateway = await open()
  const key = await gateway.key('agent', 'demo-agent')
  const created = await gateway.admin('POST', '/webhooks', { tenant: 'acme', url: receiver.url })
  expect(created.status).toBe(201)
  for (let kill = 0; kill < KILLS; kill++) {
    await killUnderLoad(gateway, {
      key,
      name: `${kill}`,
      acknowledged,
      answers: 1 + Math.floor(random() * MOST_ANSWERS),
    })
    gateway = await open()
  }
  loses = false
  // the last gateway delivers this event, whatever the gateways before it delivered
  const last = { method: 'POST', path: TRANSFER_PATH('last'), key, body: transfer(SMALL_CENTS) }
  expect((await gateway.ask(last)).body['status']).toBe('allow')
  acknowledged.add('last decision.allowed')
  // the backlog of so many lives takes its time: it must only become shorter
  const missing = (): number => [...acknowledged].filter((event) => !told.has(event)).length
  for (let left = missing(); left > 0; left = missing()) {
    await until(async () => {
      await pause(LOOK_MS)
      return missing() < left
    }, LAST_TRIES_MS)
  }
  expect([...told].filter(([, ids]) => ids.size !== 1)).toEqual([])
  console.log(
    `${KILLS} kills, ${acknowledged.size} acknowledged decisions, ${told.size} events told in ${receiver.got.length} tries, each with one id`,
  )
  if (process.platform === 'linux') expect(lowered(gateway)).toEqual([Math.min(usual + 5, 19)])
  await gateway.process.kill('SIGTERM')
  gateway.hangUp()
  rmSync(trust, { recursive: true, force: true })
}

const usual = getPriority(process.pid)

/** The thread that makes deliveries, and no other, gives way to decisions. */
const lowered = (gateway: Gateway): readonly number[] =>
  priorities(gateway.process.pid).filter((priority) => priority > usual)

interface Load {
  readonly key: string
  readonly name: string
  readonly acknowledged: Set<string>
  readonly answers: number
}

async function killUnderLoad(gateway: Gateway, { key, name, acknowledged, answers }: Load): Promise<void> {
  let given = 0
  let dead = false
  const client = async (i: number): Promise<void> => {
    for (let call = 0; !dead; call++) {
      const task = `k${name}-${i}-${call}`
      const ask = { method: 'POST', path: TRANSFER_PATH(task), key, body: transfer(SMALL_CENTS) }
      const answer = await gateway.ask(ask).catch(() => undefined)
      if (answer?.status !== 200) continue
      expect(answer.body['status']).toBe('allow')
      acknowledged.add(`${task} decision.allowed`)
      given += 1
    }
  }
  const clients = Array.from({ length: CLIENTS }, (_, i) => client(i))
  while (given < answers) await new Promise((resolve) => setImmediate(resolve))
  await gateway.process.kill('SIGKILL')
  dead = true
  gateway.hangUp()
  await Promise.all(clients)
}
