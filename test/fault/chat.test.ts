import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parseRedisAddress } from '../../src/store/redis/address.ts'
import { openEmbeddedStore } from '../../src/store/embedded/store.ts'
import { openRedisStore } from '../../src/store/redis/store.ts'
import type { Store } from '../../src/store/store.ts'
import { BUNDLE } from '../bundle.ts'
import { SLACK } from '../chat/fake-slack.ts'
import { openSlackWorld } from '../chat/slack-world.ts'
import { ADMIN_KEY, held, Reviewer, until } from '../gateway-fixture.ts'
import { seeded } from '../random.ts'
import { startRedis } from '../redis/server.ts'
import { rounds } from '../runs.ts'
import { type Gateway, inDirectory, startGateway } from './gateway.ts'

/**
 * Reviewers click in Slack and in the console, while gateways die between the commit of a click and its
 * acknowledgement. Slack repeats a click without one. Each vote is counted, recorded and answered once.
 */

const CLICKS = rounds({ check: 100, short: 100, long: 500 })
const REVIEWERS = rounds({ check: 8, short: 8, long: 20 })
const CALLS = rounds({ check: 12, short: 12, long: 50 })
const KILLS = rounds({ check: 1, short: 2, long: 20 })
const HOOK = fileURLToPath(new URL('dies-at-ack.mjs', import.meta.url))
const NAMES = Array.from({ length: REVIEWERS }, (_, at) => `r${at}`)
const memberOf = (name: string): string => `U${name.toUpperCase()}`

/** Only the tool `hold`, and a level that needs three votes. */
const FILES = {
  ...Object.fromEntries(Object.keys(BUNDLE).map((path) => [path, /hold/.test(path) ? BUNDLE[path] : null])),
  'directory.yaml': `tenants:
  acme:
    agents:
      bot: { owners: [olga], tools: [hold] }
    reviewers:
      olga: { name: Olga, groups: [desk], roles: [admin] }
${NAMES.map((name) => `      ${name}: { name: ${name}, groups: [desk] }`).join('\n')}
`,
  'routing.yaml': `unmatched: reject
levels:
  low:      { group: desk, approvals: 3, expires: 8h, chat: true }
  medium:   { group: desk, approvals: 3, expires: 4h }
  high:     { group: desk, approvals: 3, expires: 1h }
  critical: { group: desk, approvals: 3, expires: 30m }
`,
} as Record<string, string | null>

const ENV = [
  // the key of the gateway in the test's own process: one deployment
  `COUNTERSIGN_ADMIN_KEY=${ADMIN_KEY}`,
  `NODE_OPTIONS=--import=${HOOK}`,
  `COUNTERSIGN_SLACK_APP_TOKEN=${SLACK.appToken}`,
  `COUNTERSIGN_SLACK_BOT_TOKEN=${SLACK.botToken}`,
  'COUNTERSIGN_SLACK_CLIENT_ID=1.2',
  'COUNTERSIGN_SLACK_CLIENT_SECRET=secret',
]
const LIMIT = { timeout: KILLS * 30_000 + 180_000 }

describe(`${CLICKS} clicks of ${REVIEWERS} reviewers on ${CALLS} calls, ${KILLS} kills: votes counted = votes in evidence = answers`, () => {
  it('a gateway on the embedded store', LIMIT, () =>
    inDirectory((directory) => {
      const store = { path: `${directory}/data`, minFreeBytes: 0 }
      return clickAndKill(directory, { openStore: () => openEmbeddedStore(store), stays: false })
    }),
  )

  it('two gateways on redis', LIMIT, () =>
    inDirectory(async (directory) => {
      const redis = await startRedis()
      const openStore = () => openRedisStore({ address: parseRedisAddress(redis.url) })
      const where = { openStore, stays: true, args: ['--store', redis.url] }
      try {
        await clickAndKill(directory, where)
      } finally {
        await redis.dispose()
      }
    }),
  )
})

interface Where {
  readonly openStore: () => Promise<Store>
  /** True when the gateway in the test's own process stays, beside the one that is killed. */
  readonly stays: boolean
  readonly args?: readonly string[]
}

