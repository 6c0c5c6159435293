import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { bundle, type Reviewer, startGateway, type TestGateway } from '@countersign/sdk/testing'
import { until } from '../until.ts'
import { type Got, type Receiver, Receivers } from '../webhooks/receiver.ts'

/* The programs of examples/javascript, as their first lines say. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const receivers = new Receivers()
const children: ChildProcess[] = []
let directory: string
let receiver: Receiver
let gateway: TestGateway
let reviewer: Reviewer
let env: Record<string, string | undefined>

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cs-examples-'))
  cpSync(join(ROOT, 'examples/javascript'), directory, { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'))
  receiver = await receivers.open()
  writeFileSync(join(directory, 'ca.crt'), receivers.ca)
  vi.stubEnv('NODE_EXTRA_CA_CERTS', join(directory, 'ca.crt'))
  const flags = ['--webhooks-allow', `127.0.0.1/32:${receiver.port}`]
  gateway = await startGateway(bundle({ review: ['payments.refund'] }), { source: ROOT, flags })
  vi.unstubAllEnvs()
  env = {
    PATH: process.env['PATH'],
    COUNTERSIGN_URL: gateway.url,
    COUNTERSIGN_AGENT_KEY: gateway.agentKey,
    PORT: '0',
  }
  reviewer = await gateway.reviewer()
})
afterAll(async () => {
  await reviewer.close()
  for (const child of children) child.kill('SIGKILL')
  await gateway.stop()
  await receivers.dispose()
  rmSync(directory, { recursive: true, force: true })
})

const node = async (...args: string[]): Promise<string> =>
  (await promisify(execFile)(process.execPath, args, { cwd: directory, env })).stdout

/** Starts a program, and returns its first line. */
async function started(...args: string[]): Promise<{ child: ChildProcess; line: string }> {
  const child = spawn(process.execPath, args, { cwd: directory, env, stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { child, line }
}

it('the LangGraph agent is killed while its call is held, and resumed after the approval', async () => {
  const { child, line } = await started('langgraph-agent.mjs', 'start')
  expect(line).toBe('held: reviewers have to decide')
  child.kill('SIGKILL')
  expect(await node('langgraph-agent.mjs', 'resume')).toBe('held: reviewers have to decide\n')
  const vote = reviewer.approve('payments.refund')
  await vote.wait()
  expect(vote.payload).toEqual({ order: 'A-7', amount_cents: 12_500 })
  expect(await node('langgraph-agent.mjs', 'resume')).toBe('The tool answered: refunded 125.00 for A-7\n')
  await reviewer.assertRedeemed('payments.refund')
  await reviewer.assertRan('payments.refund')
})

it('the queue worker ends while reviewers decide, and runs each approved job once', async () => {
  const before = (await reviewer.ran()).length
  await node('queue-worker.mjs', 'add', 'A-8', '900')
  await node('queue-worker.mjs', 'add', 'A-9', '100')
  expect(await node('queue-worker.mjs', 'work')).toMatch(/^(held: http\S+\nA-[89] waits\n){2}$/)
  for (const { thread_id } of await reviewer.waitUntilHeld('payments.refund', 2)) {
    const { payload } = await reviewer.thread(thread_id)
    await reviewer.decide(thread_id, payload['order'] === 'A-8' ? 'approve' : 'reject', 'seen')
  }
  const out = (await node('queue-worker.mjs', 'work')).split('\n').sort().join()
  expect(out).toMatch(/^,A-8 refunded 9.00 for A-8,A-9 Not executed: .*seen/)
  expect(await node('queue-worker.mjs', 'work')).toBe('')
  expect((await reviewer.ran()).length).toBe(before + 1)
})

it('the refund agent answers while reviewers decide, and a webhook continues its chat', async () => {
  const answer = await gateway.admin('POST', 'webhooks', { tenant: 'test', url: receiver.url })
  env['COUNTERSIGN_WEBHOOK_SECRET'] = ((await answer.json()) as { secret: string }).secret
  const { line: url } = await started('refund-agent.mjs')
  const statuses: Record<string, number> = {}
  const forward = ({ headers, raw }: Pick<Got, 'headers' | 'raw'>): Promise<Response> => {
    const signed = Object.entries(headers).filter(([name]) => /^(webhook-|x-guard-)/.test(name))
    return fetch(`${url}/webhook`, { method: 'POST', headers: Object.fromEntries(signed), body: raw })
  }
  receiver.answer = (got, response) =>
    void forward(got).then(({ status }) => {
      statuses[got.body.type] = status
      response.writeHead(status).end()
    })
  const body = new URLSearchParams({ text: 'Please refund A-7 <now>' })
  const asked = await fetch(url, { method: 'POST', body })
  const page = async (): Promise<string> => (await fetch(asked.url)).text()
  const waiting = /user: Please refund A-7 &#60;now>[^]*waiting for reviewers: .* http\S+\/thread\/thr_/
  expect(await page()).toMatch(waiting)
  await reviewer.approve('payments.refund').wait()
  await until(() => statuses['review.pending'] !== undefined && statuses['review.approved'] !== undefined)
  expect(statuses).toMatchObject({ 'review.pending': 200, 'review.approved': 204 })
  expect(await page()).toContain('assistant: The tool answered: refunded 125.00 for A-7')
  expect(await page()).not.toContain('waiting')
  // no request ends the program: of another method, to no path, or cut off
  expect((await fetch(`${url}//`, { method: 'HEAD' })).status).toBe(404)
  const cut = connect(Number(new URL(url).port), '127.0.0.1')
  cut.end('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n')
  await once(cut.resume(), 'close')
  // a forged delivery is refused, and a replayed one runs nothing again
  const got = receiver.got.find(({ body }) => body.type === 'review.approved') as Got
  const ran = (await reviewer.ran()).length
  expect((await forward({ ...got, raw: `${got.raw} ` })).status).toBe(400)
  expect((await forward(got)).status).toBe(204)
  expect((await reviewer.ran()).length).toBe(ran)
})
