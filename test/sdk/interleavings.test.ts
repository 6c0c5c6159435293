// @store each
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { UnreportedList } from '../../src/contract/reviewer.ts'
import {
  type Agent,
  type EvidenceLine,
  MINUTE,
  openWorld,
  type Reviewer,
  type World,
} from '../gateway-fixture.ts'
import { diceOf } from '../random.ts'
import { IS_LONG, rounds } from '../runs.ts'
import { Game, type Table } from './handle-game/game.ts'

/*
 * Random interleavings of the acts on a proposed call. The law: only approved values run, each once. Each run is
 * reported, or listed as allowed and never reported. `World.close` replays the history, as `evidence verify` does.
 */
const GAMES = rounds({ check: 250, short: 500, long: 10_000 })
const AT_ONCE = 25
const STEPS = 5
/** Each store plays games of its own. */
const STORE = process.env['COUNTERSIGN_TEST_STORE'] === 'redis' ? GAMES : 0
const FIRST_SEED = STORE + (IS_LONG ? Date.now() % 2 ** 31 : 1)

/** Steps of games, by their names there, and records of evidence. */
const KINDS = [
  'proposed, killed, died, read, ran, edited, withdrew, revised, resumed an old revision',
  'approve, reject, request_changes, expired, raced, raced and ran, listed',
  'recorded by hand, outcome_recorded by hand, not_found by hand',
  'decision.allowed, token.redeemed, token.reissued, review.expired, call.ended',
].flatMap((kinds) => kinds.split(', '))

const tool = (name: string): string => `tool: ${name}
description: A tool whose calls end.
risk: low
outcome: expected within 10m
input_schema: { type: object }
`
const FILES = {
  'tools/send.yaml': tool('send'),
  'tools/wire.yaml': tool('wire'),
  'rules/send.yaml': 'tool: send\nrules:\n  - { id: send, allow: Routine. }\n',
  'rules/wire.yaml': `tool: wire
rules:
  - id: wire
    review: People look at it.
    reviewers: { group: desk, approvals: 1, expires: 5m }
`,
}

let world: World
let bot: Agent
let ann: Reviewer
const did = new Map<string, number>()

beforeAll(async () => {
  world = await openWorld({ files: FILES, config: { logLevel: 'error' } })
  bot = await world.agent('other')
  ann = await world.reviewer('ann')
})
afterAll(() => world.close())

const unreported = async (): Promise<UnreportedList> =>
  (await ann.call<UnreportedList>('GET', 'unreported-calls')).body

/** Plays games side by side, step by step, because they share the clock. */
async function play(first: number, count: number): Promise<void> {
  const table: Table = { url: () => world.url, key: bot.key, ann, did }
  const games = Array.from({ length: count }, (_, at) => new Game(table, first + at))
  const each = (act: (game: Game) => Promise<void>): Promise<unknown> => Promise.all(games.map(act))
  await each((game) => game.propose())
  const expiresAt = diceOf(first).below(STEPS * 2)
  for (let step = 0; step < STEPS; step++) {
    await each((game) => game.step())
    if (step !== expiresAt) continue
    world.clock.advance(6 * MINUTE)
    await world.due()
    await each((game) => game.expire())
  }
  await each((game) => game.settled())
  world.clock.advance(11 * MINUTE)
  await world.due()
  await check(games)
}

let seen = 0
/** The records since the last games. */
async function newRecords(): Promise<EvidenceLine['record'][]> {
  const records = []
  for (
    let page = await world.evidence('acme', seen);
    page.length > 0;
    page = await world.evidence('acme', seen)
  ) {
    seen += page.length
    records.push(...page.map(({ record }) => record))
  }
  return records
}

async function check(games: readonly Game[]): Promise<void> {
  const records = await newRecords()
  const list = await unreported()
  expect(list.count).toBe(list.calls.length)
  for (const { task, ran, approved, isHeld } of games) {
    const own = records.filter(({ task_id }) => task_id === task)
    const count = (...types: string[]): number => own.filter(({ type }) => types.includes(type)).length
    const [permitted, ended] = [count('decision.allowed', 'token.redeemed'), count('call.ended')]
    expect(
      ran.filter((value) => !approved.has(value)),
      `${task}: only approved values`,
    ).toEqual([])
    expect(ran.length, `${task}: each once`).toBeLessThanOrEqual(isHeld ? Math.min(permitted, 1) : permitted)
    const isListed = list.calls.some(({ task_id }) => task_id === task)
    expect([ended <= permitted, isListed], `${task}: reported or listed`).toEqual([true, ended < permitted])
    for (const { type } of own) did.set(type, (did.get(type) ?? 0) + 1)
  }
  did.set('listed', (did.get('listed') ?? 0) + list.count)
  await clear(list)
}

/** A call stays listed until all of its outcomes arrive. */
async function clear(list: UnreportedList): Promise<void> {
  for (let { calls } = list; calls.length > 0; { calls } = await unreported())
    for (const { task_id, action_hash, thread_id } of calls) {
      const thread = thread_id === undefined ? undefined : (await ann.show(thread_id)).body
      const body = {
        outcome: 'not_run',
        run: crypto.randomUUID(),
        thread_id,
        action_hash: action_hash ?? thread?.action_hash,
      }
      expect((await bot.call('POST', `tasks/${task_id}/outcomes`, { body })).status).toBe(201)
    }
}

it('runs only approved values, each once, and each run is reported or listed', async () => {
  for (let played = 0; played < GAMES; played += AT_ONCE) {
    const first = FIRST_SEED + played
    await play(first, Math.min(AT_ONCE, GAMES - played)).catch((cause: unknown) => {
      throw new Error(`the games from seed ${first} on broke the law`, { cause })
    })
  }
  const seldom = KINDS.filter((kind) => (did.get(kind) ?? 0) < GAMES / 250)
  expect(seldom, 'kinds of steps and records that the games hardly had').toEqual([])
}, 3_600_000)
