// @store each, in the soak
import { beforeAll, describe, expect, it } from 'vitest'
import { agentWorld, ann, bot, world } from '../agent-world.ts'
import { edited, held, HOUR, MINUTE, type Reviewer } from '../gateway-fixture.ts'

/** Levels whose times count in working hours only (docs/policy-language.md). */

const LEVEL = 'low:      { group: desk,  approvals: 1, expires: 8h }'
const HOURS = 'working: { days: [mon-fri], hours: 08:00-18:00 }'
const WORKING = edited(
  'routing.yaml',
  LEVEL,
  `low:      { group: desk,  approvals: 1, expires: 4h, remind_after: 1h, escalate: { after: 2h, group: leads }, ${HOURS} }`,
)
const FRIDAY_EVENING = Date.UTC(2026, 2, 6, 17, 30)
const MONDAY_MORNING = Date.UTC(2026, 2, 9, 8)
const WEEKEND = MONDAY_MORNING - FRIDAY_EVENING - 30 * MINUTE

let boss: Reviewer

agentWorld({ files: WORKING })
beforeAll(async () => {
  boss = await world.reviewer('ben')
  world.clock.advance(FRIDAY_EVENING - world.clock.now)
})

const at = (iso: string | undefined): number => Date.parse(iso ?? '')

describe('a call that is held on Friday at 17:30, with four hours of working time', () => {
  it('waits over the weekend: it expires on Monday at 11:30, and is escalated at 09:30', async () => {
    const { thread } = await held(bot)
    const { body } = await ann.show(thread)
    expect(at(body.deadline)).toBe(MONDAY_MORNING + 3.5 * HOUR)
    expect(body.upcoming).toEqual([
      { kind: 'reminder', at: new Date(MONDAY_MORNING + 0.5 * HOUR).toISOString() },
      { kind: 'escalation', at: new Date(MONDAY_MORNING + 1.5 * HOUR).toISOString(), group: 'leads' },
    ])
  })

  it('is revised on Monday, and then has four hours of that day', async () => {
    const { thread, task } = await held(bot)
    world.clock.advance(WEEKEND + 60 * MINUTE)
    await bot.revise(task, thread, { revision_id: 'r2', request_payload: { amount: 600 } })
    const { body } = await ann.show(thread)
    expect(at(body.deadline)).toBe(world.clock.now + 4 * HOUR)
  })

  it('gives an approval four hours around the clock', async () => {
    world.clock.advance(4 * 24 * HOUR + 8 * HOUR)
    const { thread } = await held(bot)
    await ann.approve(thread)
    world.clock.advance(4 * HOUR - 1)
    expect((await bot.poll({ thread_id: thread })).body).toMatchObject({ status: 'approved' })
    const other = await held(bot)
    await boss.approve(other.thread)
    world.clock.advance(4 * HOUR)
    expect((await bot.poll({ thread_id: other.thread })).body).toMatchObject({ status: 'rejected' })
  })
})
