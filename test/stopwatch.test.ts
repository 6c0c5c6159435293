import { expect, it } from 'vitest'
import { standStill } from './stand-still.ts'
import { stopwatch } from './stopwatch.ts'

it('counts the time of this process, including waits, but no pause of the machine', async () => {
  const idle = stopwatch()
  standStill(400)
  expect(idle()).toBeLessThan(200)

  const busy = stopwatch()
  const before = process.cpuUsage()
  for (let { user } = before; user - before.user < 300_000;) ({ user } = process.cpuUsage())
  expect(busy()).toBeGreaterThan(250)

  const waiting = stopwatch()
  for (let turns = 0; turns < 60; turns++) await new Promise((resolve) => setTimeout(resolve, 5))
  expect(waiting()).toBeGreaterThan(250)
})