async function clickAndKill(directory: string, { openStore, stays, args = [] }: Where): Promise<void> {
  const at = await openSlackWorld({ files: FILES, openStore })
  const { world, slack } = at
  for (const name of NAMES) await at.link(name, memberOf(name))
  await at.webhook(SLACK.channel)
  const bot = await world.agent('bot')
  const threads: string[] = []
  for (let call = 0; call < CALLS; call++)
    threads.push((await held(bot, { tool_name: 'hold', payload: { call } as never })).thread)
  await slack.until(() => slack.messages.size === CALLS)
  // the gateway knows the place of each message once nothing waits
  const { body } = await world.admin<{ webhooks: { id: string }[] }>('GET', 'webhooks?tenant=acme')
  const { id } = body.webhooks[0] ?? { id: '' }
  await until(async () => {
    const { body: webhook } = await world.admin<{ waiting: number }>('GET', `webhooks/${id}`)
    return webhook.waiting === 0
  })
  // messages have the order of the calls
  const posted = [...slack.messages.values()].map(({ ts }) => [ts, slack.buttonOf(ts)] as const)
  const keys = await Promise.all(NAMES.map((name) => world.reviewer(name)))
  if (!stays) await world.stop()
  const through = [...ENV, `COUNTERSIGN_SLACK_SERVER=${slack.url}`]
  const open = async (): Promise<Gateway> => {
    const before = slack.sockets.size
    const opened = await startGateway({ directory, args, policies: world.policies, through })
    await slack.until(() => slack.sockets.size > before)
    return opened
  }
  /** The process that dies; after the last kill, the gateway of the test's own process has its work. */
  let dying: Gateway | undefined = await open()

  const random = seeded(20_261_129)
  const counted = new Set<string>()
  let [clicks, kills, repeats, inConsole] = [0, 0, 0, 0]
  /** A call; not one that waits for a kill, whose click has to count. */
  const anyCall = (): number => {
    const nth = Math.floor(random() * (CALLS - KILLS + kills))
    return nth < kills ? nth : nth + KILLS - kills
  }
  /** Clicks, again until it is acknowledged, and waits for the answer to its person. */
  const press = async (name: string, call: number, socket: number): Promise<void> => {
    const member = memberOf(name)
    const answers = () => slack.ephemerals.filter(({ user }) => user === member)
    const before = answers().length
    const [ts = '', value = ''] = posted[call] ?? []
    const click = { ts, value, member, envelope: `click-${(clicks += 1)}` }
    while ((await slack.click({ ...click, socket }).acknowledged) === undefined) {
      repeats += 1
      await slack.until(() => slack.sockets.size > 0)
    }
    await slack.until(() => answers().length > before)
    if (JSON.stringify(answers().at(-1)).includes('Your vote counts')) counted.add(click.envelope)
  }
  const inTheConsole = async (): Promise<void> => {
    const key = keys[Math.floor(random() * REVIEWERS)]?.key ?? ''
    const by = new Reviewer(stays ? world : (dying ?? world), key)
    if ((await by.approve(threads[anyCall()] ?? '')).status === 200) inConsole += 1
  }
  const kill = async (gateway: Gateway): Promise<void> => {
    void gateway.process.kill('SIGUSR2')
    await gateway.process.lineWhere((line) => line === 'armed')
    const click = press(NAMES[0] ?? '', kills, -1)
    const name = `click-${clicks}`
    expect((await gateway.process.ended).signal).toBe('SIGKILL')
    gateway.hangUp()
    kills += 1
    dying = undefined
    if (kills < KILLS) dying = await open()
    else if (!stays) await world.start()
    await click
    expect([...counted]).toContain(name)
  }
  const every = Math.floor(CLICKS / REVIEWERS / (KILLS + 1))
  for (let wave = 1; clicks < CLICKS; wave++) {
    const names = NAMES.slice(0, CLICKS - clicks)
    const all = names.map((name) => press(name, anyCall(), stays && random() < 0.5 ? 0 : -1))
    await Promise.all([...all, inTheConsole()])
    if (wave % every === 0 && dying !== undefined) await kill(dying)
  }
  const cast = (await world.allEvidence()).filter(({ record }) => record.type === 'vote.cast')
  const inEvidence = cast.filter(({ record }) => record.details?.['via'] === 'slack').length
  const by = await world.reviewer('olga')
  const shown = await Promise.all(threads.map((thread) => by.show(thread)))
  const votes = shown.flatMap((one) => one.body.votes).filter(({ via }) => via === 'slack').length
  await world.close()
  await slack.close()
  console.log(
    `${clicks} clicks, ${repeats} repeated after ${kills} kills: ${votes} votes counted, ${inEvidence} in evidence, ${counted.size} answered; ${inConsole} in the console`,
  )
  expect([votes, inEvidence, cast.length]).toEqual([counted.size, counted.size, counted.size + inConsole])
  expect([kills, counted.size > CALLS]).toEqual([KILLS, true])
}
