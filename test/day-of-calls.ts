import { readdirSync, readFileSync } from 'node:fs'
import { BUNDLE } from './bundle.ts'
import type { Proposal } from './gateway-fixture.ts'

/* A day of 25 mixed calls of the starter policies. */

const STARTER = new URL('../policies/', import.meta.url)

export function starterFiles(): Record<string, string | null> {
  const paths = readdirSync(STARTER, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.yaml'),
  )
  const files = paths.map((path) => [path, readFileSync(new URL(path, STARTER), 'utf8')] as const)
  return {
    ...Object.fromEntries(Object.keys(BUNDLE).map((path) => [path, null])),
    ...Object.fromEntries(
      files.map(([path, text]) => [path, text.replace("['cloud.*',", "['cloud.*', 'deploy.*',")]),
    ),
    'tools/deploy.release.yaml': DEPLOY,
    'rules/deploy.release.yaml': DEPLOY_RULES,
  }
}

const DEPLOY = `tool: deploy.release
description: Release a version of a service.
summary: Deploy {service} {version} to {env}
risk: medium
input_schema:
  type: object
  required: [env, service, version, steps]
  properties:
    env:     { enum: [staging, prod] }
    service: { type: string, maxLength: 60 }
    version: { type: string, maxLength: 20 }
    steps:   { type: array, items: { type: string, maxLength: 200 } }
    values:  { type: object }
    notes:   { type: string, maxLength: 4000 }
`
const DEPLOY_RULES = `tool: deploy.release
owner: platform
rules:
  - id: deploy-any
    review: Each deploy is reviewed.
  - id: deploy-prod
    review: This changes production.
    when: { payload.env: prod }
    risk: high
`

type Agents = 'billing-bot' | 'support-bot' | 'ops-bot'
type Proposed = readonly [Agents, string, Proposal['payload']]

const refund = (order: number, amount_cents: number, more: object = {}): Proposed => [
  'billing-bot',
  'payments.refund',
  { charge: `ch_${order}`, amount_cents, currency: 'eur', order_id: `o-${order}`, ...more },
]
const email = (order: number): object => ({ email: `customer${order}@mail.example` })
const fetch = (path: string): Proposed => [
  'support-bot',
  'web.fetch',
  { url: `https://partner.example/${path}` },
]
const remove = (kind: string, name: string, env: string): Proposed => [
  'ops-bot',
  'cloud.delete',
  { kind, name, env },
]
const write = (name: string, content: string): Proposed => [
  'ops-bot',
  'file.write',
  { path: `/workspace/docs/${name}.md`, content },
]
const query = (database: string, text: string): Proposed => [
  'ops-bot',
  'sql.query',
  { database, query: text },
]
const mail = (to: readonly string[], subject: string, body: string): Proposed => [
  'support-bot',
  'email.send',
  { to, subject, body },
]
const run = (...argv: string[]): Proposed => ['ops-bot', 'shell.run', { argv, cwd: '/workspace' }]

/** About as many characters as `size`: lines of one or two sentences, and every seventh line empty. */
function prose(size: number): string {
  const line = (i: number): string =>
    i % 7 === 6
      ? ''
      : `${i}. The team measured route ${i * 37} again, and its figures stay below those of last month.`
  const lines = Array.from({ length: 400 }, (_, i) => line(i)).join('\n')
  return lines.slice(0, size)
}

/** A statement of about as many characters as `size`. */
function sql(size: number, begin: string): string {
  const lines = Array.from({ length: 100 }, (_, i) => `    coalesce(sum(o.amount_${i}), 0) as total_of_${i},`)
  const end = "    count(o.id)\n  from orders o\n  where o.at > '2026-01-01'"
  return `${begin}\n${lines.join('\n').slice(0, size)}\n${end}`.replace(/\n[^,\n]*(?=\n {4}count)/, '')
}

const deploy = (service: string, env: string): Proposed => [
  'ops-bot',
  'deploy.release',
  {
    env,
    service,
    version: '1.4.2',
    steps: Array.from(
      { length: 40 },
      (_, i) =>
        `kubectl apply --namespace ${service} --filename deploy/${service}/step-${i}.yaml --wait --timeout 90s`,
    ),
    values: {
      replicas: 6,
      image: { repository: `registry.acme.com/${service}`, tag: '1.4.2', pull: 'always' },
      resources: { cpu: '500m', memory: '512Mi' },
      env: Object.fromEntries(
        Array.from({ length: 40 }, (_, i) => [`FEATURE_${i}`, i % 3 === 0 ? 'on' : 'off']),
      ),
    },
    notes: prose(1_500),
  },
]
const thirty = [
  ...Array.from({ length: 29 }, (_, i) => `person${i + 1}@acme.com`),
  'someone@elsewhere.example',
]

interface Contents {
  readonly file: string
  readonly mail: string
  readonly count: string
  readonly remove: string
  readonly first: Proposed
  readonly test: Proposed
}

/** Low and medium, six of one kind, high, and critical: in the order in which they arrive. */
const callsOf = (by: Contents): readonly Proposed[] => [
  by.first,
  remove('vm', 'campaign-6', 'staging'),
  refund(8790, 6_400, email(1)),
  write('release-notes', by.file),
  mail(thirty, 'Numbers for the board', by.mail),
  refund(8795, 9_900, email(2)),
  query('staging', by.count),
  fetch('prices'),
  refund(8801, 11_850, email(3)),
  run('cat', '/workspace/.env'),
  remove('vm', 'campaign-7', 'staging'),
  refund(8803, 14_900, email(4)),
  fetch('contact'),
  query('analytics', by.remove),
  refund(8806, 16_600, email(5)),
  write('faq', by.file),
  by.test,
  refund(8809, 29_800, email(1)),
  ['billing-bot', 'ledger.transfer', transfer()],
  run('make', 'docs'),
  refund(9120, 31_000, { reason: 'fraudulent', ...email(6) }),
  mail(['dispatch@logistics.example'], 'Delivery on Tuesday', by.mail),
  fetch('status'),
  remove('vm', 'web-7', 'prod'),
  remove('cluster', 'search-blue', 'prod'),
]

function transfer(): object {
  return { from: 'acct_ops', to: 'acct_reserve_7', amount_cents: 36_000, currency: 'eur', memo: 'surplus' }
}

/** Twenty-five calls, whose texts a reviewer reads at a glance. */
export const short = callsOf({
  file: 'Release notes.\n\nNothing else changed.',
  mail: 'Dear all,\n\nhere are the numbers.\n\nBest regards',
  count: 'select count(*) from orders',
  remove: "delete from sessions where at < '2026-01-01'",
  first: fetch('terms'),
  test: run('npm', 'test'),
})
/** As real agents write them. */
export const long = callsOf({
  file: prose(6_000),
  mail: prose(3_000),
  count: sql(2_800, 'select'),
  remove: `delete from sessions where id in (\n${sql(2_700, '  select')})`,
  first: deploy('web', 'staging'),
  test: deploy('shop', 'prod'),
})
