import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { WebhookList } from '../../src/contract/webhook.ts'
import { hashCredential } from '../../src/domain/credential.ts'
import { proposeLink } from '../../src/gateway/chat/link.ts'
import { SLACK } from '../chat/fake-slack.ts'
import { openSlackWorld, type SlackWorld } from '../chat/slack-world.ts'
import { launchBrowser } from '../chromium.ts'
import { edited, HASH, held, MINUTE, newTask, until } from '../gateway-fixture.ts'
import { axe, Console, PHONE, visit } from './browser.ts'

/** Pages of the console that are used beside the queue: linked accounts, and calls that no agent reported. */

const FILES = {
  ...edited(
    'routing.yaml',
    '{ group: desk,  approvals: 1, expires: 8h }',
    '{ group: desk, approvals: 1, expires: 8h, chat: true }',
  ),
  'tools/send.yaml': `tool: send
description: A tool whose calls end.
risk: low
outcome: expected within 10m
input_schema: { type: object }
`,
  'rules/send.yaml': 'tool: send\nrules:\n  - { id: send, allow: Routine. }\n',
}
let chat: SlackWorld
let console_: Console
let ann: Page

beforeAll(async () => {
  chat = await openSlackWorld({ files: FILES })
  chat.world.clock.now = Date.now()
  console_ = new Console(chat.world, await launchBrowser())
  ann = await console_.signedIn({ reviewer: 'ann', viewport: PHONE })
})
afterAll(async () => {
  await console_.close()
  await chat.slack.close()
  expect(console_.misdeeds).toEqual([])
})

async function isFit(): Promise<void> {
  expect(await axe(ann)).toEqual([])
  expect(await ann.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
}

describe('the page Chats', () => {
  it('names both accounts and asks before it links them, lists the link, and ends it', async () => {
    const cookies = await ann.context().cookies()
    const session = hashCredential(cookies[0]?.value ?? '')
    const claims = {
      'https://slack.com/team_id': SLACK.workspace,
      'https://slack.com/user_id': 'U7',
      'https://slack.com/team_name': 'Acme',
      name: 'Ann \u202e',
    }
    const flow = { tenant: 'acme', session }
    const proposal = proposeLink(chat.world.app.deps, { issuer: chat.slack.url, subject: 'U7', claims }, flow)
    await visit(ann, chat.world, `chats/${proposal}`)
    const question = ann.getByText(/^Shall/)
    await question.waitFor()
    expect(await question.innerText()).toMatch(/Ann U\+202E.*\(U7\) of Acme \(\w+\) vote as reviewer ann\?/s)
    await isFit()
    await ann.getByRole('button', { name: 'Link these two accounts' }).click()
    await ann.getByText(/^Member U7 of/).waitFor()
    await isFit()
    await ann.getByRole('button', { name: 'Unlink' }).click()
    await ann.getByText(/^Member U7 of/).waitFor({ state: 'detached' })
    await ann.getByRole('button', { name: 'Link an account of Slack' }).waitFor()
  })

  it('links nothing by the proposal of another session', async () => {
    await visit(ann, chat.world, 'chats/of-another-session')
    await ann.getByText('begin again').waitFor()
    expect(await ann.getByRole('button', { name: 'Link these two accounts' }).count()).toBe(0)
  })
})

describe('a call in a chat', () => {
  const TALL = { width: 390, height: 844 }

  it('appears once in the channel that an administrator names on the page Webhooks, after two clicks', async () => {
    await visit(ann, chat.world, 'webhooks')
    await ann.getByLabel('Id of a channel of Slack').fill(SLACK.channel)
    await isFit()
    await ann.getByRole('button', { name: 'Post held calls there' }).dblclick()
    await ann.getByText(`slack-app:${SLACK.channel}`).waitFor()
    const { body } = await chat.world.admin('GET', 'webhooks?tenant=acme')
    expect((body as unknown as WebhookList).webhooks).toHaveLength(1)
  })

  it('is one tap from its vote with a button, and two with a session, at 390 px', async () => {
    const { world, slack } = chat
    const [bot, cat] = [
      await world.agent(),
      await console_.signedIn({ reviewer: 'cat', viewport: TALL }),
      await chat.link('ben', SLACK.member),
    ]
    const votes = async () =>
      (await world.evidence()).flatMap(({ record }) =>
        record.type === 'vote.cast' ? [record.details?.['via']] : [],
      )
    const hold = async (note: string): Promise<string> => {
      const posted = slack.messages.size
      await held(bot, { tool_name: 'hold', payload: { note } as never })
      await slack.until(() => slack.messages.size > posted)
      return /"url":"([^"]+)"/.exec(JSON.stringify(slack.shown()))?.[1] ?? ''
    }
    await hold('one')
    await until(async () => {
      await slack.click().acknowledged
      return (await votes()).length === 1
    })
    await cat.goto(await hold('two'))
    const approve = cat.getByRole('button', { name: 'Approve', exact: true })
    const box = await approve.boundingBox()
    expect((box?.y ?? TALL.height) + (box?.height ?? 1)).toBeLessThanOrEqual(TALL.height)
    await approve.tap()
    await until(async () => (await votes()).length === 2)
    expect(await votes()).toEqual(['slack', 'link'])
  })
})

describe('the calls that were allowed and never reported', () => {
  it('are chosen in History, with the task and the agent, and go when their outcome arrives', async () => {
    const bot = await chat.world.agent('other')
    const task = newTask()
    const { body } = await bot.submit(task, { tool_name: 'send', payload: {}, action_hash: HASH })
    expect(body.status).toBe('allow')
    chat.world.clock.advance(11 * MINUTE)
    await chat.world.due()
    await visit(ann, chat.world, 'history?status=unreported')
    const row = ann.locator('.item').filter({ hasText: task })
    await row.waitFor()
    expect(await row.innerText()).toContain('send')
    await isFit()
    await bot.call('POST', `tasks/${task}/outcomes`, { body: { action_hash: HASH, outcome: 'executed' } })
    await ann.reload()
    await ann.getByText('Agents reported every call whose outcome policy expects.').waitFor()
  })
})
