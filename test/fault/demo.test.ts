import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { MAIN, type StartedProcess, startProcess } from '../crash.ts'
import { STARTER_POLICIES } from './gateway.ts'

it('the demo plays its whole story by itself and exits 0', async () => {
  const demo = startProcess(MAIN, ['dev', '--demo', '--auto'], inFolder())
  const { code, lines, errors } = await demo.ended
  expect([code, errors]).toEqual([0, ''])
  expect(lines.join('\n')).toMatch(/used/)
})

it('an interrupted demo leaves no part of its gateway behind', async () => {
  const { directory, through } = inFolder()
  const demo = startProcess(MAIN, ['dev', '--demo', '--auto'], { through })
  await demo.lineWhere(() => true)
  const own = (): string[] => readdirSync(directory).filter((name) => name.startsWith('countersign-demo-'))
  const before = own()
  const { signal } = await demo.kill('SIGINT')
  expect([before.length, signal, own()]).toEqual([1, 'SIGINT', []])
})

interface Demo {
  readonly demo: StartedProcess
  readonly url: string
  readonly reviewer_key: string
}

/** Votes on the thread that the demo waits with for the n-th time, from 0. */
async function vote({ demo, url, reviewer_key }: Demo, nth: number, decision: string): Promise<void> {
  const waiting = (): string[] =>
    demo.lines.flatMap((line) => /waiting for you: .* approve (thr_\w+)/.exec(line)?.[1] ?? [])
  await demo.lineWhere(() => waiting().length > nth)
  const answer = await fetch(`${url}/api/review/threads/${waiting()[nth]}/votes`, {
    method: 'POST',
    headers: { authorization: `Bearer ${reviewer_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ decision, revision: 1, comment: 'Not today.' }),
  })
  expect(answer.status).toBe(200)
}

/** A new directory, in which a process runs and has its temporary files. */
function inFolder() {
  const directory = mkdtempSync(join(tmpdir(), 'cs-demo-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return { directory, through: ['sh', '-c', `cd ${directory} && TMPDIR=${directory} exec "$@"`, 'sh'] }
}

/** `npm start` and `npm run demo` in a directory of their own. */
async function startDemo(): Promise<Demo> {
  const { directory, through } = inFolder()
  const flags = ['--port', '0', '--metrics-port', '0', '--policies', STARTER_POLICIES]
  const gateway = startProcess(MAIN, ['dev', ...flags], { through })
  onTestFinished(async () => void (await gateway.kill('SIGTERM')))
  await gateway.lineWhere((line) => line.includes('Ctrl-C stops the gateway'))
  const demo = startProcess(MAIN, ['dev', '--demo'], { through })
  const file = readFileSync(join(directory, 'data', 'demo-credentials.json'), 'utf8')
  return { ...(JSON.parse(file) as Omit<Demo, 'demo'>), demo }
}

it('a reviewer who rejects sees that nothing ran, and that the contract was kept', async () => {
  const started = await startDemo()
  for (const [nth, decision] of ['request_changes', 'request_changes', 'reject'].entries())
    await vote(started, nth, decision)
  const { code, lines } = await started.demo.ended
  const said = lines.filter((line) => line.includes('Not today.'))
  expect(said).toEqual([
    expect.stringMatching(/^ +ok: nothing ran: /),
    expect.stringMatching(/^ +ok: changes_requested, so there is no proof: /),
    expect.stringMatching(/^ +ok: nothing ran: /),
  ])
  expect([code, lines.join('\n').includes('Every step went as the contract says.')]).toEqual([0, true])
  expect(lines).toContain('  None of the 3 held calls were approved. No other held call ran.')
})

it('starts the gateway if none runs, and stops both on a signal', async () => {
  const flags = ['--port', '0', '--metrics-port', '0', '--policies', STARTER_POLICIES]
  const demo = startProcess(MAIN, ['dev', '--demo', ...flags], inFolder())
  await demo.lineWhere((line) => line.includes('waiting for you: '))
  const { code, lines } = await demo.kill('SIGTERM')
  expect([code, lines.some((line) => line.includes('everything that was answered is on disk'))]).toEqual([
    0,
    true,
  ])
})

it('--auto without --demo exits 2', async () => {
  const { code, errors } = await startProcess(MAIN, ['dev', '--auto'], inFolder()).ended
  expect([code, errors]).toEqual([2, expect.stringContaining('--auto goes with --demo')])
})
