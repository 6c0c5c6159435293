// @store each, in the soak
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { edited, type Agent, held, openWorld, type Reviewer, type World } from '../gateway-fixture.ts'

/** Levels that ask more of a vote (docs/review-api.md). */

const LEVELS = edited(
  'routing.yaml',
  'low:      { group: desk,  approvals: 1, expires: 8h }',
  'low:      { group: desk,  approvals: 1, expires: 8h, comments: [No.], require_comment: true }',
)

let world: World
let bot: Agent
let ann: Reviewer

beforeAll(async () => {
  world = await openWorld({ files: LEVELS })
  bot = await world.agent()
  ann = await world.reviewer('ann')
})
afterAll(() => world.close())

describe('POST votes, in a level with require_comment', () => {
  it('400 comment_required for a rejection without a comment', async () => {
    const { thread } = await held(bot)
    for (const comment of [undefined, '', ' \n'])
      expect(
        (
          await ann.vote(thread, {
            decision: 'reject',
            revision: 1,
            ...(comment !== undefined && { comment }),
          })
        ).problem,
      ).toMatchObject({ status: 400, code: 'comment_required' })
    const { body } = await ann.vote(thread, { decision: 'reject', revision: 1, comment: 'No.' })
    expect(body.status).toBe('rejected')
  })

  it('200 for an approval without a comment, and the thread says what its level asks for', async () => {
    const { thread } = await held(bot)
    expect((await ann.show(thread)).body.review).toEqual({
      comments: ['No.'],
      require_comment: true,
      reveal: 'optional',
      require_displayed: false,
    })
    expect((await ann.vote(thread, { decision: 'approve', revision: 1 })).body.status).toBe('approved')
  })
})
