import { describe, expect, it } from 'vitest'
import { chatCard, chatText } from '../../src/events/chat.ts'

const event = {
  type: 'review.pending',
  tenant_id: 'acme',
  agent_id: 'billing-bot',
  tool_name: 'payments.refund',
  task_id: 'case-7',
  revision: 1,
  risk: 'high',
  groups: ['finance', 'security'],
} as const
const LINK = 'https://countersign.example/console/#/thread/thr_01'

describe('a line for a chat', () => {
  it('says what waits, whose it is, and where to decide', () => {
    expect(chatText(event, LINK)).toBe(
      '`payments.refund` waits for `finance`, `security` (risk high, agent `billing-bot`, task `case-7`, tenant `acme`)\n' +
        LINK,
    )
  })

  it('says which revision it is, when it is not the first', () => {
    expect(chatText({ ...event, type: 'review.approved', revision: 2 })).toBe(
      '`payments.refund` was approved (risk high, agent `billing-bot`, task `case-7`, revision 2, tenant `acme`)',
    )
  })

  it('says who may decide only while it waits, and of whom nothing is known that they are people', () => {
    expect(chatText({ ...event, type: 'review.reminded' })).toContain(
      ' still waits for `finance`, `security` (',
    )
    expect(chatText({ ...event, type: 'review.escalated' })).toContain(
      ' still waits, now for `finance`, `security` (',
    )
    expect(chatText({ ...event, type: 'review.expired' })).toContain(' has expired (')
    expect(chatText({ ...event, groups: [] })).toContain(' waits for people (')
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
    'https://evil.example/sign-in',
    'ftp:///evil.example//sign-in',
    '`` ` *bold* ~x~ ``',
    'a"b\\n&amp;',
  ])('has nothing that a chat would take for a mention, a link or markup: %s', (tool_name) => {
    const rejected = { ...event, type: 'decision.rejected', tool_name } as const
    const name = /^`([^`]*)` was rejected by policy \(/.exec(chatText(rejected))?.[1]
    expect(name).toHaveLength(tool_name.length)
    const [run] = chatCard(rejected).attachments[0]?.content.body[0]?.inlines ?? []
    expect(run).toEqual({ type: 'TextRun', text: name, fontType: 'Monospace' })
    expect(name).toMatch(/^[A-Za-z0-9._:/?-]+$/)
    expect(name).not.toContain('//')
  })

  it('leaves the names that contracts may have as they are', () => {
    expect(chatText({ ...event, tool_name: 'mcp:ledger/pay_out.v2' })).toContain(
      '`mcp:ledger/pay_out.v2` waits',
    )
  })

  it('cuts the name of a tool that nobody would read to its end', () => {
    expect(chatText({ ...event, tool_name: 'x'.repeat(129) })).toMatch(/^`x{128}\.\.\.` waits/)
    expect(chatText({ ...event, tool_name: 'x'.repeat(128) })).toMatch(/^`x{128}` waits/)
  })
})

describe('the heading of a call in a chat', () => {
  const heading = {
    line: 'Transfer $250.00 from acct_ops to acct_travel',
    segments: [
      { text: 'Transfer ' },
      { text: '$250.00', field: 'payload.amount_cents', exact: '25000' },
      { text: ' from ' },
      { text: 'acct_ops', field: 'payload.from' },
    ],
    template: 'a'.repeat(64),
  }

  it('is what the message begins with: words of the policy, and values apart from them, with the exact one beside', () => {
    expect(chatText({ ...event, heading, groups: ['finance'] }, LINK)).toBe(
      'Transfer `$250.00` (`25000`) from `acct_ops` waits for `finance` ' +
        '(tool `payments.refund`, risk high, agent `billing-bot`, task `case-7`, tenant `acme`)\n' +
        LINK,
    )
  })

  it('without a template is the name of the tool and the fields that rules read', () => {
    const bare = {
      line: 'payments.refund: amount_cents 5',
      segments: [
        { text: 'payments.refund' },
        { text: ': amount_cents ' },
        { text: '5', field: 'payload.amount_cents' },
      ],
    }
    expect(chatText({ ...event, heading: bare })).toMatch(
      /^`payments\.refund`: amount cents `5` waits for .* \(risk high, agent/,
    )
    const unknown = { line: '<!channel>', segments: [{ text: '<!channel>' }] }
    expect(chatText({ ...event, heading: unknown })).toMatch(/^`\?\?channel\?` waits/)
  })

  it('shows a tag in the place of what is sensitive', () => {
    const segments = [{ text: '[hidden 1a2b3c4d]', field: 'payload.iban', sensitive: true as const }]
    expect(chatText({ ...event, heading: { ...heading, segments } })).toMatch(/^`hidden 1a2b3c4d` waits/)
  })

  it.each([
    '<!channel> pay',
    '@all @here',
    '[approve](https://evil.example)',
    '<https://evil.example|approve>',
    '`` ` *bold* ~x~ ``',
    '\u202egnp.exe\u2066',
    '\u05d0\u05d1 100',
    'a\nb\u2028c',
  ])('has nothing in a value or a word that a chat takes for a mention, a link or markup: %s', (text) => {
    const segments = [{ text }, { text, field: 'payload.x', exact: text }]
    const [said = ''] = chatText({ ...event, heading: { ...heading, segments } }).split(' waits for')
    expect(said.replaceAll(/`[^`]*`/g, '')).not.toMatch(/[<>@*~[\]|_!#\\`]|\S\.\p{L}/u)
    expect(said).not.toMatch(/[<>@*~|!#\\\p{Cc}\p{Cf}\u2028\u05d0]|\/\//u)
    expect(said.match(/`/g)).toHaveLength(4)
  })

  it('of an address says what it is, and mentions nobody', () => {
    const segments = [{ text: 'jo@customer.example', field: 'payload.to' }]
    expect(chatText({ ...event, heading: { ...heading, segments } })).toMatch(
      /^`jo\(at\)customer\.example` waits/,
    )
  })
})

describe('a card for Microsoft Teams', () => {
  it('says the same, in runs of text that know no markup, with a button that leads to the thread', () => {
    const text = (words: string): object => ({ type: 'TextRun', text: words })
    const name = (words: string): object => ({ ...text(words), fontType: 'Monospace' })
    expect(chatCard({ ...event, groups: ['finance'] }, LINK)).toEqual({
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          content: {
            type: 'AdaptiveCard',
            $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
            version: '1.2',
            body: [
              {
                type: 'RichTextBlock',
                inlines: [
                  name('payments.refund'),
                  text(' waits for'),
                  text(' '),
                  name('finance'),
                  text(' ('),
                  text('risk high'),
                  text(', '),
                  text('agent '),
                  name('billing-bot'),
                  text(', '),
                  text('task '),
                  name('case-7'),
                  text(', '),
                  text('tenant '),
                  name('acme'),
                  text(')'),
                ],
              },
            ],
            actions: [{ type: 'Action.OpenUrl', title: 'Look at it', url: LINK }],
          },
        },
      ],
    })
  })

  it('has no button where there is nothing to look at', () => {
    const [card] = chatCard({ type: 'webhook.ping', tenant_id: 'acme' }).attachments
    expect(card?.content.actions).toBeUndefined()
  })
})
