import { afterAll, beforeAll, expect } from 'vitest'
import { INSTALL_MS } from '../debian.ts'
import type { Agent, WorldOptions } from '../gateway-fixture.ts'
import { type Console, openConsole } from './browser.ts'

/** The console of a test file and the agent of its world: live bindings, which `consoleWorld` sets. */
export let console_: Console
export let bot: Agent

/** Opens a console before the tests of the file. Closes it after them, and wants no misdeed of a page. */
export function consoleWorld(options: WorldOptions = {}): void {
  beforeAll(async () => {
    console_ = await openConsole(options)
    bot = await console_.world.agent()
  }, INSTALL_MS)
  afterAll(async () => {
    await console_.close()
    expect(console_.misdeeds).toEqual([])
  })
}
