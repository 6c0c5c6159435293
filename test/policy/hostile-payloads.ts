import type { JsonObject, JsonValue } from '../../src/contract/json.ts'
import { textsOf } from '../texts.ts'

/** Payloads of an attacker who chooses every field, by bundle and tool. The bundle must allow no such payload. */
export interface Hostile {
  readonly bundle: string
  readonly tool: string
  readonly payloads: readonly JsonObject[]
}

const mail = (...changes: readonly Record<string, JsonValue>[]): readonly JsonObject[] =>
  changes.map((change) => ({ to: ['a@acme.com'], subject: 'hi', body: 'x', ...change }))
const ADDRESSES = textsOf('payload-texts', 'addresses')
const people = (many: number): readonly string[] => Array.from({ length: many }, (_, n) => `p${n}@acme.com`)
const lines = [
  '\r\nBcc: x@evil.example',
  '\nBcc: x@evil.example',
  '\rBcc: x@evil.example',
  '\u0000',
  '\u2028Bcc: x@evil.example',
  '\u0085x',
]

const EMAIL = mail(
  ...ADDRESSES.flatMap((one) => [{ to: [one] }, { cc: [one] }]),
  ...ADDRESSES.slice(0, 8).flatMap((one) => [{ bcc: [one] }, { reply_to: one }]),
  ...lines.flatMap((line) => [
    { subject: `hi${line}` },
    { to: [`a@acme.com${line}`] },
    { cc: [`a@acme.com${line}`] },
    { attachments: [`a.pdf${line}`] },
  ]),
  { to: people(31) },
  { cc: people(11) },
  { bcc: people(11) },
  { to: people(50), cc: people(50) },
  { to: [] },
  ...textsOf('payload-texts', 'attachments').map((path) => ({ attachments: [path] })),
  { from: 'ceo@acme.com' },
  { headers: { Bcc: 'x@evil.example' } },
)

const argv = (...commands: readonly (string | readonly string[])[]): readonly JsonObject[] =>
  commands.map((command) => ({ argv: typeof command === 'string' ? command.split(' ') : [...command] }))
const SHELL: readonly JsonObject[] = [
  ...argv(...textsOf('payload-texts', 'commands')),
  ...argv(
    ['cat', 'a b'],
    ['cat', ''],
    ['cat', 'a\n.env'],
    ['cat', 'a\u0000b'],
    ['cat', '-'],
    ['cat', '--'],
    ['ls', '$(id)'],
    ['ls', '`id`'],
    ['ls', '*'],
    ['git', 'diff', 'HEAD;id'],
    ['git'],
    [''],
  ),
  { argv: ['ls'], sudo: true },
  { argv: ['ls'], cwd: '/' },
  { argv: ['ls'], cwd: '/workspace/../etc' },
  { argv: ['ls'], cwd: '/workspacex' },
  { argv: ['cat', 'config'], cwd: '/workspace/.aws' },
  { argv: ['cat', 'x'], cwd: '/workspace/.ssh' },
  { argv: ['ls'], cwd: '/workspace/%2e%2e' },
  { argv: ['ls'], cwd: 'workspace' },
  { argv: ['ls'], cwd: '/workspace/a\n' },
  { argv: ['ls'], env: { PATH: '/tmp' } },
  { argv: [] },
]

const QUERIES = textsOf('payload-texts', 'queries').map((query): JsonObject => ({
  database: 'analytics',
  query,
}))

const URLS = textsOf('payload-texts', 'urls').map((url) => ({ url }))

