import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ThreadList, ThreadView } from '../../src/contract/reviewer.ts'
import { MAIN, type StartedProcess, startProcess } from '../crash.ts'
import { until } from '../until.ts'
import { type CliRun, runCli, runUnread } from './run.ts'

const STARTER = fileURLToPath(new URL('../../policies', import.meta.url))
const ADMIN_KEY = 'an-admin-key-of-at-least-32-characters'

let directory: string
let gateway: StartedProcess
let env: Record<string, string>
let agentKey: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cs-cli-'))
  const flags = [
    '--port',
    '0',
    '--metrics-port',
    '0',
    '--store',
    `file:${directory}/data`,
    '--policies',
    STARTER,
  ]
  gateway = startProcess(MAIN, ['serve', ...flags, '--admin-key', ADMIN_KEY])
  const line = await gateway.lineWhere((text) => text.includes('"listening"'))
  const { url } = JSON.parse(line) as { url: string }
  env = { COUNTERSIGN_URL: url, COUNTERSIGN_ADMIN_KEY: ADMIN_KEY }
})
afterAll(async () => {
  await gateway.kill('SIGTERM')
  await rm(directory, { recursive: true, force: true })
})

/** Controls other than the line end, and what changes the direction of the text. */
const STEERS = /[^\P{Cc}\n]|\p{Bidi_Control}/u

const run = (...args: string[]) => runCli(args, { cwd: directory, env })

const transferOf = (amount_cents: number): object => ({
  from: 'acct_ops',
  to: 'acct_travel',
  amount_cents,
  currency: 'eur',
  memo: 'evil\u202ememo',
})

