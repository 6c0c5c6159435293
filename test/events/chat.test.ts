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
  it('says which call waits, for whom, and where to decide', () => {
    expect(chatText(event, LINK)).toBe(
      '`payments.refund` waits for `finance`, `security` (risk high, agent `billing-bot`, task `case-7`, tenant `acme`)\n' +
        LINK,
    )
  })

  it('names the revision unless it is the first', () => {
    expect(chatText({ ...event, type: 'review.approved', revision: 2 })).toBe(
      '`payments.refund` was approved (risk high, agent `billing-bot`, task `case-7`, revision 2, tenant `acme`)',
    )
  })

  it('names the reviewers only while the call waits, and says reviewers when it has no groups', () => {
    expect(chatText({ ...event, type: 'review.reminded' })).toContain(
      ' still waits for `finance`, `security` (',
    )
    expect(chatText({ ...event, type: 'review.escalated' })).toContain(
      ' still waits, now for `finance`, `security` (',
    )
    expect(chatText({ ...event, type: 'review.expired' })).toContain(' has expired (')
    expect(chatText({ ...event, groups: [] })).toContain(' waits for reviewers (')
  })

  it('says since when policy asks for more, without characters that a chat interprets', () => {
    const raised = { at: '2026-03-02T14:05:09.000Z', asks: 'two of security-leads and one of @here' }
    expect(chatText({ ...event, type: 'review.pending', raised })).toContain(
      ', since 14:05 UTC policy asks for `two of security-leads and one of ?here` (',
    )
  })

  it('says who decided, and that an approval was not collected', () => {
    const decided = { ...event, groups: [], decided_by: ['ann', '@ben'] }
    expect(chatText({ ...decided, type: 'review.rejected' })).toContain(' was rejected by `ann`, `?ben` (')
    expect(chatText({ ...decided, type: 'review.expired' })).toContain(
      ' was approved by `ann`, `?ben`, but its agent did not collect the approval in time (',
    )
  })

  it('leaves out unknown fields', () => {
    expect(
      chatText({ type: 'decision.allowed', tenant_id: 'acme', agent_id: 'bot', tool_name: 'web.fetch' }),
    ).toBe('`web.fetch` was allowed by policy (agent `bot`, tenant `acme`)')
  })

  it('names the tenant in a test message', () => {
    expect(chatText({ type: 'webhook.ping', tenant_id: 'acme' })).toBe(
      'A test: this chat receives the calls of tenant `acme`.',
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
  ])('contains no mention, link or markup for a chat: %s', (tool_name) => {
    const rejected = { ...event, type: 'decision.rejected', tool_name } as const
    const name = /^`([^`]*)` was rejected by policy \(/.exec(chatText(rejected))?.[1]
    expect(name).toHaveLength(tool_name.length)
    const [run] = chatCard(rejected).attachments[0]?.content.body[0]?.inlines ?? []
    expect(run).toEqual({ type: 'TextRun', text: name, fontType: 'Monospace' })
    expect(name).toMatch(/^[A-Za-z0-9._:/?-]+$/)
    expect(name).not.toContain('//')
  })

  it('keeps names that contracts may have unchanged', () => {
    expect(chatText({ ...event, tool_name: 'mcp:ledger/pay_out.v2' })).toContain(
      '`mcp:ledger/pay_out.v2` waits',
    )
  })

  it('shortens a tool name that is too long to read', () => {
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

  it("begins the message with the policy's words and marked values, each with its exact value", () => {
    expect(chatText({ ...event, heading, groups: ['finance'] }, LINK)).toBe(
      'Transfer `$250.00` (`25000`) from `acct_ops` waits for `finance` ' +
        '(tool `payments.refund`, risk high, agent `billing-bot`, task `case-7`, tenant `acme`)\n' +
        LINK,
    )
  })

  it('consists of tool name and fields of rules when there is no template', () => {
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

  it('shows a tag in place of a sensitive value', () => {
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
  ])('contains no mention, link or markup of a chat in a value or word: %s', (text) => {
    const segments = [{ text }, { text, field: 'payload.x', exact: text }]
    const [said = ''] = chatText({ ...event, heading: { ...heading, segments } }).split(' waits for')
    expect(said.replaceAll(/`[^`]*`/g, '')).not.toMatch(/[<>@*~[\]|_!#\\`]|\S\.\p{L}/u)
    expect(said).not.toMatch(/[<>@*~|!#\\\p{Cc}\p{Cf}\u2028\u05d0]|\/\//u)
    expect(said.match(/`/g)).toHaveLength(4)
  })

  it('escapes an address so that it mentions no user', () => {
    const segments = [{ text: 'jo@customer.example', field: 'payload.to' }]
    expect(chatText({ ...event, heading: { ...heading, segments } })).toMatch(
      /^`jo\(at\)customer\.example` waits/,
    )
  })
})

describe('a card for Microsoft Teams', () => {
  it('contains the same words as plain text runs, and a button that opens the thread', () => {
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

  it('has no button when there is no thread to open', () => {
    const [card] = chatCard({ type: 'webhook.ping', tenant_id: 'acme' }).attachments
    expect(card?.content.actions).toBeUndefined()
  })
})
