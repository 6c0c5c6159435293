import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { printDiagnostics } from '../../../src/policy/diagnostics.ts'
import { diffBundles } from '../../../src/policy/diff/diff.ts'
import { printDiff } from '../../../src/policy/diff/print.ts'
import type { Bundle } from '../../../src/policy/diff/side.ts'
import { prepareBundle } from '../../../src/policy/load.ts'
import type { Files } from '../support.ts'

const STARTER = fileURLToPath(new URL('../../../policies', import.meta.url))
const starter: Files = Object.fromEntries(
  readdirSync(STARTER, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.yaml'))
    .map((path) => [path, withoutTests(readFileSync(join(STARTER, path), 'utf8'))]),
)

/** The tests inside the files would fail on purpose. */
function withoutTests(text: string): string {
  return text.replace(/^tests:\n[\s\S]*/m, '')
}

async function load(files: Files): Promise<Bundle> {
  const prepared = await prepareBundle(Object.entries(files).map(([path, text]) => ({ path, text })))
  if (!prepared.ok) throw new Error(printDiagnostics(prepared.diagnostics))
  return prepared
}

/** What the difference says when one passage of the starter bundle is replaced. */
async function edit(path: string, passage: string | RegExp, by: string): Promise<string> {
  const text = starter[path] ?? ''
  const changed = text.replace(passage, by)
  expect(changed).not.toBe(text)
  return printDiff(await diffBundles(await load(starter), await load({ ...starter, [path]: changed })))
}

const REFUND = 'rules/payments.refund.yaml'
const TRANSFER = 'rules/ledger.transfer.yaml'

describe('one edit of the starter bundle', () => {
  it('nothing', async () => {
    const bundle = await load(starter)
    expect(printDiff(await diffBundles(bundle, bundle))).toMatchInlineSnapshot(`"no change of any decision; complete: 0 cells"`)
  })

  it('a threshold moved up in an allow rule and its review rule', async () => {
    const files = { ...starter, [REFUND]: (starter[REFUND] ?? '').replaceAll(' 5000 }', ' 20000 }') }
    expect(printDiff(await diffBundles(await load(starter), await load(files)))).toMatchInlineSnapshot(`
      "payments.refund LOOSENS review/medium -> allow/low when payload.amount_cents in {5001..20000} and payload.reason in {duplicate, requested_by_customer, missing}
          e.g. {"charge":"ch_x","amount_cents":5001,"currency":"usd","reason":"duplicate"}: by refund-medium -> refund-small
      payments.refund: 3 more changes show only when the agent claims a higher risk_level (--format json lists all)
      2 loosened, 0 tightened, 2 changed otherwise; complete: 32 cells"
    `)
  })

  it('a threshold moved down', async () => {
    expect(await edit(REFUND, 'over: 500000', 'over: 400000')).toMatchInlineSnapshot(`
      "payments.refund TIGHTENS review/high -> reject/high when payload.amount_cents in {400001..500000} and payload.reason is fraudulent and risk_level in {low, medium, high}
          e.g. {"charge":"ch_x","amount_cents":400001,"currency":"usd","reason":"fraudulent"}: by refund-fraud, refund-medium -> refund-over-limit
      payments.refund TIGHTENS review/medium -> reject/medium when payload.amount_cents in {400001..500000} and payload.reason in {duplicate, requested_by_customer, missing} and risk_level in {low, medium}
          e.g. {"charge":"ch_x","amount_cents":400001,"currency":"usd","reason":"duplicate"}: by refund-medium -> refund-over-limit
      payments.refund: 3 more changes show only when the agent claims a higher risk_level (--format json lists all)
      0 loosened, 5 tightened, 0 changed otherwise; complete: 32 cells"
    `)
  })

  it('a reject rule deleted', async () => {
    expect(await edit(TRANSFER, / {2}- id: transfer-huge[\s\S]*?1000000 }\n/, '')).toMatchInlineSnapshot(`
      "ledger.transfer LOOSENS reject/high -> review/high when payload.amount_cents in {1000001..} and payload.from like acct_reserve* and risk_level in {low, medium, high}
          or when payload.amount_cents in {1000001..} and payload.from not like acct_reserve* and payload.to like acct_reserve* and risk_level in {low, medium, high}
          e.g. {"from":"acct_x","to":"acct_reserve","amount_cents":1000001,"currency":"eur"}: by transfer-huge -> transfer-reserve
      ledger.transfer: 1 more change shows only when the agent claims a higher risk_level (--format json lists all)
      2 loosened, 0 tightened, 0 changed otherwise; complete: 48 cells"
    `)
  })

  it('a verdict changed', async () => {
    expect(await edit(TRANSFER, 'reject: Transfers above', 'review: Transfers above')).toMatchInlineSnapshot(`
      "ledger.transfer LOOSENS reject/high -> review/high when payload.amount_cents in {1000001..} and payload.from like acct_reserve* and risk_level in {low, medium, high}
          or when payload.amount_cents in {1000001..} and payload.from not like acct_reserve* and payload.to like acct_reserve* and risk_level in {low, medium, high}
          e.g. {"from":"acct_x","to":"acct_reserve","amount_cents":1000001,"currency":"eur"}: by transfer-huge -> transfer-huge, transfer-reserve
      ledger.transfer LOOSENS reject/low -> review/low when payload.amount_cents in {1000001..} and payload.from not like acct_reserve* and payload.to not like acct_reserve*
          e.g. {"from":"acct_x","to":"acct_x","amount_cents":1000001,"currency":"eur"}: by transfer-huge -> transfer-huge
      ledger.transfer: 4 more changes show only when the agent claims a higher risk_level (--format json lists all)
      6 loosened, 0 tightened, 0 changed otherwise; complete: 48 cells"
    `)
  })

  it('a risk lowered', async () => {
    expect(await edit(TRANSFER, 'risk: high', 'risk: medium')).toMatchInlineSnapshot(`
      "ledger.transfer LOOSENS reject/high -> reject/medium when payload.amount_cents in {1000001..} and payload.from like acct_reserve* and risk_level in {low, medium}
          or when payload.amount_cents in {1000001..} and payload.from not like acct_reserve* and payload.to like acct_reserve* and risk_level in {low, medium}
          e.g. {"from":"acct_x","to":"acct_reserve","amount_cents":1000001,"currency":"eur"}: by transfer-huge -> transfer-huge
      ledger.transfer LOOSENS review/high (1 of security, after 30m also security-leads within 1h) -> review/medium (1 of team-leads within 4h) when payload.amount_cents in {1..1000000} and payload.from like acct_reserve* and risk_level in {low, medium}
          or when payload.amount_cents in {1..1000000} and payload.from not like acct_reserve* and payload.to like acct_reserve* and risk_level in {low, medium}
          e.g. {"from":"acct_x","to":"acct_reserve","amount_cents":1,"currency":"eur"}: by transfer-reserve -> transfer-reserve
      ledger.transfer: 2 more changes show only when the agent claims a higher risk_level (--format json lists all)
      2 loosened, 1 tightened, 1 changed otherwise; complete: 48 cells"
    `)
  })

  it('the reviewers of a rule weakened', async () => {
    expect(
      await edit(
        'rules/github.merge_pr.yaml',
        'reviewers: { group: security-leads, approvals: 2 }',
        'reviewers: { group: security-leads, approvals: 1 }',
      ),
    ).toMatchInlineSnapshot(`"no change of any decision; complete: 72 cells"`)
  })

  it('the reviewers of a rule added', async () => {
    expect(
      await edit(
        'rules/github.merge_pr.yaml',
        'reviewers: { group: security-leads, approvals: 2 }',
        'reviewers: { group: fraud-desk, approvals: 1 }',
      ),
    ).toMatchInlineSnapshot(`
      "github.merge_pr TIGHTENS review/critical (2 of security-leads within 30m) -> review/critical (1 of fraud-desk and 2 of security-leads within 30m) when payload.bypass_checks is false and payload.repo like */agent-policies
          e.g. {"repo":"x/agent-policies","number":1,"base":"x","method":"merge","bypass_checks":false}: by merge-policy-repo -> merge-policy-repo
      0 loosened, 1 tightened, 0 changed otherwise; complete: 72 cells"
    `)
  })

  it('a level weakened and its time made longer', async () => {
    expect(
      await edit('routing.yaml', 'approvals: 2, expires: 30m', 'approvals: 1, expires: 1h'),
    ).toMatchInlineSnapshot(`
      "cloud.delete LOOSENS review/critical (2 of security-leads within 30m) -> review/critical (1 of security-leads within 1h) when payload.env is prod and payload.final_snapshot in {false, missing} and payload.kind in {vm, bucket, cluster}
          or when payload.env is prod and payload.final_snapshot is true and payload.kind in {vm, bucket, database, cluster}
          e.g. {"kind":"vm","name":"x","env":"prod","final_snapshot":true}: by delete-prod -> delete-prod
      email.send LOOSENS review/critical (1 of on-call and 2 of security-leads within 30m) -> review/critical (1 of on-call and 1 of security-leads within 1h) when payload.attachments count over 0 and domain(payload.cc) not some not is one of acme.com, acme.io, bigbank.example, logistics.example and domain(payload.to) every is one of acme.com, acme.io and payload.to not count over 50 and risk_level is critical
          or when payload.attachments not count over 0 and domain(payload.cc) not some not is one of acme.com, acme.io, bigbank.example, logistics.example and domain(payload.to) not some not is one of acme.com, acme.io, bigbank.example, logistics.example and payload.to not count over 50 and risk_level is critical
          e.g. {"to":["a@acme.io"],"subject":"x","body":"x","attachments":[],"cc":[]}, risk_level critical: by allow_up_to, mail-internal -> allow_up_to, mail-internal
      email.send LOOSENS review/critical (1 of security, after 30m also security-leads and 2 of security-leads within 30m) -> review/critical (1 of security, after 30m also security-leads and 1 of security-leads within 1h) when (domain(payload.cc) some not is one of acme.com, acme.io, bigbank.example, logistics.example or domain(payload.cc) cannot be checked (some not is one of acme.com, acme.io, bigbank.example, logistics.example) and domain(payload.cc) some not is one of acme.com, acme.io) and payload.to not count over 50 and risk_level is critical
          or when payload.attachments count over 0 and (domain(payload.cc) not some not is one of acme.com, acme.io or domain(payload.cc) cannot be checked (some not is one of acme.com, acme.io)) and domain(payload.to) not every is one of acme.com, acme.io and payload.to not count over 50 and risk_level is critical
          or when payload.attachments count over 0 and domain(payload.cc) not some not is one of acme.com, acme.io, bigbank.example, logistics.example and domain(payload.cc) some not is one of acme.com, acme.io and (domain(payload.to) not every is one of acme.com, acme.io and payload.to not count over 50 or domain(payload.to) cannot be checked (every is one of acme.com, acme.io) and payload.to not count over 50) and risk_level is critical
          or when payload.attachments not count over 0 and domain(payload.cc) cannot be checked (some not is one of acme.com, acme.io) and domain(payload.to) not every is one of acme.com, acme.io and payload.to not count over 50 and risk_level is critical
          or when payload.attachments not count over 0 and domain(payload.cc) not some not is one of acme.com, acme.io and (domain(payload.to) some not is one of acme.com, acme.io, bigbank.example, logistics.example and payload.to not count over 50 or domain(payload.to) not every is one of acme.com, acme.io and domain(payload.to) cannot be checked (some not is one of acme.com, acme.io, bigbank.example, logistics.example) and payload.to not count over 50) and risk_level is critical
          or when payload.attachments not count over 0 and domain(payload.cc) not some not is one of acme.com, acme.io, bigbank.example, logistics.example and domain(payload.cc) some not is one of acme.com, acme.io and (domain(payload.to) some not is one of acme.com, acme.io, bigbank.example, logistics.example and payload.to not count over 50 or domain(payload.to) cannot be checked (some not is one of acme.com, acme.io, bigbank.example, logistics.example) and payload.to not count over 50) and risk_level is critical
          e.g. {"to":["a@x.x"],"subject":"x","body":"x","attachments":[],"cc":[]}, risk_level critical: by mail-external -> mail-external
      file.write LOOSENS review/critical (1 of on-call and 2 of security-leads within 30m) -> review/critical (1 of on-call and 1 of security-leads within 1h) when payload.content not contains BEGIN PRIVATE KEY or BEGIN RSA PRIVATE KEY or BEGIN OPENSSH PRIVATE KEY and path(payload.path) starts_with /workspace/notes/ and path(payload.path) ends_with .md or .txt and path(payload.path) not like */.env* or */.ssh/* or *.pem or *id_rsa* and risk_level is critical
          e.g. {"path":"/workspace/notes/.md","content":""}, risk_level critical: by allow_up_to, write-notes -> allow_up_to, write-notes
      file.write LOOSENS review/critical (2 of security-leads and 1 of team-leads within 30m) -> review/critical (1 of security-leads and 1 of team-leads within 1h) when payload.content not contains BEGIN PRIVATE KEY or BEGIN RSA PRIVATE KEY or BEGIN OPENSSH PRIVATE KEY and (path(payload.path) not starts_with /workspace/notes/ and path(payload.path) starts_with /workspace/ and path(payload.path) not like */.env* or */.ssh/* or *.pem or *id_rsa* or path(payload.path) starts_with /workspace/notes/ and path(payload.path) not ends_with .md or .txt and path(payload.path) not like */.env* or */.ssh/* or *.pem or *id_rsa*) and risk_level is critical
          e.g. {"path":"/workspace/x","content":""}, risk_level critical: by write-project -> write-project
      github.merge_pr LOOSENS review/critical (2 of security-leads within 30m) -> review/critical (2 of security-leads within 1h) when payload.bypass_checks is false and payload.repo like */agent-policies
          e.g. {"repo":"x/agent-policies","number":1,"base":"x","method":"merge","bypass_checks":false}: by merge-policy-repo -> merge-policy-repo
      ledger.transfer LOOSENS review/critical (1 of on-call and 2 of security-leads within 30m) -> review/critical (1 of on-call and 1 of security-leads within 1h) when payload.amount_cents in {1..10000} and payload.from not like acct_reserve* and payload.to not like acct_reserve* and risk_level is critical
          e.g. {"from":"acct_x","to":"acct_x","amount_cents":1,"currency":"eur"}, risk_level critical: by allow_up_to, transfer-small -> allow_up_to, transfer-small
      ledger.transfer LOOSENS review/critical (1 of security, after 30m also security-leads and 2 of security-leads within 30m) -> review/critical (1 of security, after 30m also security-leads and 1 of security-leads within 1h) when payload.amount_cents in {1..1000000} and payload.from like acct_reserve* and risk_level is critical
          or when payload.amount_cents in {1..1000000} and payload.from not like acct_reserve* and payload.to like acct_reserve* and risk_level is critical
          e.g. {"from":"acct_x","to":"acct_reserve","amount_cents":1,"currency":"eur"}, risk_level critical: by transfer-reserve -> transfer-reserve
      ledger.transfer LOOSENS review/critical (2 of security-leads and 1 of team-leads within 30m) -> review/critical (1 of security-leads and 1 of team-leads within 1h) when payload.amount_cents in {10001..1000000} and payload.from not like acct_reserve* and payload.to not like acct_reserve* and risk_level is critical
          e.g. {"from":"acct_x","to":"acct_x","amount_cents":10001,"currency":"eur"}, risk_level critical: by transfer-medium -> transfer-medium
      payments.refund LOOSENS review/critical (1 of fraud-desk and 1 of security, after 30m also security-leads and 2 of security-leads within 30m) -> review/critical (1 of fraud-desk and 1 of security, after 30m also security-leads and 1 of security-leads within 1h) when payload.amount_cents in {1..500000} and payload.reason is fraudulent and risk_level is critical
          e.g. {"charge":"ch_x","amount_cents":1,"currency":"usd","reason":"fraudulent"}, risk_level critical: by refund-fraud -> refund-fraud
      payments.refund LOOSENS review/critical (1 of on-call and 2 of security-leads within 30m) -> review/critical (1 of on-call and 1 of security-leads within 1h) when payload.amount_cents in {1..5000} and payload.reason in {duplicate, requested_by_customer, missing} and risk_level is critical
          e.g. {"charge":"ch_x","amount_cents":1,"currency":"usd","reason":"duplicate"}, risk_level critical: by allow_up_to, refund-small -> allow_up_to, refund-small
      payments.refund LOOSENS review/critical (2 of security-leads and 1 of team-leads within 30m) -> review/critical (1 of security-leads and 1 of team-leads within 1h) when payload.amount_cents in {5001..500000} and payload.reason in {duplicate, requested_by_customer, missing} and risk_level is critical
          e.g. {"charge":"ch_x","amount_cents":5001,"currency":"usd","reason":"duplicate"}, risk_level critical: by refund-medium -> refund-medium
      shell.run LOOSENS review/critical (1 of security, after 30m also security-leads and 2 of security-leads within 30m) -> review/critical (1 of security, after 30m also security-leads and 1 of security-leads within 1h) when payload.argv some like *.env or *id_rsa* or *.pem or *credentials* and payload.argv[0] not is one of sudo, su, doas and (payload.cwd missing or path(payload.cwd) is /workspace or path(payload.cwd) starts_with /workspace/) and payload.sudo in {false, missing} and risk_level is critical
          e.g. {"argv":[".env"],"cwd":"/workspace","sudo":false}, risk_level critical: by shell-secrets -> shell-secrets
      shell.run LOOSENS review/critical (2 of security-leads and 1 of team-leads within 30m) -> review/critical (1 of security-leads and 1 of team-leads within 1h) when (payload.argv[0] is one of npm, make, cargo, go, pytest and payload.argv not some like *.env or *id_rsa* or *.pem or *credentials* or payload.argv[0] is one of ls, cat, head, tail, wc and payload.argv not some like *.env or *id_rsa* or *.pem or *credentials* or payload.argv such as ["git","log"]) and (payload.cwd missing or path(payload.cwd) is /workspace or path(payload.cwd) starts_with /workspace/) and payload.sudo in {false, missing} and risk_level is critical
          e.g. {"argv":["go"],"cwd":"/workspace","sudo":false}, risk_level critical: by shell-build -> shell-build
      sql.query LOOSENS review/critical (1 of on-call and 2 of security-leads within 30m) -> review/critical (1 of on-call and 1 of security-leads within 1h) when payload.database in {staging, prod} and sql_verbs(payload.query) not some is one of drop, truncate, alter, grant, revoke, create and sql_verbs(payload.query) not some is one of insert, update, delete, merge, copy, into and risk_level is critical
          or when payload.database is analytics and sql_verbs(payload.query) every is one of select, with, explain and risk_level is critical
          e.g. {"database":"analytics","query":"with"}, risk_level critical: by allow_up_to, sql-read-analytics -> allow_up_to, sql-read-analytics
      sql.query LOOSENS review/critical (1 of security, after 30m also security-leads and 2 of security-leads within 30m) -> review/critical (1 of security, after 30m also security-leads and 1 of security-leads within 1h) when (sql_verbs(payload.query) not some is one of drop, truncate, alter, grant, revoke, create and sql_verbs(payload.query) some is one of insert, update, delete, merge, copy, into and sql_verbs(payload.query) not some is one of update, delete or sql_verbs(payload.query) not some is one of drop, truncate, alter, grant, revoke, create and sql_verbs(payload.query) some is one of insert, update, delete, merge, copy, into and payload.query matches (?i)\\bwhere\\b) and risk_level is critical
          e.g. {"database":"analytics","query":"copy"}, risk_level critical: by sql-write -> sql-write
      web.fetch LOOSENS review/critical (1 of on-call and 2 of security-leads within 30m) -> review/critical (1 of on-call and 1 of security-leads within 1h) when (payload.url starts_with https:// and host(payload.url) is one of developer.mozilla.org, docs.python.org, nodejs.org, acme.com, acme.io or payload.url starts_with https:// and host(payload.url) ends_with .acme.com or .acme.io) and risk_level is critical
          e.g. {"url":"https://acme.io/"}, risk_level critical: by allow_up_to, fetch-own -> allow_up_to, fetch-own
      web.fetch LOOSENS review/critical (2 of security-leads and 1 of team-leads within 30m) -> review/critical (1 of security-leads and 1 of team-leads within 1h) when payload.url such as "https:///x" and risk_level is critical
          e.g. {"url":"https:///x"}, risk_level critical: by fetch-elsewhere -> fetch-elsewhere
      cloud.delete: 2 more changes show only when the agent claims a higher risk_level (--format json lists all)
      github.merge_pr: 2 more changes show only when the agent claims a higher risk_level (--format json lists all)
      file.write: not complete: not every kind of payload.content has an example
      22 loosened, 0 tightened, 0 changed otherwise; sampled: 3,376 cells"
    `)
  })

  it('a domain added to a list', async () => {
    expect(
      await edit('routing.yaml', '[acme.com, acme.io]', '[acme.com, acme.io, acme.org]'),
    ).toMatchInlineSnapshot(`
      "email.send LOOSENS reject/high -> reject/low when payload.attachments count over 0 and domain(payload.cc) not some not is one of acme.com, acme.io, bigbank.example, logistics.example and domain(payload.to) not every is one of acme.com, acme.io and payload.to count over 50 and domain(payload.to) every is one of acme.com, acme.io, acme.org
          or when payload.attachments count over 0 and domain(payload.cc) some not is one of acme.com, acme.io, bigbank.example, logistics.example and domain(payload.cc) not some not is one of acme.com, acme.io, acme.org, bigbank.example, logistics.example and payload.to count over 50 and domain(payload.to) every is one of acme.com, acme.io, acme.org
          or when payload.attachments not count over 0 and domain(payload.cc) not some not is one of acme.com, acme.io, bigbank.example, logistics.example and domain(payload.to) some not is one of acme.com, acme.io, bigbank.example, logistics.example and payload.to count over 50 and domain(payload.to) not some not is one of acme.com, acme.io, acme.org, bigbank.example, logistics.example
          or when payload.attachments not count over 0 and domain(payload.cc) some not is one of acme.com, acme.io, bigbank.example, logistics.example and domain(payload.cc) not some not is one of acme.com, acme.io, acme.org, bigbank.example, logistics.example and payload.to count over 50 and domain(payload.to) not some not is one of acme.com, acme.io, acme.org, bigbank.example, logistics.example
          e.g. {"to":["a@acme.org","a@acme.org","a@acme.org","a@acme.org","a@acme.org","a@acme.org","a@acme.org","a@acme.org","a@acme.org","a@acme.org","a@acme.org","a@acme.or...: by mail-mass -> mail-mass
      email.send LOOSENS review/high -> allow/low when domain(payload.cc) not some not is one of acme.com, acme.io and domain(payload.to) not every is one of acme.com, acme.io and payload.to not count over 50 and domain(payload.to) every is one of acme.com, acme.io, acme.org
          or when domain(payload.cc) some not is one of acme.com, acme.io, bigbank.example, logistics.example and domain(payload.cc) not some not is one of acme.com, acme.io, acme.org and payload.to not count over 50 and domain(payload.to) every is one of acme.com, acme.io, acme.org
          e.g. {"to":["a@acme.org"],"subject":"x","body":"x","attachments":[],"cc":[]}: by mail-external -> mail-internal
      email.send LOOSENS review/high (1 of security, after 30m also security-leads within 1h) -> review/low (1 of on-call within 8h) when payload.attachments count over 0 and domain(payload.cc) not some not is one of acme.com, acme.io, bigbank.example, logistics.example and domain(payload.cc) some not is one of acme.com, acme.io and domain(payload.to) not every is one of acme.com, acme.io and payload.to not count over 50 and domain(payload.to) every is one of acme.com, acme.io, acme.org
          or when payload.attachments count over 0 and domain(payload.cc) some not is one of acme.com, acme.io, bigbank.example, logistics.example and domain(payload.cc) some is one of bigbank.example, logistics.example and domain(payload.cc) not some not is one of acme.com, acme.io, acme.org, bigbank.example, logistics.example and payload.to not count over 50 and domain(payload.to) every is one of acme.com, acme.io, acme.org
          or when payload.attachments not count over 0 and domain(payload.cc) not some not is one of acme.com, acme.io and payload.to such as ["a@acme.org","a@bigbank.example"]
          or when payload.attachments not count over 0 and domain(payload.cc) not some not is one of acme.com, acme.io, bigbank.example, logistics.example and domain(payload.cc) some not is one of acme.com, acme.io and domain(payload.to) some not is one of acme.com, acme.io, bigbank.example, logistics.example and payload.to not count over 50 and domain(payload.to) not some not is one of acme.com, acme.io, acme.org, bigbank.example, logistics.example
          or when payload.attachments not count over 0 and domain(payload.cc) some not is one of acme.com, acme.io, bigbank.example, logistics.example and domain(payload.cc) not some not is one of acme.com, acme.io, acme.org and payload.to not count over 50 and domain(payload.to) some is one of bigbank.example, logistics.example and domain(payload.to) not some not is one of acme.com, acme.io, acme.org, bigbank.example, logistics.example
          or when payload.attachments not count over 0 and domain(payload.cc) some not is one of acme.com, acme.io, bigbank.example, logistics.example and domain(payload.cc) some is one of bigbank.example, logistics.example and domain(payload.cc) not some not is one of acme.com, acme.io, acme.org, bigbank.example, logistics.example and payload.to not count over 50 and domain(payload.to) not some not is one of acme.com, acme.io, acme.org, bigbank.example, logistics.example
          e.g. {"to":["a@acme.org","a@bigbank.example"],"subject":"x","body":"x","attachments":[],"cc":[]}: by mail-external, mail-partner -> mail-partner
      web.fetch LOOSENS review/medium -> allow/low when payload.url starts_with https:// and host(payload.url) not is one of developer.mozilla.org, docs.python.org, nodejs.org, acme.com, acme.io and host(payload.url) is one of developer.mozilla.org, docs.python.org, nodejs.org, acme.com, acme.io, acme.org
          e.g. {"url":"https://acme.org/"}: by fetch-elsewhere -> fetch-own
      email.send TIGHTENS review/high -> reject/high when domain(payload.cc) cannot be checked (some not is one of acme.com, acme.io) and (domain(payload.to) not every is one of acme.com, acme.io and payload.to not count over 50 and domain(payload.to) every is one of acme.com, acme.io, acme.org or domain(payload.to) not every is one of acme.com, acme.io and payload.to not count over 50 and domain(payload.to) cannot be checked (every is one of acme.com, acme.io, acme.org)) and risk_level in {low, medium, high}
          or when domain(payload.cc) not some not is one of acme.com, acme.io and domain(payload.to) not every is one of acme.com, acme.io and payload.to not count over 50 and domain(payload.to) cannot be checked (every is one of acme.com, acme.io, acme.org) and risk_level in {low, medium, high}
          or when domain(payload.cc) some not is one of acme.com, acme.io, bigbank.example, logistics.example and domain(payload.cc) cannot be checked (some not is one of acme.com, acme.io, acme.org) and (payload.to not count over 50 and domain(payload.to) every is one of acme.com, acme.io, acme.org or payload.to not count over 50 and domain(payload.to) cannot be checked (every is one of acme.com, acme.io, acme.org)) and risk_level in {low, medium, high}
          or when domain(payload.cc) some not is one of acme.com, acme.io, bigbank.example, logistics.example and domain(payload.cc) not some not is one of acme.com, acme.io, acme.org and payload.to not count over 50 and domain(payload.to) cannot be checked (every is one of acme.com, acme.io, acme.org) and risk_level in {low, medium, high}
          e.g. {"to":["","a@acme.org"],"subject":"x","body":"x","attachments":[],"cc":[]}: by mail-external, mail-partner -> unmatched
      email.send: 6 more changes show only when the agent claims a higher risk_level (--format json lists all)
      web.fetch: 3 more changes show only when the agent claims a higher risk_level (--format json lists all)
      8 loosened, 3 tightened, 3 changed otherwise; complete: 2,016 cells"
    `)
  })

  it('a value added to a list in a rule', async () => {
    expect(
      await edit('rules/cloud.delete.yaml', 'kind: [vm, bucket]', 'kind: [vm, bucket, cluster]'),
    ).toMatchInlineSnapshot(`
      "cloud.delete LOOSENS reject/medium -> allow/medium when payload.env is dev and payload.kind is cluster and risk_level in {low, medium}
          e.g. {"kind":"cluster","name":"x","env":"dev","final_snapshot":true}: by unmatched -> delete-dev
      cloud.delete: 2 more changes show only when the agent claims a higher risk_level (--format json lists all)
      3 loosened, 0 tightened, 0 changed otherwise; complete: 120 cells"
    `)
  })

  it('an enum of a contract grown', async () => {
    expect(await edit('tools/ledger.transfer.yaml', '[eur, usd]', '[eur, usd, gbp]')).toMatchInlineSnapshot(`
      "ledger.transfer LOOSENS invalid -> allow/low when payload.amount_cents in {1..10000} and payload.currency is gbp and payload.from not like acct_reserve* and payload.to not like acct_reserve*
          e.g. {"from":"acct_x","to":"acct_x","amount_cents":1,"currency":"gbp"}: by contract -> transfer-small
      ledger.transfer LOOSENS invalid -> review/high when payload.amount_cents in {1..1000000} and payload.currency is gbp and payload.from like acct_reserve* and risk_level in {low, medium, high}
          or when payload.amount_cents in {1..1000000} and payload.currency is gbp and payload.from not like acct_reserve* and payload.to like acct_reserve* and risk_level in {low, medium, high}
          e.g. {"from":"acct_x","to":"acct_reserve","amount_cents":1,"currency":"gbp"}: by contract -> transfer-reserve
      ledger.transfer LOOSENS invalid -> review/medium when payload.amount_cents in {10001..1000000} and payload.currency is gbp and payload.from not like acct_reserve* and payload.to not like acct_reserve* and risk_level in {low, medium}
          e.g. {"from":"acct_x","to":"acct_x","amount_cents":10001,"currency":"gbp"}: by contract -> transfer-medium
      ledger.transfer CHANGES invalid -> reject/high when payload.amount_cents in {1000001..} and payload.currency is gbp and payload.from like acct_reserve* and risk_level in {low, medium, high}
          or when payload.amount_cents in {1000001..} and payload.currency is gbp and payload.from not like acct_reserve* and payload.to like acct_reserve* and risk_level in {low, medium, high}
          or when payload.amount_cents in {1000001..} and payload.currency is gbp and payload.from not like acct_reserve* and payload.to not like acct_reserve* and risk_level is high
          e.g. {"from":"acct_x","to":"acct_reserve","amount_cents":1000001,"currency":"gbp"}: by contract -> transfer-huge
      ledger.transfer CHANGES invalid -> reject/low when payload.amount_cents in {1000001..} and payload.currency is gbp and payload.from not like acct_reserve* and payload.to not like acct_reserve*
          e.g. {"from":"acct_x","to":"acct_x","amount_cents":1000001,"currency":"gbp"}: by contract -> transfer-huge
      ledger.transfer: payload.currency: {"enum":["eur","usd"]} -> {"enum":["eur","usd","gbp"]}
      ledger.transfer: 8 more changes show only when the agent claims a higher risk_level (--format json lists all)
      9 loosened, 0 tightened, 4 changed otherwise; complete: 96 cells"
    `)
  })

  it('a field of a contract made required', async () => {
    expect(
      await edit('tools/cloud.delete.yaml', '[kind, name, env]', '[kind, name, env, final_snapshot]'),
    ).toMatchInlineSnapshot(`
      "cloud.delete CHANGES reject/critical -> invalid when payload.env is dev and payload.final_snapshot missing and payload.kind in {database, cluster, dns_zone} and risk_level is critical
          or when payload.env is prod and payload.final_snapshot missing and payload.kind in {database, dns_zone}
          or when payload.env is staging and payload.final_snapshot missing and payload.kind is dns_zone and risk_level is critical
          e.g. {"kind":"database","name":"x","env":"prod"}: by delete-prod-db-no-snapshot -> contract
      cloud.delete CHANGES reject/medium -> invalid when payload.env is dev and payload.final_snapshot missing and payload.kind in {database, cluster, dns_zone} and risk_level in {low, medium}
          or when payload.env is staging and payload.final_snapshot missing and payload.kind is dns_zone and risk_level in {low, medium}
          e.g. {"kind":"database","name":"x","env":"dev"}: by unmatched -> contract
      cloud.delete TIGHTENS allow/medium -> invalid when payload.env is dev and payload.final_snapshot missing and payload.kind in {vm, bucket} and risk_level in {low, medium}
          e.g. {"kind":"vm","name":"x","env":"dev"}: by delete-dev -> contract
      cloud.delete TIGHTENS review/critical -> invalid when payload.env is prod and payload.final_snapshot missing and payload.kind in {vm, bucket, cluster}
          e.g. {"kind":"vm","name":"x","env":"prod"}: by delete-prod -> contract
      cloud.delete TIGHTENS review/high -> invalid when payload.env is staging and payload.final_snapshot missing and payload.kind in {bucket, database, cluster} and risk_level in {low, medium, high}
          e.g. {"kind":"bucket","name":"x","env":"staging"}: by delete-staging, delete-stateful -> contract
      cloud.delete TIGHTENS review/medium -> invalid when payload.env is staging and payload.final_snapshot missing and payload.kind is vm and risk_level in {low, medium}
          e.g. {"kind":"vm","name":"x","env":"staging"}: by delete-staging -> contract
      cloud.delete: payload.final_snapshot is required now
      cloud.delete: 4 more changes show only when the agent claims a higher risk_level (--format json lists all)
      0 loosened, 7 tightened, 3 changed otherwise; complete: 180 cells"
    `)
  })

  it('the risk of a contract raised', async () => {
    expect(await edit('tools/ledger.transfer.yaml', 'risk: low', 'risk: medium')).toMatchInlineSnapshot(`
      "ledger.transfer CHANGES review/critical (1 of on-call and 2 of security-leads within 30m) -> review/critical (2 of security-leads and 1 of team-leads within 30m) when payload.amount_cents in {1..10000} and payload.from not like acct_reserve* and payload.to not like acct_reserve* and risk_level is critical
          e.g. {"from":"acct_x","to":"acct_x","amount_cents":1,"currency":"eur"}, risk_level critical: by allow_up_to, transfer-small -> allow_up_to, transfer-small
      ledger.transfer CHANGES review/high (1 of on-call and 1 of security, after 30m also security-leads within 1h) -> review/high (1 of security, after 30m also security-leads and 1 of team-leads within 1h) when payload.amount_cents in {1..10000} and payload.from not like acct_reserve* and payload.to not like acct_reserve* and risk_level is high
          e.g. {"from":"acct_x","to":"acct_x","amount_cents":1,"currency":"eur"}, risk_level high: by allow_up_to, transfer-small -> allow_up_to, transfer-small
      ledger.transfer TIGHTENS allow/low -> allow/medium when payload.amount_cents in {1..10000} and payload.from not like acct_reserve* and payload.to not like acct_reserve*
          e.g. {"from":"acct_x","to":"acct_x","amount_cents":1,"currency":"eur"}: by transfer-small -> transfer-small
      ledger.transfer TIGHTENS reject/low -> reject/medium when payload.amount_cents in {1000001..} and payload.from not like acct_reserve* and payload.to not like acct_reserve*
          e.g. {"from":"acct_x","to":"acct_x","amount_cents":1000001,"currency":"eur"}: by transfer-huge -> transfer-huge
      ledger.transfer: risk: low -> medium
      0 loosened, 2 tightened, 2 changed otherwise; complete: 48 cells"
    `)
  })

  it('a label changed, which no rule reads', async () => {
    expect(await edit('tools/ledger.transfer.yaml', '[money]', '[money, internal]')).toMatchInlineSnapshot(`
      "ledger.transfer: labels: money -> internal, money
      no change of any decision; complete: 48 cells"
    `)
  })

  it('unmatched flipped', async () => {
    expect(await edit('routing.yaml', 'unmatched: reject', 'unmatched: review')).toMatchInlineSnapshot(`
      "cloud.delete LOOSENS reject/medium -> review/medium when payload.env is dev and payload.kind in {database, cluster} and risk_level in {low, medium}
          e.g. {"kind":"database","name":"x","env":"dev","final_snapshot":true}: by unmatched -> unmatched
      email.send LOOSENS reject/high -> review/high when domain(payload.cc) cannot be checked (some not is one of acme.com, acme.io) and (domain(payload.to) every is one of acme.com, acme.io and payload.to not count over 50 or domain(payload.to) cannot be checked (every is one of acme.com, acme.io) and payload.to not count over 50) and risk_level in {low, medium, high}
          or when domain(payload.cc) not some not is one of acme.com, acme.io and domain(payload.to) cannot be checked (every is one of acme.com, acme.io) and payload.to not count over 50 and risk_level in {low, medium, high}
          e.g. {"to":[""],"subject":"x","body":"x","attachments":[],"cc":[]}: by unmatched -> mail-external, mail-partner, unmatched
      github.merge_pr LOOSENS reject/medium -> review/medium when payload.base not like feature/* and payload.base not is one of main, master, production and payload.bypass_checks is false and payload.repo not like */agent-policies and risk_level in {low, medium}
          e.g. {"repo":"x/x","number":1,"base":"x","method":"merge","bypass_checks":false}: by unmatched -> unmatched
      shell.run LOOSENS reject/medium -> review/medium when (payload.argv[0] is git and payload.argv[1] not is one of status, log, diff, show and payload.argv not some like *.env or *id_rsa* or *.pem or *credentials* or payload.argv[0] is git and payload.argv[1] cannot be checked (is one of status, log, diff, show) or payload.argv[0] is git and payload.argv some starts_with --output or --ext-diff or -o and payload.argv not some like *.env or *id_rsa* or *.pem or *credentials* or payload.argv[1] cannot be checked (is one of status, log, diff, show) and payload.argv some starts_with --output or --ext-diff or -o and payload.argv not some like *.env or *id_rsa* or *.pem or *credentials* or payload.argv such as [""] or ["",""] or ["","","-o"] or ["","log"] or ["","log","-o"]) and (payload.cwd missing or path(payload.cwd) is /workspace or path(payload.cwd) starts_with /workspace/) and payload.sudo in {false, missing} and risk_level in {low, medium}
          e.g. {"argv":[""],"cwd":"/workspace","sudo":false}: by unmatched -> unmatched
      sql.query LOOSENS reject/low -> review/low when payload.database is analytics and sql_verbs(payload.query) not some is one of drop, truncate, alter, grant, revoke, create and sql_verbs(payload.query) not every is one of select, with, explain and sql_verbs(payload.query) not some is one of insert, update, delete, merge, copy, into
          e.g. {"database":"analytics","query":"x"}: by unmatched -> unmatched
      web.fetch LOOSENS reject/low -> review/low when (payload.url not starts_with https:// and host(payload.url) is one of developer.mozilla.org, docs.python.org, nodejs.org, acme.com, acme.io or payload.url not starts_with https:// and host(payload.url) ends_with .acme.com or .acme.io or payload.url such as "http:///x")
          e.g. {"url":"http:///x"}: by unmatched -> unmatched
      cloud.delete: 2 more changes show only when the agent claims a higher risk_level (--format json lists all)
      email.send: 1 more change shows only when the agent claims a higher risk_level (--format json lists all)
      github.merge_pr: 2 more changes show only when the agent claims a higher risk_level (--format json lists all)
      shell.run: 2 more changes show only when the agent claims a higher risk_level (--format json lists all)
      sql.query: 3 more changes show only when the agent claims a higher risk_level (--format json lists all)
      web.fetch: 3 more changes show only when the agent claims a higher risk_level (--format json lists all)
      file.write: not complete: not every kind of payload.content has an example
      19 loosened, 0 tightened, 0 changed otherwise; sampled: 3,376 cells"
    `)
  })

  it('allow_up_to raised', async () => {
    expect(await edit('routing.yaml', 'allow_up_to: medium', 'allow_up_to: high')).toMatchInlineSnapshot(`
      "cloud.delete LOOSENS review/high -> allow/high when payload.env is dev and payload.kind in {vm, bucket} and risk_level is high
          e.g. {"kind":"vm","name":"x","env":"dev","final_snapshot":true}, risk_level high: by allow_up_to, delete-dev -> delete-dev
      email.send LOOSENS review/high -> allow/high when domain(payload.cc) not some not is one of acme.com, acme.io and domain(payload.to) every is one of acme.com, acme.io and payload.to not count over 50 and risk_level is high
          e.g. {"to":["a@acme.io"],"subject":"x","body":"x","attachments":[],"cc":[]}, risk_level high: by allow_up_to, mail-internal -> mail-internal
      file.write LOOSENS review/high -> allow/high when payload.content not matches ^(?:[^\\n]*\\n){20} and payload.content not contains BEGIN PRIVATE KEY or BEGIN RSA PRIVATE KEY or BEGIN OPENSSH PRIVATE KEY and path(payload.path) starts_with /workspace/notes/ and path(payload.path) ends_with .md or .txt and path(payload.path) not like */.env* or */.ssh/* or *.pem or *id_rsa* and risk_level is high
          e.g. {"path":"/workspace/notes/.md","content":""}, risk_level high: by allow_up_to, write-notes -> write-notes
      github.merge_pr LOOSENS review/high -> allow/high when payload.base like feature/* and payload.bypass_checks is false and payload.repo not like */agent-policies and risk_level is high
          e.g. {"repo":"x/x","number":1,"base":"feature/","method":"merge","bypass_checks":false}, risk_level high: by allow_up_to, merge-feature-branch -> merge-feature-branch
      ledger.transfer LOOSENS review/high -> allow/high when payload.amount_cents in {1..10000} and payload.from not like acct_reserve* and payload.to not like acct_reserve* and risk_level is high
          e.g. {"from":"acct_x","to":"acct_x","amount_cents":1,"currency":"eur"}, risk_level high: by allow_up_to, transfer-small -> transfer-small
      payments.refund LOOSENS review/high -> allow/high when payload.amount_cents in {1..5000} and payload.reason in {duplicate, requested_by_customer, missing} and risk_level is high
          e.g. {"charge":"ch_x","amount_cents":1,"currency":"usd","reason":"duplicate"}, risk_level high: by allow_up_to, refund-small -> refund-small
      shell.run LOOSENS review/high -> allow/high when (payload.argv[0] is one of ls, cat, head, tail, wc and payload.argv not some like *.env or *id_rsa* or *.pem or *credentials* or payload.argv such as ["git","log"]) and (payload.cwd missing or path(payload.cwd) is /workspace or path(payload.cwd) starts_with /workspace/) and payload.sudo in {false, missing} and risk_level is high
          e.g. {"argv":["ls"],"cwd":"/workspace","sudo":false}, risk_level high: by allow_up_to, shell-read-only -> shell-read-only
      sql.query LOOSENS review/high -> allow/high when payload.database is analytics and sql_verbs(payload.query) every is one of select, with, explain and risk_level is high
          e.g. {"database":"analytics","query":"with"}, risk_level high: by allow_up_to, sql-read-analytics -> sql-read-analytics
      web.fetch LOOSENS review/high -> allow/high when (payload.url starts_with https:// and host(payload.url) is one of developer.mozilla.org, docs.python.org, nodejs.org, acme.com, acme.io or payload.url starts_with https:// and host(payload.url) ends_with .acme.com or .acme.io) and risk_level is high
          e.g. {"url":"https://acme.io/"}, risk_level high: by allow_up_to, fetch-own -> fetch-own
      file.write: not complete: not every kind of payload.content has an example
      9 loosened, 0 tightened, 0 changed otherwise; sampled: 3,376 cells"
    `)
  })

  it('missing_means added', async () => {
    expect(
      await edit(
        'rules/github.merge_pr.yaml',
        /^rules:/m,
        'missing_means:\n  payload.bypass_checks: false\nrules:',
      ),
    ).toMatchInlineSnapshot(`
      "github.merge_pr LOOSENS reject/critical -> review/critical when payload.bypass_checks missing and payload.repo like */agent-policies
          e.g. {"repo":"x/agent-policies","number":1,"base":"x","method":"merge"}: by merge-bypass -> merge-policy-repo
      github.merge_pr LOOSENS reject/high -> review/high when payload.base is one of main, master, production and payload.bypass_checks missing and payload.repo not like */agent-policies and risk_level in {low, medium, high}
          e.g. {"repo":"x/x","number":1,"base":"main","method":"merge"}: by merge-bypass -> merge-main
      github.merge_pr LOOSENS reject/medium -> allow/medium when payload.base like feature/* and payload.bypass_checks missing and payload.repo not like */agent-policies and risk_level in {low, medium}
          e.g. {"repo":"x/x","number":1,"base":"feature/","method":"merge"}: by merge-bypass, unmatched -> merge-feature-branch
      github.merge_pr: 3 more changes show only when the agent claims a higher risk_level (--format json lists all)
      6 loosened, 0 tightened, 0 changed otherwise; complete: 72 cells"
    `)
  })

  it('a shadow rule promoted', async () => {
    expect(await edit(REFUND, /^ +mode: shadow.*\n/m, '')).toMatchInlineSnapshot(`
      "payments.refund TIGHTENS allow/low -> review/low when payload.amount_cents in {1..5000} and payload.order_id missing and payload.reason in {duplicate, requested_by_customer, missing}
          e.g. {"charge":"ch_x","amount_cents":1,"currency":"usd","reason":"duplicate"}: by refund-small -> refund-needs-order
      payments.refund: 1 more change shows only when the agent claims a higher risk_level (--format json lists all)
      0 loosened, 2 tightened, 0 changed otherwise; complete: 48 cells"
    `)
  })

  it('a shadow rule about the time promoted', async () => {
    expect(await edit('rules/github.merge_pr.yaml', /^ +mode: shadow.*\n/m, '')).toMatchInlineSnapshot(`
      "github.merge_pr TIGHTENS review/critical -> reject/critical when payload.base is production and payload.bypass_checks is false and payload.repo like */agent-policies and time.weekday is one of sat, sun
          e.g. {"repo":"x/agent-policies","number":1,"base":"production","method":"merge","bypass_checks":false}: by merge-main, merge-policy-repo -> merge-weekend
      github.merge_pr TIGHTENS review/high -> reject/high when payload.base is production and payload.bypass_checks is false and payload.repo not like */agent-policies and time.weekday is one of sat, sun and risk_level in {low, medium, high}
          e.g. {"repo":"x/x","number":1,"base":"production","method":"merge","bypass_checks":false}: by merge-main -> merge-weekend
      github.merge_pr: 1 more change shows only when the agent claims a higher risk_level (--format json lists all)
      0 loosened, 3 tightened, 0 changed otherwise; complete: 192 cells"
    `)
  })

  it('an allow rule ending on a date', async () => {
    expect(
      await edit(TRANSFER, '- id: transfer-small\n', '- id: transfer-small\n    until: 2027-01-31\n'),
    ).toMatchInlineSnapshot(`
      "ledger.transfer TIGHTENS allow/low -> reject/low when payload.amount_cents in {1..10000} and payload.from not like acct_reserve* and payload.to not like acct_reserve* and time from 2027-01-31T23:00:00.000Z on
          e.g. {"from":"acct_x","to":"acct_x","amount_cents":1,"currency":"eur"}: by transfer-small -> unmatched
      ledger.transfer: 3 more changes show only when the agent claims a higher risk_level (--format json lists all)
      0 loosened, 4 tightened, 0 changed otherwise; complete: 96 cells"
    `)
  })

  it('a rule for other tools', async () => {
    expect(
      await edit(
        TRANSFER,
        'tool: ledger.transfer',
        "tools: ['ledger.*', payments.refund]\nmissing_means: { payload.from: nothing, payload.to: nothing }",
      ),
    ).toMatchInlineSnapshot(`"no change of any decision; complete: 88 cells"`)
  })

  it('a tool of an agent', async () => {
    expect(
      await edit('directory.yaml', '[email.send, payments.refund', '[email.send, shell.run, payments.refund'),
    ).toMatchInlineSnapshot(`
      "LOOSENS acme agent support-bot: may use shell.run
      1 loosened, 0 tightened, 0 changed otherwise; complete: 0 cells"
    `)
  })

  it('the owner of an agent and the group of a reviewer', async () => {
    const owner = (starter['directory.yaml'] ?? '').replace('owners: [bob]', 'owners: [carol]')
    const files = {
      ...starter,
      'directory.yaml': owner.replace('groups: [team-leads], roles', 'groups: [team-leads, security], roles'),
    }
    expect(printDiff(await diffBundles(await load(starter), await load(files)))).toMatchInlineSnapshot(`
      "LOOSENS acme agent support-bot: bob is no owner any more, and may vote
      LOOSENS acme reviewer dana: votes for group security
      TIGHTENS acme agent support-bot: carol is an owner, and does not vote
      2 loosened, 1 tightened, 0 changed otherwise; complete: 0 cells"
    `)
  })

  it('a tool removed', async () => {
    const { 'tools/ledger.transfer.yaml': _, [TRANSFER]: _rules, ...files } = starter
    expect(printDiff(await diffBundles(await load(starter), await load(files)))).toMatchInlineSnapshot(`
      "ledger.transfer TIGHTENS allow/low -> reject/low when payload.amount_cents in {1..10000} and payload.from not like acct_reserve* and payload.to not like acct_reserve*
          e.g. {"from":"acct_x","to":"acct_x","amount_cents":1,"currency":"eur"}: by transfer-small -> unknown_tool
      ledger.transfer TIGHTENS review/high -> reject/low when payload.amount_cents in {1..1000000} and payload.from like acct_reserve*
          or when payload.amount_cents in {1..1000000} and payload.from not like acct_reserve* and payload.to like acct_reserve*
          e.g. {"from":"acct_x","to":"acct_reserve","amount_cents":1,"currency":"eur"}: by transfer-reserve -> unknown_tool
      ledger.transfer TIGHTENS review/medium -> reject/low when payload.amount_cents in {10001..1000000} and payload.from not like acct_reserve* and payload.to not like acct_reserve*
          e.g. {"from":"acct_x","to":"acct_x","amount_cents":10001,"currency":"eur"}: by transfer-medium -> unknown_tool
      ledger.transfer: the tool is gone
      ledger.transfer: 9 more changes show only when the agent claims a higher risk_level (--format json lists all)
      0 loosened, 12 tightened, 0 changed otherwise; complete: 48 cells"
    `)
  })

  it('an exception added with `unless`', async () => {
    expect(
      await edit(
        'rules/shell.run.yaml',
        /(- id: shell-secrets[\s\S]*?credentials\*'\] } }\n)/,
        '$1    unless:\n      payload.argv[0]: ls\n',
      ),
    ).toMatchInlineSnapshot(`
      "shell.run LOOSENS reject/high -> reject/medium when payload.argv some like *.env or *id_rsa* or *.pem or *credentials* and payload.argv[0] is ls and (payload.cwd missing or path(payload.cwd) is /workspace or path(payload.cwd) starts_with /workspace/) and payload.sudo is true and risk_level in {low, medium}
          or when payload.argv some like *.env or *id_rsa* or *.pem or *credentials* and payload.argv[0] is ls and (payload.cwd present and path(payload.cwd) cannot be checked (is /workspace) or path(payload.cwd) not is /workspace and path(payload.cwd) not starts_with /workspace/) and risk_level in {low, medium}
          e.g. {"argv":["ls","",".env"],"cwd":"","sudo":true}: by shell-outside-workspace, shell-sudo -> shell-outside-workspace, shell-sudo
      shell.run LOOSENS review/high -> allow/medium when payload.argv some like *.env or *id_rsa* or *.pem or *credentials* and payload.argv[0] is ls and (payload.cwd missing or path(payload.cwd) is /workspace or path(payload.cwd) starts_with /workspace/) and payload.sudo in {false, missing} and risk_level in {low, medium}
          e.g. {"argv":["ls","",".env"],"cwd":"/workspace","sudo":false}: by shell-secrets -> shell-read-only
      shell.run: 2 more changes show only when the agent claims a higher risk_level (--format json lists all)
      2 loosened, 1 tightened, 1 changed otherwise; complete: 2,280 cells"
    `)
  })
})
