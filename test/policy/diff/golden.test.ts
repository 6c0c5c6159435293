import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { printDiagnostics } from '../../../src/policy/report/diagnostics.ts'
import { diffBundles } from '../../../src/policy/diff/diff.ts'
import { loosens } from '../../../src/policy/diff/gate.ts'
import { printDiff } from '../../../src/policy/diff/print.ts'
import type { Bundle } from '../../../src/policy/diff/side.ts'
import { prepareBundle } from '../../../src/policy/bundle/load.ts'
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

/** The printed difference after the replacement of one passage of the starter bundle. */
async function edit(path: string, passage: string | RegExp, by: string): Promise<string> {
  const text = starter[path] ?? ''
  const changed = text.replace(passage, by)
  expect(changed).not.toBe(text)
  // A difference that holds for every tool is shown for two of them.
  const files = path === 'routing.yaml' ? someTools(starter) : starter
  return printDiff(await diffBundles(await load(files), await load({ ...files, [path]: changed })))
}

function someTools(files: Files): Files {
  return Object.fromEntries(
    Object.entries(files).filter(([path]) => !path.includes('/') || /payments|ledger/.test(path)),
  )
}

const REFUND = 'rules/payments.refund.yaml'
const TRANSFER = 'rules/ledger.transfer.yaml'

