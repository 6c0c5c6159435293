import { describe, expect, it } from 'vitest'
import { type PreparedBundle, prepareBundle } from '../../../src/policy/bundle/load.ts'
import { CASE_KEYS } from '../../../src/policy/check/case.ts'
import { SEEN } from '../../../src/policy/check/change.ts'
import { LEVEL_KEYS } from '../../../src/policy/check/level.ts'
import { LIMIT_KEYS } from '../../../src/policy/check/limit.ts'
import { ROUTING_KEYS } from '../../../src/policy/check/routing.ts'
import { RULE_KEYS } from '../../../src/policy/check/rule.ts'
import { BOOLEAN, diffOf, key, schemaOf, specOf, TEXT } from '../../../src/policy/check/spec.ts'
import { TOOL_KEYS } from '../../../src/policy/check/tool.ts'
import { contractNotes } from '../../../src/policy/diff/contracts.ts'
import { diffRouting } from '../../../src/policy/diff/routing.ts'
import type { BundleIr } from '../../../src/policy/language/rule.ts'
import { bundle, CONTRACT } from '../support.ts'

type Parts = Readonly<Record<string, unknown>>

const level = (group: string, expires: string): Parts => ({ group, approvals: 1, expires })
const ROUTING = {
  levels: {
    low: level('on-call', '8h'),
    medium: level('team-leads', '4h'),
    high: level('security', '1h'),
    critical: level('security-leads', '30m'),
  },
  lists: { few: [1, 2] },
}
const RULE = { id: 'pay-small', allow: 'Small.', when: { 'payload.amount': '$few' } }
const LIMIT = { id: 'daily', reject: 'Much.', count: 'calls', at_most: 9, within: '24h', per: 'agent' }
const SUMMED = CONTRACT.replace(
  'amount: { type: [integer, "null"] }',
  'amount: { type: integer, minimum: 0 }',
)
const TOOL = { tool: 'pay', description: 'Pay.', risk: 'low', input_schema: { type: 'object' } }

// JSON is YAML.
const file = (path: string, parts: Parts): Record<string, string> => ({ [path]: JSON.stringify(parts) })
const ruleFile = (parts: Parts): Record<string, string> => ({
  ...file('rules/pay.yaml', { tools: ['*'], rules: [RULE], ...parts }),
  ...file('routing.yaml', ROUTING),
})

interface Kind {
  readonly rows: Readonly<Record<string, { readonly diff: unknown }>>
  /** For each key, the parts of an entry that has the key. */
  readonly examples: Readonly<Record<string, Parts>>
  readonly files: (parts: Parts) => Readonly<Record<string, string>>
  readonly base: Parts
  /** The lines of `diff`. */
  readonly says?: (before: BundleIr, after: BundleIr) => readonly unknown[]
}

/** Each kind of entry, with an example of each key. A key without an example does not compile. */
const kind = <K extends string>(
  spec: { readonly rows: Readonly<Record<K, { readonly diff: unknown }>> },
  examples: Readonly<Record<K, Parts>>,
  rest: Omit<Kind, 'rows' | 'examples'>,
): Kind => ({ rows: spec.rows, examples, ...rest })

