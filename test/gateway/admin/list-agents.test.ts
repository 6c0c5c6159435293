// @store each, in the soak
import { expect, it } from 'vitest'
import type { AgentList } from '../../../src/contract/agent-list.ts'
import { eachWorld, world } from '../../agent-world.ts'
import { edited, overriding } from '../../gateway-fixture.ts'
import { countTurns } from '../../turns.ts'

const turns = countTurns()
const MANY = 1_000

eachWorld(() => {
  const agents = Array.from({ length: MANY }, (_, i) => `      a${i}: { owners: [olga] }\n`).join('')
  return {
    files: edited(
      'directory.yaml',
      '    agents:\n      bot:      ',
      `    agents:\n${agents}      bot:      `,
    ),
    wrapStore: (store) =>
      overriding(store, {
        get: (tenant, type, id) => {
          if (type === 'holder') turns.count()
          return store.get(tenant, type, id)
        },
      }),
  }
})

it('looks for the keys of thousands of agents a few at a time, so that other requests are answered in between', async () => {
  const ann = await world.reviewer('ann')
  await world.agent('a999')
  turns.begin()
  const { agents } = (await ann.call<AgentList>('GET', 'agents')).body
  expect(agents.map(({ id }) => id).slice(0, MANY)).toEqual(Array.from({ length: MANY }, (_, i) => `a${i}`))
  expect(agents.flatMap(({ id, key_issued_at }) => (key_issued_at === undefined ? [] : [id]))).toEqual([
    'a999',
  ])
  // pages of 200, and a few reads that the gateway makes by itself
  expect(turns.most()).toBeLessThanOrEqual(210)
})