async function asAgent<T>(path: string, body: object): Promise<T> {
  const response = await fetch(`${env['COUNTERSIGN_URL']}/api/agent/tasks/t/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${agentKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return (await response.json()) as T
}

const submit = (amount_cents: number): Promise<{ status: string; thread_id?: string }> =>
  asAgent('requests', { tool_name: 'ledger.transfer', payload: transferOf(amount_cents) })

const revise = (thread: string, amount_cents: number): Promise<{ revision?: number }> =>
  asAgent('events', {
    event_type: `revision.t.${thread}`,
    event_summary: 'revised',
    payload: {
      revision: {
        revision_id: `r${amount_cents}`,
        tool_name: 'ledger.transfer',
        subject: 'again',
        request_payload: transferOf(amount_cents),
      },
    },
  })

describe('countersign api', () => {
  const WEBHOOK = ['-f', 'tenant=acme', '-f', 'url=https://hooks.example.com/x']
  const ask = async (...args: string[]): Promise<Record<string, unknown>> => {
    const { code, out, err } = await run('api', ...args)
    expect([code, err]).toEqual([0, ''])
    return JSON.parse(out) as Record<string, unknown>
  }

  it('puts each field into the path, the query or the body, and prints the answer', async () => {
    const events = ['review.pending', 'review.approved']
    const created = await ask(
      'create_webhook',
      ...WEBHOOK,
      ...events.flatMap((one) => ['-f', `events=${one}`]),
    )
    expect(created).toMatchObject({ secret: expect.stringMatching(/^whsec_/) as string })
    const id = `id=${created['id'] as string}`
    const { webhooks } = await ask('list_webhooks', '-f', 'tenant=acme')
    expect(webhooks).toMatchObject([{ id: created['id'], url: 'https://hooks.example.com/x', events }])
    expect(await ask('ping_webhook', '-f', id)).toMatchObject({ waiting: 1 })
    expect(await ask('rotate_webhook_secret', '-f', id, '-f', 'overlap_ms=60000')).toMatchObject({
      secret: expect.stringMatching(/^whsec_/) as string,
    })
    expect(await ask('list_deliveries', '-f', id, '-f', 'limit=1')).toMatchObject({
      deliveries: [{ type: 'webhook.ping' }],
    })
    const range = ['-f', id, '-f', 'since=2026-01-01T00:00:00Z', '-f', 'state=dead']
    expect(await ask('redeliver_range', ...range)).toEqual({ count: 0 })
    expect(await ask('delete_webhook', '-f', id)).toEqual({})
  })

  it('adds a legal hold, lists it and ends it', async () => {
    const scope = ['-f', 'tenant=acme', '-f', 'agent=billing-bot']
    expect(await ask('add_legal_hold', ...scope, '-f', 'reason=case 17')).toMatchObject({ known: true })
    expect(await ask('list_legal_holds', '-f', 'tenant=acme')).toMatchObject({
      legal_holds: [{ agent: 'billing-bot', reason: 'case 17', by: 'admin:admin' }],
    })
    expect(await ask('remove_legal_hold', ...scope, '-f', 'reason=settled')).toEqual({})
  })

  it('lists the operations, and says what is wrong with a request', async () => {
    expect((await run('api')).out).toContain('\nadd_legal_hold  Keep the threads of a task')
    expect((await run('api')).out).not.toMatch(/^(submit|export_evidence) /m)
    for (const [args, code, said] of [
      [['create_webhok'], 2, 'there is no operation `create_webhok`\n\ndid you mean `create_webhook`?'],
      [['show_webhook'], 2, '`show_webhook` needs `id`'],
      [['list_webhooks', '-f', 'tennant=acme'], 2, '`list_webhooks` takes no `tennant`'],
      [
        ['create_webhook', '-f', 'tenant=acme', '-f', 'url=https://10.0.0.1/'],
        1,
        '/url its host is not a public',
      ],
      [['create_webhook', '-f', 'tenant=acme'], 1, '/url'],
    ] as const) {
      const told = await run('api', ...args)
      expect([told.code, told.err]).toEqual([code, expect.stringContaining(said)])
    }
  })
})

describe('countersign evidence', () => {
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text)
    return name
  }

  it('exports records, checkpoint and key, and verifies them without the gateway', async () => {
    await run('freeze', 'acme', '--tool', 'a tool\u2028of two lines', '--reason', 'odd')
    await run('unfreeze', 'acme', '--tool', 'a tool\u2028of two lines', '--reason', 'done')
    const size = async (): Promise<number> =>
      Number((await run('evidence', 'checkpoint', '--tenant', 'acme')).out.split('\n')[1])
    const count = (await run('evidence', 'export', '--tenant', 'acme')).out.trim().split('\n').length
    await until(async () => (await size()) === count)
    const checkpoint = file('acme.checkpoint', (await run('evidence', 'checkpoint', '--tenant', 'acme')).out)
    const key = file('acme.key', (await run('evidence', 'key', '--tenant', 'acme')).out)
    const { out } = await run('evidence', 'export', '--tenant', 'acme')
    const good = file('acme.ndjson', out)
    const verify = (path: string, ...more: string[]) =>
      runCli(['evidence', 'verify', path, '--key', key, '--checkpoint', checkpoint, ...more], {
        cwd: directory,
      })
    const fine = await verify(good)
    expect([fine.code, fine.err]).toEqual([0, ''])
    expect(fine.out).toBe(
      await expectedReport(count, (await run('evidence', 'checkpoint', '--tenant', 'acme')).out),
    )
    expect((await verify(good, '--within', '1h')).code).toBe(0)
    const bad = await verify(file('bad.ndjson', out.split('\n').slice(0, -2).join('\n')))
    expect(bad.code).toBe(3)
    expect(bad.out).toMatch(
      /^ {2}FAILS {4}inclusion {5}\d+ records were signed at 20\S+Z, but the export has only \d+$/m,
    )
    expect((await verify(good, '--receipt', `1:${'0'.repeat(64)}`)).out).toMatch(
      /^ {2}FAILS {4}inclusion {5}record 1 does not match its receipt$/m,
    )
    const soon = await verify(good, '--within', 'soon')
    expect([soon.code, soon.err]).toEqual([
      2,
      expect.stringContaining('--within must be a duration like 24h, not `soon`'),
    ])
    const ever = await verify('bad.ndjson', '--within', '999999999d')
    expect([ever.code, ever.err]).toEqual([3, ''])
    expect(ever.out).toContain('no matching checkpoint was signed since 1970-01-01T00:00:00.000Z')
    const json = JSON.parse((await verify(good, '--json')).out) as object
    expect(json).toMatchObject({
      faults: [],
      omitted: 0,
      records: count,
      unsigned: 0,
      story: { redeemed: 0 },
    })
  })

  /** The report that an auditor reads, to the letter. */
  async function expectedReport(count: number, note: string): Promise<string> {
    const time = /^time (\S+)$/m.exec(note)?.[1] ?? ''
    return `  holds    signature     1 checkpoint, signed by this key.
  holds    integrity     ${count} records, each RFC 8785 JSON that matches its hash.
                         The export has no disclosures to compare with its 4 commitments.
  holds    inclusion     The first ${count} match the newest checkpoint.
  unknown  consistency   Give earlier checkpoints too, to show that records were only added.
  holds    completeness  No number is missing, and every record follows from earlier ones:
                         0 calls allowed and 0 rejected at once; 0 threads, of which 0 approved (0 redeemed, each once), 0 rejected, 0 open.
  unknown  freshness     The newest checkpoint was signed at ${time}, less than a minute ago.
                         Set the accepted age with --within.

This does not prove:
  - that a record is true, or that nothing happened outside the gateway
  - that no independent record was left out before it was signed, such as a call that was allowed at once
  - exact times: they come from the clock of the store
  - groups of reviewers and owners of agents: they are in git, in the bundle that each decision names
`
  }

  it('proves one record without the others', async () => {
    const proof = await runCli(
      ['evidence', 'prove', 'acme.ndjson', '1', '--key', 'acme.key', '--checkpoint', 'acme.checkpoint'],
      { cwd: directory },
    )
    expect([proof.code, proof.err, proof.out.split('\n')[0]]).toEqual([0, '', 'c2sp.org/tlog-proof@v1'])
    const verifyProof = (path: string, ...more: string[]) =>
      runCli(['evidence', 'verify-proof', path, '--key', 'acme.key', ...more], { cwd: directory })
    const shown = await verifyProof(file('1.tlog-proof', proof.out))
    expect([shown.code, JSON.parse(shown.out)]).toEqual([
      0,
      expect.objectContaining({ type: 'webhook.created', tenant: 'acme' }),
    ])
    expect(shown.err).toMatch(
      /^It is record 1 of the \d+ of countersign\/\S+\/acme that were signed at 20\S+Z\.\n$/,
    )
    expect(JSON.parse((await verifyProof('1.tlog-proof', '--json')).out)).toMatchObject({
      number: 1,
      record: { type: 'webhook.created' },
    })
    const odd = String(
      readFileSync(join(directory, 'acme.ndjson'), 'utf8')
        .split('\n')
        .findIndex((line) => line.includes('a tool')) + 1,
    )
    const hidden = await runCli(
      ['evidence', 'prove', 'acme.ndjson', odd, '--key', 'acme.key', '--checkpoint', 'acme.checkpoint'],
      { cwd: directory },
    )
    expect((await verifyProof(file('odd.tlog-proof', hidden.out))).out).toContain(
      'a tool<U+2028>of two lines',
    )
    const forged = await verifyProof(file('2.tlog-proof', proof.out.replace('index 0', 'index 1')))
    expect([forged.code, forged.out, forged.err]).toEqual([
      3,
      '',
      expect.stringContaining('the record is not in the signed log'),
    ])
    const beyond = await run(
      'evidence',
      'prove',
      'acme.ndjson',
      '999',
      '--key',
      'acme.key',
      '--checkpoint',
      'acme.checkpoint',
    )
    expect([beyond.code, beyond.err]).toEqual([
      3,
      expect.stringContaining('the checkpoint covers the records 1 to'),
    ])
  })

  it('says which argument or file is missing', async () => {
    expect((await run('evidence')).code).toBe(2)
    expect((await run('evidence', 'checkpoint')).err).toContain('missing option: --tenant TENANT')
    expect((await run('evidence', 'checkpoint', '--tenant', 'nobody')).err).toContain(
      'no evidence of `nobody` has been signed yet',
    )
    expect((await run('evidence', 'verify')).err).toContain('missing argument: FILE|PLACE')
    expect((await run('evidence', 'prove', 'x')).err).toContain('missing argument: NUMBER')
    expect((await run('evidence', 'prove', 'x', '0', '--key', 'k', '--checkpoint', 'c')).err).toContain(
      '`0` is not the number of a record',
    )
    const two = ['--key', 'k', '--checkpoint', 'c', '--checkpoint', 'd']
    expect((await run('evidence', 'prove', 'x', '1', ...two)).err).toContain('give exactly one --checkpoint')
    expect((await run('evidence', 'verify-proof')).err).toContain('missing argument: FILE')
    expect((await run('evidence', 'verify-proof', 'x')).err).toContain('missing option: --key FILE')
    expect((await run('evidence', 'verify', 'x')).err).toContain('missing option: --key FILE')
    const { err } = await run('evidence', 'verify', 'x', '--key', 'acme.key')
    expect(err).toContain('give a checkpoint or a receipt')
    // the help on this command alone
    expect(err).toMatch(/^  verify FILE\|PLACE --key FILE .*\n.*\n      Checks an export/m)
    expect(err).not.toContain('--tenant')
    const verify = (path: string, ...more: string[]) =>
      run('evidence', 'verify', path, '--key', 'acme.key', '--checkpoint', 'acme.checkpoint', ...more)
    const lost = await verify('x')
    expect([lost.code, lost.err]).toEqual([1, expect.stringContaining('`x` cannot be read')])
    const folder = await verify('.')
    expect([folder.code, folder.err]).toEqual([2, expect.stringContaining('`.` has no file `checkpoint`')])
    expect((await run('evidence', 'export', 'acme', '--tenant', 'acme')).err).toContain('not both')
    const other = await verify('acme.ndjson', '--tenant', 'globex')
    expect([other.code, other.err]).toEqual([
      2,
      expect.stringContaining('`--tenant` is not an option of this command'),
    ])
  })
})

describe('countersign freeze and unfreeze', () => {
  it('freezes an agent, lists the freeze, and lifts it', async () => {
    expect((await run('freeze', 'list', 'acme')).out).toBe('nothing is frozen\n')
    const frozen = await run('freeze', 'acme', '--agent', 'billing-bot', '--reason', 'it talks to strangers')
    expect([frozen.code, frozen.err]).toEqual([0, ''])
    expect(frozen.out).toMatch(/^agent acme\/billing-bot is frozen since 20\S+Z\n$/)
    expect((await run('freeze', 'list', 'acme')).out).toMatch(
      /^agent acme\/billing-bot {2}since 20\S+Z, by admin:admin: it talks to strangers\n$/,
    )
    expect((await run('freeze', 'list', 'acme', '--json')).out).toContain('"agent": "billing-bot"')
    const freed = await run('unfreeze', 'acme', '--agent', 'billing-bot', '--reason', 'mended')
    expect([freed.code, freed.out]).toEqual([
      0,
      'agent acme/billing-bot is no longer frozen: policy decides new calls, and cancelled calls stay cancelled\n',
    ])
    const again = await run('unfreeze', 'acme', '--agent', 'billing-bot', '--reason', 'mended')
    expect(again.code).toBe(1)
    expect(again.err).toContain('this scope is not frozen')
  })

  it('warns of a name that the bundle does not know, and refuses incomplete commands', async () => {
    const odd = await run('freeze', 'acme', '--tool', 'shel.exec', '--reason', 'odd')
    expect(odd.code).toBe(0)
    expect(odd.err).toContain('does not know tool shel.exec in acme: check the spelling')
    expect((await run('unfreeze', 'acme', '--tool', 'shel.exec', '--reason', 'odd')).code).toBe(0)
    expect((await run('freeze', 'acme')).err).toContain('missing option: --reason TEXT')
    expect((await run('freeze', 'acme', '--agent', 'a', '--tool', 't', '--reason', 'r')).code).toBe(2)
    expect((await run('freeze', '--reason', 'r')).code).toBe(2)
  })
})

describe('`countersign login-link` and `sign-out`', () => {
  const signIn = (link: string): Promise<Response> =>
    fetch(`${env['COUNTERSIGN_URL']}/api/review/session`, {
      method: 'POST',
      headers: { origin: env['COUNTERSIGN_URL'] ?? '', 'content-type': 'application/json' },
      body: JSON.stringify({ link: link.split('#/sign-in/')[1]?.trim() }),
    })
  const isSignedIn = async (headers: Record<string, string>): Promise<boolean> => {
    const answer = await fetch(`${env['COUNTERSIGN_URL']}/api/review/session`, { headers })
    return ((await answer.json()) as { signed_in: boolean }).signed_in
  }

  it('prints only a link that signs in once on standard output; signing out ends its session', async () => {
    const { code, out, err } = await run('login-link', 'acme/alice')
    expect(out).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/console\/#\/sign-in\/csl_acme_\S{49}\n$/)
    expect(err).toContain('signs in acme/alice once, until ')
    expect(code).toBe(0)
    const opened = await signIn(out)
    expect(opened.status).toBe(200)
    expect((await signIn(out)).status).toBe(401)
    const cookie = opened.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    const { page_secret } = (await opened.json()) as { page_secret: string }
    const session = { cookie, 'countersign-page': page_secret }
    expect(await isSignedIn(session)).toBe(true)
    expect((await run('sign-out', 'acme/alice')).out).toBe('acme/alice is signed out everywhere\n')
    expect(await isSignedIn(session)).toBe(false)
  })

  it("names a reviewer who is not in the directory, and the form of a reviewer's name", async () => {
    const unknown = await run('login-link', 'acme/nobody')
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('knows no reviewer `nobody`')])
    const unnamed = await run('sign-out', 'alice')
    expect([unnamed.code, unnamed.err]).toEqual([
      2,
      expect.stringContaining('`alice` is not TENANT/REVIEWER'),
    ])
  })
})

describe('countersign keys', () => {
  it('prints only the key on standard output, and says that it is shown once', async () => {
    const { code, out, err } = await run('keys', 'issue', 'agent', 'acme/demo-agent')
    expect(out).toMatch(/^csk_acme_\S{49}\n$/)
    expect(err).toContain('shown once')
    expect(code).toBe(0)
    agentKey = out.trim()
    expect((await submit(100)).status).toBe('pending_review')
  })

  it('rotates a key, and the old key stops working', async () => {
    const old = agentKey
    const { out, err } = await run('keys', 'issue', 'agent', 'acme/demo-agent')
    expect(err).toContain('rotated')
    expect(out.trim()).not.toBe(old)
    expect(await submit(100)).toMatchObject({ code: 'unauthenticated' })
    agentKey = out.trim()
  })

  it('names an agent that is not in the directory', async () => {
    const { code, err } = await run('keys', 'issue', 'agent', 'acme/nobody')
    expect(err).toContain('knows no agent `nobody`')
    expect(code).toBe(1)
  })

  it('exits 2 without an admin key and says how to set it', async () => {
    const { code, err } = await runCli(['keys', 'issue', 'agent', 'acme/x'], { cwd: directory })
    expect(err).toContain('COUNTERSIGN_ADMIN_KEY')
    expect(code).toBe(2)
  })

  it('reads the admin key from the same file as the gateway', async () => {
    const path = join(directory, 'admin-key')
    writeFileSync(path, `${ADMIN_KEY}\n`)
    const asked = ['freeze', 'list', 'acme']
    const withFile = (file: string): Promise<CliRun> =>
      runCli(asked, {
        cwd: directory,
        env: { COUNTERSIGN_URL: env['COUNTERSIGN_URL'] ?? '', COUNTERSIGN_ADMIN_KEY_FILE: file },
      })
    expect(await withFile(path)).toMatchObject({ code: 0, err: '' })
    const { code, err } = await withFile(join(directory, 'not-there'))
    expect(code).toBe(2)
    expect(err).toMatch(
      /^countersign: cannot read `\S+not-there`, named by `COUNTERSIGN_ADMIN_KEY_FILE`: ENOENT: .*\n$/,
    )
  })

  it('exits 1 when no gateway answers, and says how to start one', async () => {
    const nobody = { ...env, COUNTERSIGN_URL: 'http://127.0.0.1:9' }
    const { code, err } = await runCli(['keys', 'issue', 'agent', 'acme/demo-agent'], {
      cwd: directory,
      env: nobody,
    })
    expect(err).toContain('no answer from the gateway')
    expect(err).toContain('countersign serve')
    expect(code).toBe(1)
  })
})

describe('countersign erase', () => {
  const value = [
    '--tenant',
    'acme',
    '--field',
    'payload.to',
    '--equals',
    'acct_eve',
    '--reason',
    'asked for it',
  ]

  it('shows the data, and erases it only when it may', async () => {
    await asAgent('requests', {
      tool_name: 'ledger.transfer',
      payload: { from: 'acct_ops', to: 'acct_eve', amount_cents: 25_000, currency: 'eur' },
    })
    const what = /\d values in 1 record of evidence of \d{4}-\d\d-\d\d, and 1 thread, 1 of them waiting/
    const asked = await run('erase', ...value)
    expect([asked.code, asked.out]).toEqual([1, ''])
    expect(asked.err).toMatch(what)
    expect(asked.err).toContain('to erase without a terminal, add --yes')
    const erased = await run('erase', ...value, '--yes')
    expect([erased.code, erased.out]).toEqual([0, expect.stringMatching(what)])
    expect(erased.err).toContain('backups that were made before still contain the data')
    for (const yes of [['--yes'], []]) {
      const gone = await run('erase', ...value, ...yes)
      expect([gone.code, gone.err]).toEqual([1, expect.stringContaining('no data of this selection')])
    }
  })

  it('refuses a name that is no field, and incomplete commands', async () => {
    const odd = await run(
      'erase',
      '--tenant',
      'acme',
      '--field',
      'to',
      '--equals',
      'x',
      '--reason',
      'r',
      '--yes',
    )
    expect([odd.code, odd.err]).toEqual([1, expect.stringContaining('`to` is not a field')])
    for (const args of [['--task', 't', '--agent', 'a'], ['--field', 'payload.to'], []]) {
      const { code, err } = await run('erase', '--tenant', 'acme', '--reason', 'r', ...args)
      expect([code, err]).toEqual([2, expect.stringContaining('name one of --task')])
    }
  })
})

describe('countersign review', () => {
  let reviewer: Record<string, string>
  let thread: string
  const review = (...args: string[]) => runCli(['review', ...args], { cwd: directory, env: reviewer })

  beforeAll(async () => {
    const { out } = await run('keys', 'issue', 'reviewer', 'acme/alice')
    reviewer = { COUNTERSIGN_URL: env['COUNTERSIGN_URL'] ?? '', COUNTERSIGN_REVIEWER_KEY: out.trim() }
  })

  it('list says that no call waits', async () => {
    expect((await review('list')).out).toContain('nothing is waiting')
  })

  it('list shows each waiting call, its groups and its deadline', async () => {
    thread = (await submit(25_000)).thread_id ?? ''
    const { out } = await review('list')
    expect(out).toContain(thread)
    expect(out).toMatch(
      /MEDIUM {2}ledger\.transfer {2}by demo-agent {2}0\/1 approvals from team-leads, until /,
    )
  })

  it('show prints payload, rules and seats, with hidden characters as code points', async () => {
    const { out } = await review('show', thread)
    expect(out).toContain('evil<U+202E>memo')
    expect(out).not.toContain('\u202e')
    expect(out).toContain('transfer-medium')
    expect(out).toContain('0/1 team-leads')
    expect(out).toMatch(/Check these warnings\n {2}payload\/\w+: Characters change the direction/)
  })

  it('show prints the rejection of a call that differs by one cent', async () => {
    const { thread_id: no = '' } = await submit(26_101)
    await review('reject', no, '-m', 'unknown account')
    const { thread_id: next = '' } = await submit(26_102)
    expect((await review('show', next)).out).toMatch(
      new RegExp(
        `Rejected before\\n  .* rejected a call with another payload\\.\\w+ of demo-agent .*${no}.*unknown account`,
      ),
    )
  })

  it('no text from agents or reviewers controls the terminal or imitates a heading', async () => {
    const hostile = 'x\u001b[2J\u009b2J\u202e\nVotes\n  bob approve'
    const { thread_id = '' } = await asAgent<{ thread_id?: string }>('requests', {
      tool_name: 'ledger.transfer',
      payload: transferOf(27_000),
      subject: hostile,
      preview: hostile,
    })
    await run('freeze', 'acme', '--tool', 'no.tool', '--reason', hostile)
    const shown = [
      await review('show', thread_id),
      await review('request-changes', thread_id, '-m', hostile),
      await review('show', thread_id),
      await review('list', '--status', 'changes_requested'),
      await review('show', thread_id, '--json'),
      await review('list', '--status', 'changes_requested', '--json'),
      await run('freeze', 'list', 'acme'),
      await run('freeze', 'list', 'acme', '--json'),
      await run('keys', 'issue', 'agent', `acme/${hostile}`),
      await run('evidence', 'verify', hostile, '--key', 'k', '--receipt', '1:'),
    ]
    for (const { out, err } of shown) expect(out + err).not.toMatch(STEERS)
    expect(shown[0]?.out).not.toMatch(/^(?:Votes| {2}bob)/m)
    expect(shown[2]?.out.match(/^Votes$/gm)).toHaveLength(1)
    expect(shown[3]?.out).not.toMatch(/^(?:Votes| {2}bob)/m)
    expect(shown[6]?.out.trimEnd()).toMatch(
      /^tool no\.tool in acme .*<U\+000A>Votes<U\+000A> {2}bob approve$/,
    )
    expect((JSON.parse(shown[4]?.out ?? '') as ThreadView).subject).toBe(hostile)
    await run('unfreeze', 'acme', '--tool', 'no.tool', '--reason', 'done')
  })

  it('approve votes on the revision that it shows, and prints the new status', async () => {
    const { code, out } = await review('approve', thread, '-m', 'fine')
    expect(out).toBe(`${thread} is approved\n`)
    expect(code).toBe(0)
    const { out: json } = await review('show', thread, '--json')
    expect((JSON.parse(json) as ThreadView).votes).toMatchObject([
      { reviewer: 'alice', comment: 'fine', via: 'key' },
    ])
    const view = JSON.parse(json) as ThreadView
    const { out: sheet } = await review('show', thread, '--html')
    for (const { number, type } of view.evidence) expect(sheet).toContain(`#${number} ${type}`)
    expect(sheet).toContain(`<dd>${view.policy_revision}</dd>`)
    expect(sheet).toMatch(/Alice[^<]*: approve<\/dt><dd>revision 1, by key/)
  })

  it('a vote on a decided thread exits 1 with the reason', async () => {
    const { code, err } = await review('approve', thread)
    expect(err).toContain('the thread is approved')
    expect(code).toBe(1)
  })

  it('request-changes needs a comment', async () => {
    const { code, err } = await review('request-changes', thread)
    expect(err).toContain('missing option: --message COMMENT')
    expect(code).toBe(2)
  })

  it('a vote for another revision than the current one is refused, with advice', async () => {
    const other = (await submit(26_000)).thread_id ?? ''
    const { code, err } = await review('approve', other, '--revision', '2')
    expect(err).toContain('is at revision 1')
    expect(err).toContain('review show')
    expect(code).toBe(1)
  })

  it('a revised call is approved only when the reviewer names the revision', async () => {
    const other = (await submit(26_000)).thread_id ?? ''
    expect((await revise(other, 27_000)).revision).toBe(2)
    const blind = await review('approve', other)
    expect([blind.code, blind.err]).toEqual([
      2,
      expect.stringContaining('the agent has revised this call: it is at revision 2 now'),
    ])
    expect((await review('approve', other, '--revision', '2')).out).toBe(`${other} is approved\n`)
  })

  it('approve sends the digest that show printed, and no other digest counts', async () => {
    const other = (await submit(26_000)).thread_id ?? ''
    const [, digest = ''] = /^ {2}displayed: ([0-9a-f]{64})$/m.exec((await review('show', other)).out) ?? []
    const { code, err } = await review('approve', other, '--displayed', '0'.repeat(64))
    expect([code, err]).toEqual([1, expect.stringContaining('something else was displayed')])
    expect((await review('approve', other, '--displayed', digest)).out).toBe(`${other} is approved\n`)
  })

  it('list shows more than one page', async () => {
    const threads: string[] = []
    for (let i = 0; i < 101; i++) threads.push((await submit(30_000 + i)).thread_id ?? '')
    const { threads: listed } = JSON.parse((await review('list', '--json')).out) as ThreadList
    const ids = new Set(listed.map(({ thread_id }) => thread_id))
    expect(threads.filter((thread) => !ids.has(thread))).toEqual([])
    expect(ids.size).toBe(listed.length)
  })
})

