import { hostileTo, type Hostile } from './hostile-payloads.ts'
import { textsOf } from '../texts.ts'

/**
 * Kinds of attack beside those of hostile-payloads.ts. They use names that a program gives to its secrets, and files
 * that another program runs or obeys.
 */
const reads = (...paths: readonly string[]) => paths.map((path) => ({ argv: ['cat', path] }))
const SECRET_FILES = textsOf('payload-texts', 'secret files')

const queries = (...texts: readonly string[]) => texts.map((query) => ({ database: 'analytics', query }))
const SQL = queries(
  // catalogues with hashes of passwords and the queries of others
  'select usename, passwd from pg_shadow',
  'select * from pg_catalog.pg_authid',
  'select query from "pg_stat_activity"',
  'select * from U&"\\0070g_shadow"',
  'select * from U&"p!0067_shadow" uescape \'!\'',
  'select * from mysql.user',
  'select * from `mysql`.`user`',
  'select * from sys.sql_logins',
  'select * from master..syslogins',
  'select * from dba_users',
  'select * from v$session',
  'select * from sqlite_master',
  // files by their names
  "select * from '/etc/passwd'",
  "select * from 's3://bucket/x.parquet'",
  'select * from "/etc/passwd"',
  'select * from csv.`/etc/passwd`',
  'select * from [/etc/passwd]',
  // reading forever
  'with recursive r as (select 1 as n union all select n + 1 from r) select * from r',
  'with/**/recursive r as (select 1 as n union all select n + 1 from r) select n from r',
  // another database than the one that the call names
  'select * from prod.dbo.users',
  'select * from prod..users',
  'select * from users@prod_link',
)

const HOSTS = textsOf('payload-texts', 'hosts').map((url) => ({ url }))

const BOXES = [
  'x=40evil.example@acme.com@',
  '=?utf-8?q?x=40evil.example?=@acme.com',
  'friends:x@evil.example;@acme.com',
  'a@acme.com\uff0cx@evil.example',
  'x@evil.example\u3000@acme.com',
  'x@evil.example%0d%0a@acme.com',
  'a@acme.com>',
  'a@acme.com\tx@evil.example',
  'x\uff20evil.example@acme.com',
  `${'a'.repeat(65)}@acme.com`,
  'a@acme..com',
  'a@.acme.com',
  '.a@acme.com',
  'a..b@acme.com',
]
const MAILS = [
  ...BOXES.map((one) => ({ to: [one], subject: 'hi', body: 'x' })),
  ...[
    'secrets.txt',
    '/workspace/credentials.csv',
    'reports/accessKeys.csv',
    'passwords.xlsx',
    'id_rsa.txt',
    'keys/private.txt',
  ].map((path) => ({ to: ['a@acme.com'], subject: 'hi', body: 'x', attachments: [path] })),
]

// Made here, so that no scanner takes this file for a leak.
const PREFIXES = `hvs. dop_v1_ shpat_ dapi ATATT3x lin_api_ ntn_ pscale_tkn_ glsa_ NRAK- sntrys_ sq0atp- glrt- gldt- dckr_pat_ gsk_ r8_ xai- pplx- sbp_
  dp.st. tskey-auth- figd_ PMAK- ghs_ ghu_ ghr_ EAAA key- tfp_ AGE-SECRET-KEY-PQ-`
const TOKENS = PREFIXES.split(/\s+/).map((prefix) => prefix + 'a1B2c3D4'.repeat(5))
const SECRETS = [
  ...TOKENS,
  `aws_secret_access_key = ${'a1B2'.repeat(10)}`,
  `"private_key_id": "${'a1b2'.repeat(10)}"`,
  `https://discord.com/api/webhooks/1234567890/${'a1B2'.repeat(10)}`,
  `123456789:AA${'a1B2c'.repeat(7)}`,
  `Authorization: Bearer ${'a1B2'.repeat(10)}`,
].map((content) => ({ path: '/workspace/notes/a.md', content }))

const RUN_BY_OTHERS = textsOf('payload-texts', 'run by others')

export const HOSTILE_KINDS: readonly Hostile[] = [
  hostileTo('policies', 'shell.run', [
    ...reads(...SECRET_FILES),
    { argv: ['git', 'show', ':(top).env'] },
    { argv: ['git', 'diff', '@{u}'] },
    { argv: ['git', 'log', '--', ':/'] },
    { argv: ['\uff43at', 'x'] },
    { argv: ['cat', 'a', '|', 'id'] },
  ]),
  hostileTo('policies', 'sql.query', SQL),
  hostileTo(
    'examples/policies/read-only-sql',
    'sql.query',
    SQL.map(({ query }) => ({ database: 'reporting', sql: query })),
  ),
  hostileTo('policies', 'web.fetch', HOSTS),
  hostileTo('policies', 'email.send', MAILS),
  hostileTo('policies', 'file.write', SECRETS),
  hostileTo(
    'examples/policies/file-sandbox',
    'file.write',
    RUN_BY_OTHERS.map((name) => ({ path: `/workspace/app/${name}`, content: 'x' })),
  ),
  hostileTo(
    'examples/policies/pull-requests',
    'github.merge',
    [
      'requirements.txt',
      'dev-requirements.txt',
      'constraints.txt',
      'src/CMakeLists.txt',
      'AGENTS.md',
      'a/CLAUDE.md',
      'skills/x/SKILL.md',
      'llms.txt',
    ].map((file) => ({ repo: 'app', base: 'main', files: [file] })),
  ),
]
