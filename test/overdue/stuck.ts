import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'

/** Run by overdue.test.ts, in a run of its own. */

it('fails at first', () => {
  expect(1).toBe(2)
})

it('is stuck', async () => {
  // until it is known that it has begun
  await sleep(500)
  for (;;);
})