const verdict = (of: Parts): Parts => ({ allow: undefined, ...of })
const allowing = (id: string, when: Parts): Parts => ({ id, allow: 'Odd.', when })
const KINDS: Readonly<Record<string, Kind>> = {
  'routing.yaml': kind(
    ROUTING_KEYS,
    {
      unmatched: { unmatched: 'review' },
      allow_up_to: { allow_up_to: 'high' },
      timezone: { timezone: 'Europe/Berlin' },
      levels: {},
      retention: { retention: { threads: '10d' } },
      disclose: { disclose: { comments: 'none' } },
      lists: {},
      budgets: { budgets: { waiting_per_agent: 5 } },
    },
    {
      base: ROUTING,
      files: (parts) => ({ ...ruleFile({}), ...file('routing.yaml', parts) }),
      says: diffRouting,
    },
  ),
  level: kind(
    LEVEL_KEYS,
    {
      group: { group: 'team-leads' },
      approvals: { approvals: 2 },
      interactive: { interactive: true },
      expires: { expires: '7h' },
      remind_after: { remind_after: '1h' },
      escalate: { escalate: { after: '1h', group: 'security' } },
      working: { working: { days: ['mon'], hours: '08:00-18:00' } },
      comments: { comments: ['No.'] },
      require_comment: { require_comment: true },
      reveal: { reveal: 'required' },
      require_displayed: { require_displayed: true },
      chat: { chat: true },
    },
    {
      base: level('on-call', '8h'),
      files: (low) => ({
        ...ruleFile({}),
        ...file('routing.yaml', { ...ROUTING, levels: { ...ROUTING.levels, low } }),
      }),
      says: diffRouting,
    },
  ),
  contract: kind(
    TOOL_KEYS,
    {
      tool: {},
      description: {},
      summary: { summary: 'Pay {to}' },
      risk: {},
      reversibility: { reversibility: 'irreversible' },
      proof: { proof: 'always' },
      outcome: { outcome: 'expected within 10m' },
      labels: { labels: ['money'] },
      sensitive: { sensitive: ['payload.to'] },
      disclose: { disclose: { 'payload.to': 'none' } },
      source: { source: { server: 'bank', name: 'pay' } },
      input_schema: {},
    },
    {
      base: { ...TOOL, input_schema: { type: 'object', properties: { to: { type: 'string' } } } },
      files: (parts) => ({
        ...file('tools/pay.yaml', parts),
        ...file('rules/pay.yaml', { tools: ['*'], rules: [{ id: 'any', allow: 'All.' }] }),
      }),
      says: (before, after) => contractNotes(before.tools[0]?.contract, after.tools[0]?.contract),
    },
  ),
  rule: kind(
    RULE_KEYS,
    {
      id: {},
      allow: {},
      review: verdict({ review: 'R.' }),
      reject: verdict({ reject: 'R.' }),
      when: {},
      unless: { unless: { 'payload.note': 'x' } },
      unknown: verdict({ reject: 'R.', unknown: 'review' }),
      risk: { risk: 'medium', review: 'R.', allow: undefined },
      reviewers: verdict({ review: 'R.', reviewers: { group: 'on-call' } }),
      mode: { mode: 'shadow' },
      from: { from: '2026-01-01' },
      until: { until: '2099-01-01' },
    },
    { base: RULE, files: (rule) => ruleFile({ rules: [rule] }) },
  ),
  limit: kind(
    LIMIT_KEYS,
    {
      id: {},
      review: { review: 'R.', reject: undefined },
      reject: {},
      risk: { risk: 'high' },
      mode: { mode: 'shadow' },
      count: {},
      sum: { sum: 'payload.amount', count: undefined },
      at_most: {},
      within: {},
      per: {},
    },
    {
      base: LIMIT,
      files: (limit) => ({ ...ruleFile({ limits: [limit] }), 'tools/pay.yaml': SUMMED }),
    },
  ),
  test: kind(
    CASE_KEYS,
    {
      allow: {},
      review: verdict({ review: 'T.', risk_level: 'high' }),
      reject: verdict({ reject: 'T.', payload: { amount: 9 } }),
      payload: {},
      agent: { payload: { amount: 9 }, agent: 'odd' },
      task: { payload: { amount: 9 }, task: { workflow: 'odd' } },
      used: verdict({ reject: 'T.', used: { daily: 9 } }),
      risk_level: verdict({ review: 'T.', risk_level: 'high' }),
      time: { payload: { amount: 9 }, time: { weekday: 'sun' } },
      tool: {},
      risk: { risk: 'low' },
      by: { by: ['pay-small'] },
    },
    {
      base: { allow: 'T.', tool: 'pay', agent: 'bot', payload: { amount: 1 } },
      files: (test) => ({
        ...ruleFile({
          rules: [
            RULE,
            allowing('agent', { 'agent.id': 'odd' }),
            allowing('task', { 'task.workflow': 'odd' }),
            allowing('time', { 'time.weekday': 'sun' }),
          ],
          limits: [LIMIT],
          tests: [test],
        }),
        'tools/other.yaml': CONTRACT.replace('tool: pay', 'tool: other'),
      }),
    },
  ),
}

describe.each(Object.entries(KINDS))('a key of a %s', (_, { rows, examples, files, base, says }) => {
  it.each(Object.entries(examples))('%s decides something', async (name, example) => {
    const whole = { ...base, ...example }
    const after = await prepared(files(whole))
    const bare = await prepared(files({ ...whole, [name]: undefined }))
    expect(after).toBeDefined()
    expect(meaningOf(bare)).not.toEqual(meaningOf(after))
    if (bare && after && says) expect(says(bare.ir, after.ir).length > 0).toBe(rows[name]?.diff !== SEEN)
  })
})

type Prepared = Extract<PreparedBundle, { readonly ok: true }>

async function prepared(files: Readonly<Record<string, string>>): Promise<Prepared | undefined> {
  const texts = Object.entries(bundle(files)).map(([path, text]) => ({ path, text }))
  const made = await prepareBundle(texts)
  return made.ok ? made : undefined
}

const meaningOf = (made: Prepared | undefined): unknown =>
  made && [
    made.ir.head.routing,
    made.ir.ruleFiles,
    made.ir.tools.map(({ contract }) => ({ ...contract, revision: '' })),
    made.results.map(({ case: { risk, by } }) => [risk, by]),
  ]

describe('a key of a bundle that is half there', () => {
  interface Entry {
    readonly one?: boolean
  }
  const row = key('one', BOOLEAN, 'A doc.', SEEN)
  const { diff, ...unsaid } = row
  const { read, ...unread } = row
  const { schema, ...unshown } = row

  it('does not compile: without a member that takes it, reader, schema, or words of diff', () => {
    const whole = specOf<Entry>()('a thing', { one: row })
    // @ts-expect-error no member takes the value
    specOf<Entry>()('a thing', { two: key('two', BOOLEAN, '', SEEN) })
    // @ts-expect-error the member has another type
    specOf<Entry>()('a thing', { one: key('one', TEXT, '', SEEN) })
    // @ts-expect-error `diff` says nothing
    specOf<Entry>()('a thing', { one: unsaid })
    // @ts-expect-error nothing reads it
    specOf<Entry>()('a thing', { one: unread })
    // @ts-expect-error editors do not know it
    specOf<Entry>()('a thing', { one: unshown })
    expect([diff, read, schema]).toEqual([SEEN, BOOLEAN.read, BOOLEAN.schema])
    expect(schemaOf(whole)).toMatchObject({ properties: { one: { type: 'boolean', description: 'A doc.' } } })
    expect(diffOf(whole, [{ one: true }, {}], undefined)).toEqual([])
  })
})
