import { expect, it } from 'vitest'
import { shortened } from '../../src/domain/shorten.ts'

const EVIL = 'https://partner.example.login.account-check.evil-domain.test/a/very/long/path/orders'

it.each([
  ['a URL keeps the end of its host and of its path', EVIL, 32, '…-check.evil-domain.test…/orders'],
  ['a URL that fits a host', EVIL, 70, `${EVIL.slice(0, 60)}…th/orders`],
  [
    'a URL with a name before its host',
    `https://partner.example@evil.test/${'a/'.repeat(50)}end`,
    32,
    'https://…@evil.test…/a/a/a/a/end',
  ],
  ['a punycode host', `https://${'a.'.repeat(20)}xn--bnk-5qa.test/x`, 32, '….a.a.a.a.a.a.xn--bnk-5qa.test/x'],
  ['an address', `http://192.0.2.7:8080/${'a'.repeat(40)}`, 32, 'http://192.0.2.7:8080…aaaaaaaaaa'],
  ['a mail address', 'jonathan.livingston.seagull@bank.example', 30, 'jonathan.livings…@bank.example'],
  [
    'a path keeps its file name',
    '/workspace/some/deeper/folder/release-notes.md',
    32,
    '/workspace/som…/release-notes.md',
  ],
  ['a key keeps its end', 'sk_live_51Habcdefghijklmnopqrstuvwxyz0123', 24, 'sk_live_51Habcd…wxyz0123'],
  ['other text keeps its beginning', 'a '.repeat(30), 10, 'a a a a a…'],
  ['text that fits', 'short', 10, 'short'],
])('%s', (_, text, most, expected) => {
  expect(shortened(text, most)).toBe(expected)
})

it('never makes a text longer, and never splits a character', () => {
  for (const text of [
    EVIL.repeat(20),
    `https://${'💥'.repeat(60)}`,
    `${'💥'.repeat(60)}@a`,
    `/${'💥'.repeat(60)}`,
  ])
    for (const most of [12, 30, 80]) {
      const short = shortened(text, most)
      expect(Array.from(short).length).toBeLessThanOrEqual(most)
      expect(short.isWellFormed()).toBe(true)
    }
})