describe('countersign evidence export', () => {
  it('prints every record of a tenant, numbered without gap', async () => {
    const { code, out } = await run('evidence', 'export', '--tenant', 'acme')
    const numbers = out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { number: number }).number)
    expect(numbers).toEqual(numbers.map((_, i) => i + 1))
    expect(numbers.length).toBeGreaterThan(5)
    expect(code).toBe(0)
  })

  it.runIf(process.platform === 'linux')(
    'prints no control characters on a terminal, and the same records',
    async () => {
      const bytes = await run('evidence', 'export', '--tenant', 'acme', '--disclosures')
      expect(bytes.out).toMatch(STEERS)
      const command = `'${process.execPath}' '${MAIN}' evidence export --tenant acme --disclosures`
      const options = { cwd: directory, env: { PATH: process.env['PATH'] ?? '', ...env } }
      const { stdout } = await promisify(execFile)('script', ['-qec', command, '/dev/null'], options)
      // a terminal ends its lines with a carriage return, too
      const shown = stdout.replaceAll('\r\n', '\n')
      expect(shown).not.toMatch(STEERS)
      const recordsIn = (text: string): unknown[] =>
        text
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as unknown)
      expect(recordsIn(shown)).toEqual(recordsIn(bytes.out))
    },
  )

  it('a broken export is reported, and the output is called incomplete', async () => {
    const server = createServer((_, response) => {
      response.setHeader('content-type', 'application/x-ndjson')
      response.write('{"number":1}\n', () => response.destroy())
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { code, err } = await run('evidence', 'export', '--tenant', 'acme', '--url', url)
    server.close()
    expect(err).toBe(
      `countersign: the answer of the gateway at ${url} ended early\n\nthe printed output is incomplete: discard it, and try again\n`,
    )
    expect(code).toBe(1)
  })

  it('an export without a reader ends with one line', async () => {
    const { code, err } = await runUnread(['evidence', 'export', '--tenant', 'acme'], { cwd: directory, env })
    expect([code, err]).toEqual([1, 'countersign: standard output cannot be written: write EPIPE\n'])
  })

  it('holds neither keys nor tokens', async () => {
    const { out } = await run('evidence', 'export', '--tenant', 'acme')
    expect(out).not.toContain(agentKey)
    expect(out).not.toMatch(/cst_|csk_|csr_/)
  })
})

