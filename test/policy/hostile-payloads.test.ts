import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { prepareDirectory } from '../../src/policy/bundle/directory.ts'
import type { CompiledSnapshot } from '../../src/policy/evaluate/compile.ts'
import { HOSTILE_KINDS } from './hostile-kinds.ts'
import { HONEST, HOSTILE, type Hostile } from './hostile-payloads.ts'
import { NOON } from './support.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const NO_HISTORY = { taskTools: [], taskLabels: [], agentTools: [], agentLabels: [] }

const snapshots = new Map<string, Promise<CompiledSnapshot>>()
function snapshotOf(bundle: string): Promise<CompiledSnapshot> {
  const known = snapshots.get(bundle)
  if (known) return known
  const made = prepareDirectory(`${ROOT}/${bundle}`, { now: NOON }).then((prepared) => {
    if (!prepared.ok) throw new Error(`${bundle} does not load`)
    return prepared.snapshot
  })
  snapshots.set(bundle, made)
  return made
}

/** The verdict on each payload; `invalid` for HTTP 400. */
async function verdicts({
  bundle,
  tool,
  payloads,
}: Hostile): Promise<readonly (readonly [string, string])[]> {
  const snapshot = await snapshotOf(bundle)
  if (!snapshot.tools.has(tool)) throw new Error(`${bundle} has no ${tool}`)
  return Promise.all(
    payloads.map(async (payload) => {
      const fits = snapshot.checkPayload(tool, payload).length === 0
      const call = { tool, payload, tenant: 'test', agent: 'test', at: NOON, history: NO_HISTORY }
      return [JSON.stringify(payload), fits ? (await snapshot.judge(call)).verdict : 'invalid'] as const
    }),
  )
}

describe('the starter policies and the recipes', () => {
  it.each([...HOSTILE, ...HOSTILE_KINDS])('allow nothing hostile: $tool of $bundle', async (hostile) => {
    expect((await verdicts(hostile)).filter(([, verdict]) => verdict === 'allow')).toEqual([])
  })

  it.each(HONEST)('allow honest calls: $tool of $bundle', async (honest) => {
    expect((await verdicts(honest)).filter(([, verdict]) => verdict !== 'allow')).toEqual([])
  })

  it('the starter policies and the recipes are tested with more than 200 hostile payloads', () => {
    expect(HOSTILE.flatMap(({ payloads }) => payloads).length).toBeGreaterThan(500)
    expect(HOSTILE_KINDS.flatMap(({ payloads }) => payloads).length).toBeGreaterThan(150)
  })

  it('a line end in a mail header is refused with 400', async () => {
    const header = (name: string) => ({
      to: ['a@acme.com'],
      subject: 'hi',
      body: 'x',
      [name]: 'a@acme.com\r\nBcc: x@evil.example',
    })
    const lists = ['to', 'cc', 'bcc', 'attachments'].map((name) => ({
      ...header('subject'),
      subject: 'hi',
      [name]: ['a@acme.com\nX: y'],
    }))
    const payloads = [header('subject'), header('reply_to'), ...lists]
    const found = await verdicts({ bundle: 'policies', tool: 'email.send', payloads })
    expect(found.filter(([, verdict]) => verdict !== 'invalid')).toEqual([])
  })

  it('commands that read secrets go to review, in every form', async () => {
    const commands = [
      'cat /workspace/.env.production',
      'cat /proc/self/environ',
      'head /etc/shadow',
      'cat /root/.ssh/id_ed25519',
      'cat /home/dev/.netrc',
      'git diff --no-index /dev/null /etc/shadow',
      'git show HEAD:.env.local',
      'git show stash@{0}:config/prod.env',
      'wc --files0-from=/etc/passwd',
    ]
    const payloads = commands.map((command) => ({ argv: command.split(' ') }))
    const found = await verdicts({ bundle: 'policies', tool: 'shell.run', payloads })
    expect(found.filter(([, verdict]) => verdict !== 'review')).toEqual([])
  })

  it('queries that call other functions, and targets that only the agent declares, go to review', async () => {
    const query = "select pg_sleep(1000), lo_export(1,'/etc/x')"
    const cases: readonly Hostile[] = [
      { bundle: 'policies', tool: 'sql.query', payloads: [{ database: 'analytics', query }] },
      {
        bundle: 'policies',
        tool: 'cloud.delete',
        payloads: [{ kind: 'bucket', name: 'prod-backups', env: 'dev' }],
      },
      {
        bundle: 'policies',
        tool: 'github.merge_pr',
        payloads: [{ repo: 'acme/web', number: 1, base: 'feature/x', method: 'merge', bypass_checks: false }],
      },
    ]
    const found = (await Promise.all(cases.map(verdicts))).flat()
    expect(found.map(([, verdict]) => verdict)).toEqual(['review', 'review', 'review'])
  })
})
