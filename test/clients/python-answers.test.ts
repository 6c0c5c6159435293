import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { ensureProgram } from '../debian.ts'

/** What clients/python/countersign.py makes of answers that are none, or that ask for time. */
const CLIENT = fileURLToPath(new URL('../../clients/python', import.meta.url))

const SCRIPT = `
import json, sys
from countersign import Gate, NotExecuted
url, wait, timeout = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
try:
    print(json.dumps(Gate(url, "csk_x", task_id="py", max_wait=wait, timeout=timeout).guard("t", {}, lambda approved: ["ran", ""])))
except NotExecuted as refused:
    print(json.dumps([refused.outcome, str(refused)]))
`

type Answer = (response: ServerResponse, about: object, count: number) => unknown
const json = (response: ServerResponse, status: number, body: object, headers: object = {}): unknown =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part)
  return Buffer.concat(parts).toString()
}

/** One call before a gateway that holds it, and answers its polls so. */
async function called(answer: { submit?: Answer; poll?: Answer }, { wait = 30, timeout = 10 } = {}) {
  let [submits, polls] = [0, 0]
  let hash: unknown
  const server = createServer((request, response) => {
    void textOf(request).then((text) => {
      const { url = '' } = request
      if (url.includes('/requests')) hash = (JSON.parse(text) as { action_hash: unknown }).action_hash
      const about = { task_id: 'py', thread_id: 'thr_1', action_hash: hash }
      if (url.includes('/validate')) return json(response, 200, { ...about, valid: true })
      if (url.includes('/events')) return json(response, 201, {})
      if (url.includes('/decisions'))
        return answer.poll?.(response, { ...about, status: 'pending_review' }, polls++)
      const pending = { ...about, status: 'pending_review' }
      return answer.submit === undefined
        ? json(response, 200, pending)
        : answer.submit(response, pending, submits++)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const env = { PATH: process.env['PATH'] ?? '', PYTHONPATH: CLIENT, PYTHONDONTWRITEBYTECODE: '1' }
  const args = ['-c', SCRIPT, url, String(wait), String(timeout)]
  const { stdout } = await promisify(execFile)('python3', args, { env })
  server.closeAllConnections()
  server.close()
  const [outcome, message] = JSON.parse(stdout) as [string, string]
  return { outcome, message, polls }
}

const approved: Answer = (response, about) =>
  json(response, 200, { ...about, status: 'approved', approval_token: 'cst_x' })

beforeAll(() => ensureProgram('python3', 'python3-minimal'))

describe('the client in Python', () => {
  it('asks again after a Retry-After of more digits than Python reads', async () => {
    const poll: Answer = (response, about, count) =>
      count === 0
        ? json(response, 503, {}, { 'retry-after': '9'.repeat(4_500) })
        : approved(response, about, count)
    expect(await called({ poll })).toMatchObject({ outcome: 'ran', polls: 2 })
  })

  it('waits for people without an end, when it is told to', async () => {
    expect(await called({ poll: approved }, { wait: Infinity })).toMatchObject({ outcome: 'ran' })
  })

  it('polls no sooner than the gateway recommends, when it does not hold the poll', async () => {
    const poll: Answer = (response, about) =>
      json(response, 200, { ...about, recommended_poll_after_seconds: 2 })
    const { outcome, polls } = await called({ poll }, { wait: 2.5 })
    expect(outcome).toBe('timeout')
    expect(polls).toBeLessThanOrEqual(2)
  })

  it.each(['"soon"', '-5', 'null', 'NaN', '{}'])('takes %s for no time to wait', async (wish) => {
    const poll: Answer = (response, about, count) =>
      count === 0
        ? response.end(
            JSON.stringify({ ...about, recommended_poll_after_seconds: 0 }).replace(/0}$/, `${wish}}`),
          )
        : approved(response, about, count)
    expect((await called({ poll })).outcome).toBe('ran')
  })

  it.each([
    ['invalid_payload', 400, 'invalid_json'],
    ['invalid_payload', 413, 'body_too_large'],
    ['gateway_error', 400, 'invalid_request'],
  ])('says %s for %i %s', async (outcome, status, code) => {
    const submit: Answer = (response) => json(response, status, { code, detail: 'no' })
    expect(await called({ submit })).toMatchObject({ outcome, message: 'no' })
  })

  it('repeats no key and no token that a refusal holds', async () => {
    const [key, token] = [`csk_acme_${'k'.repeat(49)}`, `cst_${'t'.repeat(49)}`]
    const submit: Answer = (response) => json(response, 400, { code: 'odd', detail: `${key} and ${token}.` })
    expect((await called({ submit })).message).toBe('[secret] and [secret].')
  })

  it('says that an answer which drips was not there in time, not that it is somebody else`s', async () => {
    const submit: Answer = (response) => {
      const timer = setInterval(() => response.write(' '), 50)
      response.on('close', () => clearInterval(timer))
    }
    expect(await called({ submit }, { timeout: 0.3 })).toMatchObject({
      outcome: 'gateway_error',
      message: 'no answer from the gateway: timed out',
    })
  })
})
