import { describe, expect, it } from 'vitest'
import { rich, runCases, type Case } from '../cases.ts'
import { bundle, diagnose } from '../support.ts'

const LITERALS: readonly Case[] = [
  [
    'text where a number is',
    rich('{ payload.amount: "500" }'),
    'rules/pay.yaml:5:29 literal-type: `500` is text, but `payload.amount` of `pay` is a whole number | write it without quotes',
  ],
  [
    'a number where text is',
    rich('{ payload.note: 500 }'),
    'rules/pay.yaml:5:27 literal-type: `500` is a number, but `payload.note` of `pay` is text | put it in quotes',
  ],
  [
    'text where true or false is',
    rich('{ payload.on: "true" }'),
    'rules/pay.yaml:5:25 literal-type: `true` is text, but `payload.on` of `pay` is true or false | write it without quotes',
  ],
  [
    'a misspelt value of an enum',
    rich('{ payload.currency: [usd, eru] }'),
    'rules/pay.yaml:5:37 literal-enum: `payload.currency` of `pay` is never `eru`: it is one of usd, eur, gbp | did you mean `eur`?',
  ],
  [
    'a value that not excludes in vain',
    rich('{ payload.currency: { not: yen } }'),
    'rules/pay.yaml:5:38 literal-enum: `payload.currency` of `pay` is never `yen`: it is one of usd, eur, gbp',
  ],
  [
    'another value than const',
    rich('{ payload.kind: refnud }'),
    'rules/pay.yaml:5:27 literal-enum: `payload.kind` of `pay` is never `refnud`: it is one of refund | did you mean `refund`?',
  ],
  [
    'a number outside an enum of numbers',
    rich('{ payload.level: 4 }'),
    'rules/pay.yaml:5:28 literal-enum: `payload.level` of `pay` is never 4: it is one of 1, 2, 3',
  ],
  [
    'the other truth value of a const',
    rich('{ payload.on: false }'),
    'rules/pay.yaml:5:25 literal-enum: `payload.on` of `pay` is never false',
  ],
  [
    'a value outside the branches of oneOf',
    rich('{ payload.one: d }'),
    'rules/pay.yaml:5:26 literal-enum: `payload.one` of `pay` is never `d`: it is one of a, b, c',
  ],
  [
    'an entry that a list never holds',
    rich('{ payload.tags: { contains: blue } }'),
    'rules/pay.yaml:5:39 literal-enum: an entry of `payload.tags` of `pay` is never `blue`: it is one of red, green',
  ],
  [
    'a prefix that no value of an enum has',
    rich('{ payload.currency: { starts_with: us-} }'),
    'rules/pay.yaml:5:46 literal-enum: `starts_with` `us-` never holds: `payload.currency` of `pay` is one of usd, eur, gbp',
  ],
  [
    'a list of routing.yaml of which nothing fits',
    rich('{ payload.currency: $our_domains }'),
    'rules/pay.yaml:5:31 literal-enum: `payload.currency` of `pay` is never `acme.com`: it is one of usd, eur, gbp',
  ],
  [
    'a number above the maximum of a $ref',
    rich('{ payload.amount: { over: 5000 } }'),
    'rules/pay.yaml:5:37 literal-range: `over` 5000 never holds: `payload.amount` of `pay` is at least 1 and at most 1000',
  ],
  [
    'a comparison at the maximum itself',
    rich('{ payload.amount: { over: 1000 } }'),
    'rules/pay.yaml:5:37 literal-range: `over` 1000 never holds: `payload.amount` of `pay` is at least 1 and at most 1000',
  ],
  [
    'a comparison that always holds',
    rich('{ payload.amount: { at_most: 5000 } }'),
    'rules/pay.yaml:5:40 literal-range: `at_most` 5000 always holds: `payload.amount` of `pay` is at least 1 and at most 1000',
  ],
  [
    'an exclusive bound',
    rich('{ payload.share: { at_least: 1 } }'),
    'rules/pay.yaml:5:40 literal-range: `at_least` 1 never holds: `payload.share` of `pay` is above 0 and below 1',
  ],
  [
    'equality outside the range',
    rich('{ payload.amount: 0 }'),
    'rules/pay.yaml:5:29 literal-range: `payload.amount` of `pay` is never 0: it is at least 1 and at most 1000',
  ],
  [
    'a fraction of a whole number',
    rich('{ payload.amount: 1.5 }'),
    'rules/pay.yaml:5:29 literal-range: `payload.amount` of `pay` is never 1.5: it is a whole number',
  ],
  [
    'what is no multiple of the step',
    rich('{ payload.price: 19.99 }'),
    'rules/pay.yaml:5:28 literal-range: `payload.price` of `pay` is never 19.99: it is a multiple of 0.05',
  ],
  [
    'bounds of several allOf',
    rich('{ payload.both: 4 }'),
    'rules/pay.yaml:5:27 literal-range: `payload.both` of `pay` is never 4: it is at least 5 and at most 9',
  ],
  [
    'a branch of anyOf',
    rich('{ payload.who: { under: 10 } }'),
    'rules/pay.yaml:5:35 literal-range: `under` 10 never holds: `payload.who` of `pay` is at least 10',
  ],
  [
    'a number in a list of lists',
    rich('{ payload.grid: { some: { some: { under: 0 } } } }'),
    'rules/pay.yaml:5:52 literal-range: `under` 0 never holds: an entry of an entry of `payload.grid` of `pay` is at least 0',
  ],
  [
    'a length beyond maxItems',
    rich('{ payload.tags: { count: { over: 3 } } }'),
    'rules/pay.yaml:5:44 literal-range: `over` 3 never holds: the length of `payload.tags` of `pay` is at least 1 and at most 3',
  ],
  [
    'text below minLength',
    rich('{ payload.note: ab }'),
    'rules/pay.yaml:5:27 literal-form: `payload.note` of `pay` is never `ab`: it is 3 to 10 characters long',
  ],
  [
    'a part longer than maxLength',
    rich('{ payload.note: { contains: abcdefghijk } }'),
    'rules/pay.yaml:5:39 literal-form: `contains` `abcdefghijk` never holds: `payload.note` of `pay` is 3 to 10 characters long',
  ],
  [
    'text against the pattern',
    rich('{ payload.code: cha_1 }'),
    'rules/pay.yaml:5:27 literal-form: `payload.code` of `pay` is never `cha_1`, which is not text of the pattern ^ch_[0-9]+$',
  ],
  [
    'text against the format',
    rich('{ payload.mail: nobody }'),
    'rules/pay.yaml:5:27 literal-form: `payload.mail` of `pay` is never `nobody`, which is not a valid email',
  ],
  [
    'a domain in capitals',
    rich('{ domain(payload.mail): ACME.com }'),
    'rules/pay.yaml:5:35 literal-form: `domain(payload.mail)` of `pay` is never `ACME.com`, which is not a domain in lower case',
  ],
  [
    'the end of a host in capitals',
    rich('{ host(payload.url): { ends_with: .ACME.com } }'),
    'rules/pay.yaml:5:45 literal-form: `ends_with` `.ACME.com` never holds: `host(payload.url)` of `pay` is a host in lower case | write `.acme.com`',
  ],
  [
    'a path with a slash at its end',
    rich('{ path(payload.url): /workspace/ }'),
    'rules/pay.yaml:5:32 literal-form: `path(payload.url)` of `pay` is never `/workspace/`, which is not an absolute path without a slash at its end',
  ],
  [
    'a verb in capitals',
    rich('{ sql_verbs(payload.sql): { some: DROP } }'),
    'rules/pay.yaml:5:45 literal-form: an entry of `sql_verbs(payload.sql)` of `pay` is never `DROP`, which is not one SQL verb in lower case',
  ],
  [
    'a tool that the file is not about',
    rich('{ tool.name: pya }'),
    'rules/pay.yaml:5:24 literal-enum: `tool.name` is never `pya`: it is one of pay | did you mean `pay`?',
  ],
]

describe('the type check of a literal', () => runCases(LITERALS))

it('reports only one problem of a number that is not finite', async () => {
  for (const test of ['.nan', '[0.5, .inf]', '{ over: .inf }', '{ not: { under: -.inf } }']) {
    const found = await diagnose(bundle(rich(`{ payload.share: ${test} }`)))
    expect(found.map(({ code }) => code)).toEqual(['unsafe-number'])
  }
})