describe('one edit of the starter bundle', () => {
  it('nothing', async () => {
    const bundle = await load(starter)
    expect(printDiff(await diffBundles(bundle, bundle))).toMatchInlineSnapshot(
      `"no change of any decision; complete: 0 cells"`,
    )
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
        'reviewers: { group: team-leads, approvals: 1 }',
      ),
    ).toMatchInlineSnapshot(`
      "github.merge_pr TIGHTENS review/critical (2 of security-leads within 30m) -> review/critical (2 of security-leads and 1 of team-leads within 30m) when payload.bypass_checks is false and payload.repo matches (?i)/agent-policies(?:\\.git)?$
          e.g. {"repo":"x/aGENT-POLICIES","number":1,"base":"x","method":"merge","bypass_checks":false}: by merge-policy-repo -> merge-policy-repo
      0 loosened, 1 tightened, 0 changed otherwise; complete: 72 cells"
    `)
  })

  it('a level weakened and its time made longer', async () => {
    expect(await edit('routing.yaml', 'approvals: 2, expires: 30m', 'approvals: 1, expires: 1h'))
      .toMatchInlineSnapshot(`
      "ledger.transfer LOOSENS review/critical (1 of on-call and 2 of security-leads within 30m) -> review/critical (1 of on-call and 1 of security-leads within 1h) when payload.amount_cents in {1..10000} and payload.from not like acct_reserve* and payload.to not like acct_reserve* and risk_level is critical
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
      6 loosened, 0 tightened, 0 changed otherwise; complete: 72 cells"
    `)
  })

  it('a level that no longer asks for a sign-in', async () => {
    const [before, after] = [
      [/approvals: 2, expires: 30m/, 'approvals: 2, interactive: true, expires: 30m'],
      [/approvals: 2, expires: 30m/, 'approvals: 2, expires: 30m'],
    ] as const
    const bundleWith = ([from, to]: readonly [RegExp, string]): Promise<Bundle> =>
      load({ ...someTools(starter), 'routing.yaml': (starter['routing.yaml'] ?? '').replace(from, to) })
    const text = printDiff(await diffBundles(await bundleWith(before), await bundleWith(after)))
    expect(text).toContain(
      'ledger.transfer LOOSENS review/critical (2 of security-leads and 1 of team-leads, signed in, within 30m) -> review/critical (2 of security-leads and 1 of team-leads within 30m)',
    )
    expect(text).toMatch(/\d+ loosened, 0 tightened, 0 changed otherwise; complete/)
  })

  it('a domain added to a list', async () => {
    const routing = (starter['routing.yaml'] ?? '').replace(
      '[acme.com, acme.io]',
      '[acme.com, acme.io, acme.org]',
    )
    const { 'rules/email.send.yaml': _, 'tools/email.send.yaml': _contract, ...files } = starter
    const after = await load({ ...files, 'routing.yaml': routing })
    expect(printDiff(await diffBundles(await load(files), after))).toMatchInlineSnapshot(`
      "web.fetch LOOSENS review/medium -> allow/low when payload.url starts_with https:// and host(payload.url) not is one of developer.mozilla.org, docs.python.org, nodejs.org, acme.com, acme.io and host(payload.url) is one of developer.mozilla.org, docs.python.org, nodejs.org, acme.com, acme.io, acme.org
          e.g. {"url":"https://acme.org/"}: by fetch-elsewhere -> fetch-own
      web.fetch: 3 more changes show only when the agent claims a higher risk_level (--format json lists all)
      2 loosened, 0 tightened, 2 changed otherwise; complete: 64 cells"
    `)
  })

  it('a value added to a list in a rule', async () => {
    expect(await edit('rules/cloud.delete.yaml', 'kind: [vm, bucket]', 'kind: [vm, bucket, cluster]'))
      .toMatchInlineSnapshot(`
        "cloud.delete LOOSENS reject/medium -> allow/medium when payload.env is dev and payload.kind is cluster and payload.name starts_with dev- and risk_level in {low, medium}
            e.g. {"kind":"cluster","name":"dev-","env":"dev","final_snapshot":true}: by unmatched -> delete-dev
        cloud.delete: 2 more changes show only when the agent claims a higher risk_level (--format json lists all)
        3 loosened, 0 tightened, 0 changed otherwise; complete: 240 cells"
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
    expect(await edit('tools/cloud.delete.yaml', '[kind, name, env]', '[kind, name, env, final_snapshot]'))
      .toMatchInlineSnapshot(`
        "cloud.delete CHANGES reject/critical -> invalid when payload.env is dev and payload.final_snapshot missing and payload.kind in {database, cluster, dns_zone} and risk_level is critical
            or when payload.env is prod and payload.final_snapshot missing and payload.kind in {database, dns_zone}
            or when payload.env is staging and payload.final_snapshot missing and payload.kind is dns_zone and risk_level is critical
            e.g. {"kind":"database","name":"x","env":"prod"}: by delete-prod-db-no-snapshot -> contract
        cloud.delete CHANGES reject/medium -> invalid when payload.env is dev and payload.final_snapshot missing and payload.kind in {database, cluster, dns_zone} and risk_level in {low, medium}
            or when payload.env is staging and payload.final_snapshot missing and payload.kind is dns_zone and risk_level in {low, medium}
            e.g. {"kind":"database","name":"x","env":"dev"}: by unmatched -> contract
        cloud.delete TIGHTENS allow/medium -> invalid when payload.env is dev and payload.final_snapshot missing and payload.kind in {vm, bucket} and payload.name starts_with dev- and risk_level in {low, medium}
            e.g. {"kind":"vm","name":"dev-","env":"dev"}: by delete-dev -> contract
        cloud.delete TIGHTENS review/critical -> invalid when payload.env is prod and payload.final_snapshot missing and payload.kind in {vm, bucket, cluster}
            e.g. {"kind":"vm","name":"x","env":"prod"}: by delete-prod -> contract
        cloud.delete TIGHTENS review/high -> invalid when payload.env is dev and payload.final_snapshot missing and payload.kind in {vm, bucket} and payload.name not starts_with dev- and risk_level in {low, medium, high}
            or when payload.env is staging and payload.final_snapshot missing and payload.kind in {bucket, database, cluster} and risk_level in {low, medium, high}
            e.g. {"kind":"vm","name":"x","env":"dev"}: by delete-not-named-dev -> contract
        cloud.delete TIGHTENS review/medium -> invalid when payload.env is staging and payload.final_snapshot missing and payload.kind is vm and risk_level in {low, medium}
            e.g. {"kind":"vm","name":"x","env":"staging"}: by delete-staging -> contract
        cloud.delete: payload.final_snapshot is required now
        cloud.delete: 4 more changes show only when the agent claims a higher risk_level (--format json lists all)
        0 loosened, 7 tightened, 3 changed otherwise; complete: 360 cells"
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
    expect(await edit('routing.yaml', 'unmatched: reject', 'unmatched: review')).toMatchInlineSnapshot(
      `"no change of any decision; complete: 72 cells"`,
    )
  })

  it('allow_up_to raised', async () => {
    expect(await edit('routing.yaml', 'allow_up_to: medium', 'allow_up_to: high')).toMatchInlineSnapshot(`
      "ledger.transfer LOOSENS review/high -> allow/high when payload.amount_cents in {1..10000} and payload.from not like acct_reserve* and payload.to not like acct_reserve* and risk_level is high
          e.g. {"from":"acct_x","to":"acct_x","amount_cents":1,"currency":"eur"}, risk_level high: by allow_up_to, transfer-small -> transfer-small
      payments.refund LOOSENS review/high -> allow/high when payload.amount_cents in {1..5000} and payload.reason in {duplicate, requested_by_customer, missing} and risk_level is high
          e.g. {"charge":"ch_x","amount_cents":1,"currency":"usd","reason":"duplicate"}, risk_level high: by allow_up_to, refund-small -> refund-small
      2 loosened, 0 tightened, 0 changed otherwise; complete: 72 cells"
    `)
  })

  it('missing_means changed', async () => {
    expect(await edit(REFUND, 'payload.reason: nothing', 'payload.reason: fraudulent'))
      .toMatchInlineSnapshot(`
      "payments.refund CHANGES review/critical (1 of on-call and 2 of security-leads within 30m) -> review/critical (1 of fraud-desk and 1 of security, after 30m also security-leads and 2 of security-leads within 30m) when payload.amount_cents in {1..5000} and payload.reason missing and risk_level is critical
          e.g. {"charge":"ch_x","amount_cents":1,"currency":"usd"}, risk_level critical: by allow_up_to, refund-small -> refund-fraud
      payments.refund CHANGES review/critical (2 of security-leads and 1 of team-leads within 30m) -> review/critical (1 of fraud-desk and 1 of security, after 30m also security-leads and 2 of security-leads within 30m) when payload.amount_cents in {5001..500000} and payload.reason missing and risk_level is critical
          e.g. {"charge":"ch_x","amount_cents":5001,"currency":"usd"}, risk_level critical: by refund-medium -> refund-fraud, refund-medium
      payments.refund CHANGES review/high (1 of on-call and 1 of security, after 30m also security-leads within 1h) -> review/high (1 of fraud-desk and 1 of security, after 30m also security-leads within 1h) when payload.amount_cents in {1..5000} and payload.reason missing and risk_level is high
          e.g. {"charge":"ch_x","amount_cents":1,"currency":"usd"}, risk_level high: by allow_up_to, refund-small -> refund-fraud
      payments.refund CHANGES review/high (1 of security, after 30m also security-leads and 1 of team-leads within 1h) -> review/high (1 of fraud-desk and 1 of security, after 30m also security-leads within 1h) when payload.amount_cents in {5001..500000} and payload.reason missing and risk_level is high
          e.g. {"charge":"ch_x","amount_cents":5001,"currency":"usd"}, risk_level high: by refund-medium -> refund-fraud, refund-medium
      payments.refund TIGHTENS allow/low -> review/high when payload.amount_cents in {1..5000} and payload.reason missing
          e.g. {"charge":"ch_x","amount_cents":1,"currency":"usd"}: by refund-small -> refund-fraud
      payments.refund TIGHTENS reject/medium -> reject/high when payload.amount_cents in {500001..} and payload.reason missing and risk_level in {low, medium}
          e.g. {"charge":"ch_x","amount_cents":500001,"currency":"usd"}: by refund-over-limit -> refund-over-limit
      payments.refund TIGHTENS review/medium (1 of team-leads within 4h) -> review/high (1 of fraud-desk and 1 of security, after 30m also security-leads within 1h) when payload.amount_cents in {5001..500000} and payload.reason missing and risk_level in {low, medium}
          e.g. {"charge":"ch_x","amount_cents":5001,"currency":"usd"}: by refund-medium -> refund-fraud, refund-medium
      payments.refund: 1 more change shows only when the agent claims a higher risk_level (--format json lists all)
      0 loosened, 4 tightened, 4 changed otherwise; complete: 36 cells"
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
      "github.merge_pr TIGHTENS review/critical -> reject/critical when payload.base matches (?i)^(?:refs/heads/)?production$ and payload.bypass_checks is false and payload.repo matches (?i)/agent-policies(?:\\.git)?$ and time.weekday is one of sat, sun
          e.g. {"repo":"x/aGENT-POLICIES","number":1,"base":"PRODUCTION","method":"merge","bypass_checks":false}: by merge-main, merge-policy-repo -> merge-weekend
      github.merge_pr TIGHTENS review/high -> reject/high when payload.base matches (?i)^(?:refs/heads/)?production$ and payload.bypass_checks is false and payload.repo not matches (?i)/agent-policies(?:\\.git)?$ and time.weekday is one of sat, sun and risk_level in {low, medium, high}
          e.g. {"repo":"x/x","number":1,"base":"PRODUCTION","method":"merge","bypass_checks":false}: by merge-main -> merge-weekend
      github.merge_pr: 1 more change shows only when the agent claims a higher risk_level (--format json lists all)
      0 loosened, 3 tightened, 0 changed otherwise; complete: 192 cells"
    `)
  })

  it('an allow rule ending on a date', async () => {
    expect(await edit(TRANSFER, '- id: transfer-small\n', '- id: transfer-small\n    until: 2027-01-31\n'))
      .toMatchInlineSnapshot(`
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
    ).toMatchInlineSnapshot(`
      "CHANGES limit transfer-agent-day: applies to ledger.transfer, payments.refund instead of ledger.transfer
      CHANGES limit transfer-to-day: applies to ledger.transfer, payments.refund instead of ledger.transfer
      0 loosened, 0 tightened, 2 changed otherwise; complete: 88 cells"
    `)
  })

  it('a clause that SQL must have, and a table that it may read', async () => {
    const SQL = 'rules/sql.query.yaml'
    expect(await edit(SQL, 'sql_has(payload.query, where): true', 'sql_has(payload.query, limit): true'))
      .toMatchInlineSnapshot(`
      "sql.query LOOSENS reject/high -> review/high when sql_verbs(payload.query) not every is select and sql_has(payload.query, limit) is true and risk_level in {low, medium, high}
          e.g. {"database":"analytics","query":"delete from t limit 1"}: by sql-write-without-where -> sql-write
      sql.query TIGHTENS review/high -> reject/high when sql_verbs(payload.query) not every is select and sql_has(payload.query, where) is true and risk_level in {low, medium, high}
          e.g. {"database":"analytics","query":"delete from t where a = 1"}: by sql-write -> sql-write-without-where
      sql.query: 2 more changes show only when the agent claims a higher risk_level (--format json lists all)
      sql.query: not complete: not every kind of payload.query has an example
      2 loosened, 2 tightened, 0 changed otherwise; sampled: 248 cells"
    `)
    const list = (starter['routing.yaml'] ?? '').replace('products, sessions', 'products')
    const smaller = await load({ ...starter, 'routing.yaml': list })
    expect(printDiff(await diffBundles(await load(starter), smaller))).toMatchInlineSnapshot(`
      "sql.query LOOSENS review/high (1 of on-call and 1 of security, after 30m also security-leads within 1h) -> review/high (1 of security, after 30m also security-leads within 1h) when payload.query such as "select 1 from sessions" or "select 1 from sessions where a = 1" and risk_level is high
          e.g. {"database":"analytics","query":"select 1 from sessions"}, risk_level high: by allow_up_to, sql-read-analytics -> sql-read-beyond
      sql.query CHANGES review/critical (1 of on-call and 2 of security-leads within 30m) -> review/critical (1 of security, after 30m also security-leads and 2 of security-leads within 30m) when payload.query such as "select 1 from sessions" or "select 1 from sessions where a = 1" and risk_level is critical
          e.g. {"database":"analytics","query":"select 1 from sessions"}, risk_level critical: by allow_up_to, sql-read-analytics -> sql-read-beyond
      sql.query TIGHTENS allow/low -> review/high when payload.database is analytics and payload.query such as "select 1 from sessions" or "select 1 from sessions where a = 1"
          e.g. {"database":"analytics","query":"select 1 from sessions"}: by sql-read-analytics -> sql-read-beyond
      sql.query TIGHTENS review/low (1 of on-call within 8h) -> review/high (1 of security, after 30m also security-leads within 1h) when payload.database in {staging, prod} and payload.query such as "select 1 from sessions" or "select 1 from sessions where a = 1"
          e.g. {"database":"staging","query":"select 1 from sessions"}: by sql-read-elsewhere -> sql-read-beyond, sql-read-elsewhere
      sql.query: 2 more changes show only when the agent claims a higher risk_level (--format json lists all)
      sql.query: not complete: not every kind of payload.query has an example
      1 loosened, 4 tightened, 1 changed otherwise; sampled: 224 cells"
    `)
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

  it('a new owner, while a rule allows a call by the owners', async () => {
    const asks = {
      ...starter,
      'rules/owners.yaml': `tool: web.fetch
rules:
  - id: owned
    allow: The owner may.
    when: { agent.owners: { some: dana } }
`,
    }
    const directory = (starter['directory.yaml'] ?? '').replace('owners: [bob]', 'owners: [bob, dana]')
    const found = await diffBundles(await load(asks), await load({ ...asks, 'directory.yaml': directory }))
    expect(printDiff(found)).toMatchInlineSnapshot(`
      "CHANGES acme agent support-bot: dana is an owner, and does not vote, and rules decide by the owners
      0 loosened, 0 tightened, 1 changed otherwise; complete: 0 cells"
    `)
    expect(loosens(found)).toBe(true)
    const unasked = await diffBundles(
      await load(starter),
      await load({ ...starter, 'directory.yaml': directory }),
    )
    expect(loosens(unasked)).toBe(false)
  })

  it('a tool removed', async () => {
    const { 'tools/ledger.transfer.yaml': _, [TRANSFER]: _rules, ...files } = starter
    expect(printDiff(await diffBundles(await load(starter), await load(files)))).toMatchInlineSnapshot(`
      "LOOSENS limit transfer-agent-day: removed
      LOOSENS limit transfer-to-day: removed
      ledger.transfer TIGHTENS allow/low -> reject/low when payload.amount_cents in {1..10000} and payload.from not like acct_reserve* and payload.to not like acct_reserve*
          e.g. {"from":"acct_x","to":"acct_x","amount_cents":1,"currency":"eur"}: by transfer-small -> unknown_tool
      ledger.transfer TIGHTENS review/high -> reject/low when payload.amount_cents in {1..1000000} and payload.from like acct_reserve*
          or when payload.amount_cents in {1..1000000} and payload.from not like acct_reserve* and payload.to like acct_reserve*
          e.g. {"from":"acct_x","to":"acct_reserve","amount_cents":1,"currency":"eur"}: by transfer-reserve -> unknown_tool
      ledger.transfer TIGHTENS review/medium -> reject/low when payload.amount_cents in {10001..1000000} and payload.from not like acct_reserve* and payload.to not like acct_reserve*
          e.g. {"from":"acct_x","to":"acct_x","amount_cents":10001,"currency":"eur"}: by transfer-medium -> unknown_tool
      ledger.transfer: the tool is gone
      ledger.transfer: 9 more changes show only when the agent claims a higher risk_level (--format json lists all)
      2 loosened, 12 tightened, 0 changed otherwise; complete: 48 cells"
    `)
  })

  it('an exception added with `unless`', async () => {
    expect(
      await edit(
        'rules/github.merge_pr.yaml',
        /(- id: merge-main[\s\S]*?\n)( +risk: high\n)/,
        '$1    unless:\n      payload.method: squash\n$2',
      ),
    ).toMatchInlineSnapshot(`
      "github.merge_pr LOOSENS reject/high -> reject/medium when payload.base matches (?i)^(?:refs/heads/)?(?:main|master|production)$ and payload.bypass_checks in {true, missing} and payload.method is squash and payload.repo not matches (?i)/agent-policies(?:\\.git)?$ and risk_level in {low, medium}
          e.g. {"repo":"x/x","number":1,"base":"MaIN","method":"squash","bypass_checks":true}: by merge-bypass -> merge-bypass
      github.merge_pr TIGHTENS review/high -> reject/medium when payload.base matches (?i)^(?:refs/heads/)?(?:main|master|production)$ and payload.bypass_checks is false and payload.method is squash and payload.repo not matches (?i)/agent-policies(?:\\.git)?$ and risk_level in {low, medium}
          e.g. {"repo":"x/x","number":1,"base":"MaIN","method":"squash","bypass_checks":false}: by merge-main -> unmatched
      github.merge_pr: 2 more changes show only when the agent claims a higher risk_level (--format json lists all)
      1 loosened, 3 tightened, 0 changed otherwise; complete: 144 cells"
    `)
  })
})