describe('countersign serve', () => {
  it('refuses a port in use, in one line with advice', async () => {
    const port = new URL(env['COUNTERSIGN_URL'] ?? '').port
    const flags = [
      '--port',
      port,
      '--metrics-port',
      '0',
      '--store',
      `file:${directory}/other`,
      '--policies',
      STARTER,
    ]
    const { code, err } = await runCli(['serve', ...flags], { cwd: directory })
    expect(err).toMatch(/^countersign: cannot start: .*EADDRINUSE/m)
    expect(err).toContain('--port')
    expect(code).toBe(1)
  })

  it('prints a generated admin key once, on a new store only', async () => {
    const flags = [
      '--port',
      '0',
      '--metrics-port',
      '0',
      '--store',
      `file:${directory}/fresh`,
      '--policies',
      STARTER,
    ]
    const lives: string[] = []
    for (let life = 0; life < 2; life++) {
      const child = startProcess(MAIN, ['serve', ...flags])
      await child.lineWhere((text) => text.includes('"listening"'))
      lives.push((await child.kill('SIGTERM')).errors)
    }
    expect(lives[0]).toMatch(/admin key \(shown once, keep it\): csa_\S{43}/)
    expect(lives[1]).not.toContain('csa_')
  })

  it('writes no demo credentials', async () => {
    const { out } = await runCli(['review', 'list'], {
      cwd: directory,
      env: { COUNTERSIGN_URL: env['COUNTERSIGN_URL'] ?? '' },
    })
    expect(out).toBe('')
  })
})