const KEYS = [
  '-----BEGIN PRIVATE KEY-----',
  '-----BEGIN RSA PRIVATE KEY-----',
  '-----BEGIN EC PRIVATE KEY-----',
  '-----BEGIN DSA PRIVATE KEY-----',
  '-----BEGIN ENCRYPTED PRIVATE KEY-----',
  '-----BEGIN OPENSSH PRIVATE KEY-----',
  '-----BEGIN PGP PRIVATE KEY BLOCK-----',
  '-----begin private key-----',
  '---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----',
  'PuTTY-User-Key-File-3: ssh-ed25519',
  'AGE-SECRET-KEY-1QQQQQQQQ',
  ...['AKIA', 'ASIA'].map((prefix) => `${prefix}${'A1B2'.repeat(4)}`),
  // Made here, so that no scanner takes this file for a leak.
  ...textsOf('payload-texts', 'key prefixes').map((prefix) => prefix + 'a1B2'.repeat(10)),
  `eyJ${'a1B2'.repeat(4)}.eyJ${'a1B2'.repeat(4)}.x`,
  'postgres://u:pw@db/x',
  `https://hooks.slack.com/services/T0/B0/x`,
].map((content): JsonObject => ({ path: '/workspace/notes/a.md', content: `x ${content}\n` }))
const PATHS = textsOf('payload-texts', 'paths').map((path): JsonObject => ({ path, content: 'x' }))
const LONG = ['1\n'.repeat(20), '1\r'.repeat(20), '1\u2028'.repeat(20), 'x'.repeat(500)].map(
  (content): JsonObject => ({ path: '/workspace/notes/a.md', content }),
)

export const hostileTo = (bundle: string, tool: string, payloads: readonly JsonObject[]): Hostile => ({
  bundle,
  tool,
  payloads,
})

