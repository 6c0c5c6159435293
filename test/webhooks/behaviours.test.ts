import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

/**
 * Each entry of webhook-receiver-behaviours.json, with the title of the test that plays it. This test fails when such a
 * test is renamed or dropped.
 */

const OUTBOUND = 'outbound/outbound.test.ts'
const WEBHOOKS = 'http/webhooks.test.ts'
const PLAYED: Readonly<Record<string, readonly [file: string, title: string]>> = {
  W001: [OUTBOUND, '%i is returned as the answer'],
  W002: [OUTBOUND, '%i is returned as the answer'],
  W003: [OUTBOUND, '%i is returned as the answer'],
  W004: [OUTBOUND, "['never answers'"],
  W005: [OUTBOUND, 'fails in time when no server listens, or none speaks TLS'],
  W006: [OUTBOUND, "['drips its headers'"],
  W007: [OUTBOUND, "['drips its body for ever'"],
  W008: [OUTBOUND, "['has an endless body'"],
  W009: [OUTBOUND, "'says that ten gigabytes follow'"],
  W010: [OUTBOUND, "['sends a header of a megabyte'"],
  W011: [OUTBOUND, "'sends five thousand headers'"],
  W012: [OUTBOUND, "['says 100 for ever'"],
  W013: [OUTBOUND, "['says 103 for ever'"],
  W014: [OUTBOUND, "['resets at once'"],
  W015: [OUTBOUND, "'resets after its headers'"],
  W016: [OUTBOUND, "['speaks something else'"],
  W017: [OUTBOUND, '503, 999])'],
  W018: [OUTBOUND, "['has status 000'"],
  W019: [OUTBOUND, "['has two lengths'"],
  W020: [OUTBOUND, "'has a length and chunks'"],
  W021: [OUTBOUND, "'packs fifty megabytes into a few'"],
  W022: [OUTBOUND, '%i is not followed: one connection, one request'],
  W023: [
    WEBHOOKS,
    'repeat a delivery with the same id and body until one succeeds, at the times of the schedule',
  ],
  W024: [WEBHOOKS, 'end at once with 410: the destination is gone and gets no new deliveries'],
  W025: [WEBHOOKS, 'wait as long as the receiver asks, within a day'],
  W026: [WEBHOOKS, 'wait as long as the receiver asks, within a day'],
  W027: ['domain/retry.test.ts', "['-5', undefined]"],
  W028: ['domain/retry.test.ts', "['Mon, 02 Mar 2026 12:00:30 GMT', 30_000]"],
  W029: [OUTBOUND, "'switches to another protocol'"],
  W030: [OUTBOUND, "['says more than one answer'"],
  W031: [OUTBOUND, "['its certificate is signed by itself'"],
  W032: [OUTBOUND, "['its certificate has expired'"],
  W033: [OUTBOUND, "['its certificate is for another name'"],
  W034: [OUTBOUND, "'it speaks TLS 1.1 at the most'"],
  W035: [WEBHOOKS, 'attempts to a slow destination delay no other destination'],
  W036: [OUTBOUND, 'fails in time without an answer from DNS'],
  W037: [
    'outbound/guard.test.ts',
    'connects to a name with changing answers only while all of them are allowed',
  ],
  W038: [WEBHOOKS, 'are taken over after the lease of another gateway, with the same id'],
  W039: [
    WEBHOOKS,
    'continue while a receiver is down for three days, and then bring every event once by its id',
  ],
  W040: [WEBHOOKS, 'rotates the secret: both sign for a while, then only the new one'],
}

const file = new URL('../data/hostile/webhook-receiver-behaviours.json', import.meta.url)
const { entries } = JSON.parse(readFileSync(file, 'utf8')) as {
  entries: { id: string; behaviour: string }[]
}
const source = (file: string): string => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')

describe('receivers with unusual behaviour', () => {
  it.each(entries.map(({ id, behaviour }) => [id, behaviour]))('%s, %s, occurs in a test', (id) => {
    const [file, title] = PLAYED[id] ?? ['webhooks/behaviours.test.ts', 'nothing']
    expect(source(file)).toContain(title)
  })

  it('receivers with unusual behaviour are all in the table', () => {
    expect(Object.keys(PLAYED)).toEqual(entries.map(({ id }) => id))
  })
})
