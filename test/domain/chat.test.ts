import { describe, expect, it } from 'vitest'
import { chatText } from '../../src/domain/chat.ts'

const event = {
  type: 'review.pending',
  tenant_id: 'acme',
  agent_id: 'billing-bot',
  tool_name: 'payments.refund',
  task_id: 'case-7',
  revision: 1,
  risk: 'high',
} as const
const LINK = 'https://countersign.example/console/#/thread/thr_01'

describe('a line for a chat', () => {
  it('says what waits, whose it is, and where to decide', () => {
    expect(chatText(event, LINK)).toBe(
      '`payments.refund` waits for people (risk high, agent `billing-bot`, task `case-7`, tenant `acme`)\n' +
        LINK,
    )
  })

  it('says which revision it is, when it is not the first', () => {
    expect(chatText({ ...event, type: 'review.approved', revision: 2 })).toBe(
      '`payments.refund` was approved (risk high, agent `billing-bot`, task `case-7`, revision 2, tenant `acme`)',
    )
  })

  it('leaves out what is not known', () => {
    expect(
      chatText({ type: 'decision.allowed', tenant_id: 'acme', agent_id: 'bot', tool_name: 'web.fetch' }),
    ).toBe('`web.fetch` was allowed by policy (agent `bot`, tenant `acme`)')
  })

  it('of a test names the tenant', () => {
    expect(chatText({ type: 'webhook.ping', tenant_id: 'acme' })).toBe(
      'A test: this chat is told what tenant `acme` asks for.',
    )
  })

  it.each([
    '<!channel> pay',
    '<users/all>',
    '@all @here',
    '[approve](https://evil.example)',
    '<https://evil.example|approve>',
    '`` ` *bold* ~x~ ``',
    'a"b\\n&amp;',
  ])('has nothing that a chat would take for a mention, a link or markup: %s', (tool_name) => {
    const rejected = { ...event, type: 'decision.rejected', tool_name } as const
    const name = /^`([^`]*)` was rejected by policy \(/.exec(chatText(rejected))?.[1]
    expect(name).toHaveLength(tool_name.length)
    expect(name).toMatch(/^[A-Za-z0-9._:/?-]+$/)
  })

  it('cuts the name of a tool that nobody would read to its end', () => {
    expect(chatText({ ...event, tool_name: 'x'.repeat(129) })).toMatch(/^`x{128}\.\.\.` waits/)
    expect(chatText({ ...event, tool_name: 'x'.repeat(128) })).toMatch(/^`x{128}` waits/)
  })
})