export const HOSTILE: readonly Hostile[] = [
  hostileTo('policies', 'email.send', EMAIL),
  hostileTo('policies', 'shell.run', SHELL),
  hostileTo('policies', 'sql.query', [
    ...QUERIES,
    { database: 'prod', query: 'select 1' },
    { database: 'staging', query: 'select 1' },
  ]),
  hostileTo('policies', 'web.fetch', URLS),
  hostileTo('policies', 'file.write', [...KEYS, ...PATHS, ...LONG]),
  hostileTo('policies', 'cloud.delete', [
    { kind: 'bucket', name: 'prod-backups', env: 'dev' },
    { kind: 'vm', name: 'prod-web', env: 'dev' },
    { kind: 'vm', name: 'Dev-web', env: 'dev' },
    { kind: 'database', name: 'dev-db', env: 'dev' },
    { kind: 'dns_zone', name: 'dev-zone', env: 'dev' },
    { kind: 'vm', name: 'dev-web', env: 'prod' },
    { kind: 'cluster', name: 'dev-a', env: 'dev' },
    { kind: 'vm', name: 'dev-../prod', env: 'dev' },
    { kind: 'vm', name: 'dev-a\nprod', env: 'dev' },
    { kind: 'vm', name: 'x', env: 'development' },
    { kind: 'database', name: 'x', env: 'prod', final_snapshot: true },
  ]),
  hostileTo('policies', 'github.merge_pr', [
    ...textsOf('payload-texts', 'branches').map((base) => ({
      repo: 'acme/web',
      number: 1,
      base,
      method: 'merge',
      bypass_checks: false,
    })),
    { repo: 'acme/Agent-Policies', number: 1, base: 'feature/x', method: 'merge', bypass_checks: false },
    { repo: 'acme/web', number: 1, base: 'feature/x', method: 'merge' },
    { repo: 'acme/web', number: 1, base: 'feature/x', method: 'merge', bypass_checks: true },
  ]),
  hostileTo('policies', 'ledger.transfer', [
    { from: 'acct_reserve_1', to: 'acct_a', amount_cents: 1, currency: 'eur' },
    { from: 'acct_a', to: 'acct_reserve', amount_cents: 1, currency: 'eur' },
    { from: 'acct_a', to: 'acct_b', amount_cents: 10_001, currency: 'eur' },
    { from: 'acct_a', to: 'acct_b', amount_cents: 0.5, currency: 'eur' },
    { from: 'acct_a', to: 'acct_b', amount_cents: -1, currency: 'eur' },
    { from: 'acct_A', to: 'acct_b', amount_cents: 1, currency: 'eur' },
    { from: 'acct_a', to: 'acct_b', amount_cents: 1, currency: 'eur', memo: 'a\nb' },
    { from: 'acct_a', to: 'acct_b', amount_cents: '1', currency: 'eur' },
  ]),
  hostileTo('policies', 'payments.refund', [
    { charge: 'ch_1', amount_cents: 5_001, currency: 'usd' },
    { charge: 'ch_1', amount_cents: 1, currency: 'jpy' },
    { charge: 'ch_1', amount_cents: 1, currency: 'usd', reason: 'fraudulent' },
    { charge: 'ch_1\n', amount_cents: 1, currency: 'usd' },
    { charge: 'ch_1', amount_cents: 1, currency: 'usd', order_id: 'o\r\nx' },
    { charge: 'ch_1', amount_cents: 0, currency: 'usd' },
    { charge: 'ch_1', amount_cents: 1, currency: 'usd', to: 'me' },
  ]),
  hostileTo(
    'examples/policies/read-only-sql',
    'sql.query',
    QUERIES.map(({ query }) => ({ sql: query ?? '', database: 'reporting' })),
  ),
  hostileTo('examples/policies/internal-mail', 'mail.send', [
    ...ADDRESSES.map((one) => ({ to: [one], subject: 'hi', body: 'x' })),
    ...lines.map((line) => ({ to: ['a@acme.example'], subject: `hi${line}`, body: 'x' })).slice(0, 4),
    { to: people(51), subject: 'hi', body: 'x' },
  ]),
  hostileTo('examples/policies/web-allow-list', 'web.fetch', [
    ...URLS.map(({ url }) => ({ url: url.replaceAll('nodejs.org', 'docs.python.org') })),
    { url: 'https://wiki.acme.example:8443/' },
    { url: 'http://wiki.acme.example/' },
    { url: 'https://wiki.acme.example.evil.example/' },
  ]),
  hostileTo('examples/policies/shell-allow-list', 'shell.run', [
    ...textsOf('payload-texts', 'shell lines').map((command) => ({ command, cwd: '/workspace/app' })),
    ...[
      '/etc',
      '/workspace/../etc',
      '/',
      'workspace/app',
      '/workspacex/a',
      '/workspace/%2e%2e/x',
      '/workspace',
    ].map((cwd) => ({ command: 'ls', cwd })),
  ]),
  hostileTo(
    'examples/policies/file-sandbox',
    'file.write',
    textsOf('payload-texts', 'sandboxed paths').map((path) => ({ path, content: 'x' })),
  ),
  hostileTo('examples/policies/pull-requests', 'github.merge', [
    ...textsOf('payload-texts', 'changed files').map((file) => ({
      repo: 'app',
      base: 'main',
      files: [file],
    })),
    ...['release/1', 'Release/1', 'refs/heads/release/1', 'RELEASE/1'].map((base) => ({
      repo: 'app',
      base,
      files: ['docs/a.md'],
    })),
    { repo: 'app', base: 'main', files: [] },
  ]),
  hostileTo('examples/policies/untrusted-then-outbound', 'web.fetch', URLS),
  hostileTo(
    'examples/policies/untrusted-then-outbound',
    'mail.send',
    ADDRESSES.map((to) => ({ to, body: 'x' })),
  ),
  hostileTo(
    'examples/policies/per-customer-limit',
    'crm.message',
    ['C-1', 'c-01', 'c-1 ', ' c-1', 'c-1\n', 'с-1', ''].map((customer) => ({ customer, text: 'x' })),
  ),
  hostileTo(
    'examples/policies/until-a-date',
    'data.migrate',
    ['users', 'orders_; drop table users', 'Orders_1', 'orders_"', 'orders_ x', 'orders_\n'].map((table) => ({
      table,
    })),
  ),
  hostileTo('examples/policies/sensitive-data', 'hr.update', [
    { person: 'p-1', salary: 1 },
    { person: 'p-1/../p-2', address: 'x' },
    { person: 'p-1', address: 'x\r\ny' },
  ]),
  hostileTo('examples/policies/irreversible-asks', 'cloud.delete', [{ id: 'i-1' }, { id: 'i-1 i-2' }]),
  hostileTo('examples/policies/irreversible-asks', 'cloud.tag', [
    { id: '../x', tag: 'x' },
    { id: 'i-1', tag: 'x;y' },
    { id: 'i-1\n', tag: 'x' },
  ]),
  hostileTo('examples/policies/two-groups', 'bank.transfer', [
    { to: 'DE1', amount: 1 },
    { to: 'DE1', amount: 1_000_000 },
  ]),
  hostileTo('examples/policies/spending-limit', 'payments.refund', [
    { charge: 'ch_1', amount: 5_001 },
    { charge: 'ch_1;x', amount: 1 },
    { charge: 'ch_1', amount: 0 },
  ]),
  hostileTo('examples/policies/try-it-in-shadow', 'crm.export', [
    { count: 1_001 },
    { count: 1e300 },
    { count: 0 },
    { count: 1, reason: 'a\nb' },
  ]),
]

