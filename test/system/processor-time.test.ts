import { expect, it } from 'vitest'
import { processorTimeOf } from '../../src/system/processor-time.ts'

it.skipIf(process.platform !== 'linux')('the processor time of a process is what it says of itself', () => {
  const own = (): number => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  }
  const before = own()
  while (own() < before + 100);
  const least = own() - 50
  const used = processorTimeOf(process.pid) ?? 0
  expect(used).toBeGreaterThan(least)
  expect(used).toBeLessThan(own() + 50)
  expect(processorTimeOf(2 ** 30)).toBeUndefined()
})
