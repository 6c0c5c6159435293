import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { type Agent, openWorld, type Reviewer, type World, type WorldOptions } from './gateway-fixture.ts'

/** The gateway of a test file, its agent `bot` and its reviewer `ann`: live bindings, which the hooks below set. */
export let world: World
export let bot: Agent
export let ann: Reviewer

type Wanted = WorldOptions | (() => WorldOptions | Promise<WorldOptions>)

async function open(wanted: Wanted): Promise<void> {
  world = await openWorld(typeof wanted === 'function' ? await wanted() : wanted)
}

async function openWithPeople(wanted: Wanted): Promise<void> {
  await open(wanted)
  bot = await world.agent()
  ann = await world.reviewer('ann')
}

/** Opens a world before the tests of the file, and closes it after them. It has no keys yet. */
export function fileWorld(wanted: Wanted = {}): void {
  beforeAll(() => open(wanted))
  afterAll(() => world.close())
}

/** Opens a world before each test of the file, and closes it after the test. It has no keys yet. */
export function eachWorld(wanted: Wanted = {}): void {
  beforeEach(() => open(wanted))
  afterEach(() => world.close())
}

/** As `fileWorld`, with an agent and a reviewer. */
export function agentWorld(wanted: Wanted = {}): void {
  beforeAll(() => openWithPeople(wanted))
  afterAll(() => world.close())
}

/** As `eachWorld`, with an agent and a reviewer. */
export function eachAgentWorld(wanted: Wanted = {}): void {
  beforeEach(() => openWithPeople(wanted))
  afterEach(() => world.close())
}
