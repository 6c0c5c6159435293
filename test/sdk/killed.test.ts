import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Handle } from '@countersign/sdk'
import { startProcess } from '../crash.ts'
import { type Agent, openWorld, type Reviewer, type World } from '../gateway-fixture.ts'

/* A process of an agent is killed while reviewers decide. Two later processes resume the saved call. */

const SCRIPT = join(import.meta.dirname, 'handle-game/process.mjs')
let directory: string
let world: World
let bot: Agent
let ann: Reviewer

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cs-killed-'))
  world = await openWorld()
  bot = await world.agent()
  ann = await world.reviewer('ann')
  // the poll of the killed process ends by its clock
  world.clock.run()
})
afterAll(async () => {
  await world.close()
  rmSync(directory, { recursive: true, force: true })
})

/** The calls, by the fact after the kill, with the ends in two later processes. */
const CALLS = {
  approved: ['ran', 'no_proof'],
  rejected: ['rejected', 'rejected'],
  edited: ['arguments_changed', 'arguments_changed'],
  waiting: ['still_pending', 'still_pending'],
}

it('a call whose process was killed is resumed twice in new processes, and runs once as it was approved', async () => {
  const names = Object.keys(CALLS)
  const start = (verb: string) => startProcess(SCRIPT, [world.url, bot.key, directory, verb, ...names])
  const first = start('propose')
  await first.lineWhere((line) => line === 'held')
  expect((await first.kill()).signal).toBe('SIGKILL')
  const fileOf = (name: string): string => join(directory, name)
  const threadOf = (name: string): string =>
    (JSON.parse(readFileSync(fileOf(name), 'utf8')) as Handle).thread_id ?? ''
  for (const name of ['approved', 'edited']) await ann.approve(threadOf(name))
  await ann.vote(threadOf('rejected'), { decision: 'reject', revision: 1 })
  writeFileSync(fileOf('edited'), readFileSync(fileOf('edited'), 'utf8').replace('1200', '9900'))
  for (const at of [0, 1]) {
    const { code, lines } = await start('resume').ended
    expect([code, lines]).toEqual([0, Object.entries(CALLS).map(([name, told]) => `${name} ${told[at]}`)])
  }
  expect(readFileSync(fileOf('ran'), 'utf8')).toBe('approved {"cents":1200}\n')
})