/** The daily calls of an honest agent. The rules that refuse the payloads above let them through. */
export const HONEST: readonly Hostile[] = [
  hostileTo(
    'policies',
    'email.send',
    mail(
      {},
      { to: ['First.Last+x@acme.io', 'o_neil-2@acme.com'] },
      { cc: people(10), bcc: people(10), reply_to: 'team@acme.com' },
      { to: people(30) },
      { attachments: ['offer.pdf', '/workspace/reports/Q1 2027.xlsx'] },
      { subject: 'Grüße 你好', body: 'a\r\nb' },
    ),
  ),
  hostileTo('policies', 'shell.run', argv(...textsOf('payload-texts', 'honest commands'))),
  hostileTo(
    'policies',
    'sql.query',
    [
      'select * from orders',
      "select count(*), sum(total) from orders where created_at >= date '2027-01-01' group by city order by 2 desc limit 10",
      "with m as (select date_trunc('month', at) as month from orders) select month, count(*) from m group by month",
      "select coalesce(name, '?') from users where email like '%@acme.com'",
      'select a.id, b.name from orders a left join users b on a.id = b.a_id and b.deleted is null;',
      'select row_number() over (partition by city order by total desc) as n, city from orders',
    ].map((query) => ({ database: 'analytics', query })),
  ),
  hostileTo(
    'policies',
    'web.fetch',
    [
      'https://nodejs.org/api/url.html',
      'https://nodejs.org:443/',
      'https://developer.mozilla.org/en-US/docs/Web?q=a%20b#x',
      'https://acme.com',
      'https://wiki.acme.io/Grüße',
    ].map((url) => ({ url })),
  ),
  hostileTo('policies', 'file.write', [
    { path: '/workspace/notes/today.md', content: 'Water the plants.\n' },
    { path: '/workspace/notes/meetings/2027-01-31 agenda.txt', content: 'x' },
    {
      path: '/workspace/notes/größe/a b.txt',
      content: 'The public key is fine: ssh-ed25519 AAAA\n-----BEGIN PUBLIC KEY-----',
    },
  ]),
  hostileTo('policies', 'cloud.delete', [{ kind: 'vm', name: 'dev-web-1', env: 'dev' }]),
  hostileTo('policies', 'ledger.transfer', [
    { from: 'acct_ops', to: 'acct_travel', amount_cents: 2_500, currency: 'eur', memo: 'taxi – 2 km' },
  ]),
  hostileTo('policies', 'payments.refund', [
    { charge: 'ch_1', amount_cents: 5_000, currency: 'usd', order_id: 'o-1' },
  ]),
]
