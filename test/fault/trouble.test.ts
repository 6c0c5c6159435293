// @first
import { cp, readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { MAIN, startProcess } from '../crash.ts'
import { faultsOf } from '../evidence/replayed.ts'
import { rounds } from '../runs.ts'
import { stopwatch } from '../stopwatch.ts'
import {
  type Answer,
  evidenceAfter,
  type Gateway,
  inDirectory,
  LARGE_CENTS,
  SMALL_CENTS,
  startGateway,
  SMALL_POLICIES,
  transfer,
  TRANSFER_PATH,
} from './gateway.ts'
import { until } from '../until.ts'
import { createNotebook, expectReceiptsIn, live, poll } from './life.ts'

const INTRUDER = 'test/store/embedded/intruder.mjs'
const SMALL = transfer(SMALL_CENTS)
const LARGE = transfer(LARGE_CENTS)

function submit(gateway: Gateway, key: string, task: string, body: object = SMALL): Promise<Answer> {
  return gateway.ask({ method: 'POST', path: TRANSFER_PATH(task), key, body })
}

async function stop(gateway: Gateway): Promise<void> {
  gateway.hangUp()
  await gateway.process.kill('SIGTERM')
}

/** A gateway that has issued a key and is gone; `directory` holds its state. */
async function keyOf(directory: string, policies = SMALL_POLICIES): Promise<string> {
  const gateway = await startGateway({ directory, policies })
  const key = await gateway.key('agent', 'demo-agent')
  await stop(gateway)
  return key
}

describe('a store that does not answer', () => {
  it('503: every call ends within its deadline, no call is allowed, and calls work again with the store', () =>
    inDirectory(async (directory) => {
      const deadlineMs = 400
      const marginMs = 2_500
      const gateway = await startGateway({ directory, args: ['--store-deadline', String(deadlineMs)] })
      const key = await gateway.key('agent', 'demo-agent')
      const before = (await evidenceAfter(gateway, 0)).length
      const intruder = startProcess(INTRUDER, [join(directory, 'data/store.mdb'), 'hold'])
      await intruder.lineWhere(() => true)
      const tookMs = stopwatch()
      const answers = await Promise.all(
        Array.from({ length: 64 }, (_, i) =>
          submit(gateway, key, `frozen-${i}`, i % 2 === 0 ? SMALL : LARGE),
        ),
      )
      expect(tookMs()).toBeLessThan(deadlineMs + marginMs)
      expect([...new Set(answers.map(({ status }) => status))]).toEqual([503])
      const codes = new Set(answers.map(({ body }) => body['code']))
      expect(['store_unavailable', 'outcome_unknown']).toEqual(expect.arrayContaining([...codes]))
      expect(answers.every(({ headers }) => Number(headers['retry-after']) >= 1)).toBe(true)
      intruder.send('')
      await intruder.ended
      await until(async () => (await submit(gateway, key, 'thawed')).body['status'] === 'allow')
      const evidence = await evidenceAfter(gateway, 0)
      expect(evidence.map((one) => one.number)).toEqual(evidence.map((_, i) => i + 1))
      expect(evidence.length).toBeGreaterThan(before)
      expect(faultsOf(evidence.map(({ record }) => record))).toEqual([])
      await stop(gateway)
    }))

  it('503 and not ready while the disk is nearly full, but existing data can be read', () =>
    inDirectory(async (directory) => {
      const roomy = await startGateway({ directory })
      const key = await roomy.key('agent', 'demo-agent')
      const held = await submit(roomy, key, 'before', LARGE)
      await stop(roomy)
      const full = await startGateway({
        directory,
        ready: false,
        args: ['--store-min-free', '900000000000000'],
      })
      const ready = await full.ask({ path: '/readyz' })
      expect(ready.status).toBe(503)
      expect(ready.text).toMatch(/disk is nearly full/)
      expect((await full.ask({ path: '/livez' })).status).toBe(200)
      const refused = await submit(full, key, 'full')
      expect([refused.status, refused.body['code']]).toEqual([503, 'store_unavailable'])
      const thread_id = held.body['thread_id'] as string
      const read = await poll(full, { agent: key, reviewer: '' }, thread_id)
      expect(read.body['status']).toBe('pending_review')
      await stop(full)
    }))
})

describe('a second gateway on the same data directory', () => {
  it('refuses to start with the reason and what to do, and does not disturb the first', () =>
    inDirectory(async (directory) => {
      const first = await startGateway({ directory })
      const key = await first.key('agent', 'demo-agent')
      const ports = ['--port', '0', '--metrics-port', '0']
      const state = ['--store', `file:${directory}/data`, '--policies', SMALL_POLICIES]
      const second = startProcess(MAIN, ['serve', ...ports, ...state])
      const { code, errors } = await second.ended
      expect(code).toBe(1)
      expect(errors).toMatch(/the data directory is in use by another process/)
      const address = `file:${directory}/data`
      expect(errors).toContain(`end the gateway that uses ${address}, or give this one another place`)
      expect((await submit(first, key, 'still-here')).body['status']).toBe('allow')
      await stop(first)
    }))
})

describe('policies', () => {
  const RULES = 'rules/ledger.transfer.yaml'

  async function ownPolicies(directory: string): Promise<{ policies: string; rules: string; good: string }> {
    const policies = join(directory, 'policies')
    await cp(SMALL_POLICIES, policies, { recursive: true })
    const rules = join(policies, RULES)
    return { policies, rules, good: await readFile(rules, 'utf8') }
  }

  it('a broken bundle at start: not ready, every evaluation is 200 reject, and a repaired bundle recovers', () =>
    inDirectory(async (directory) => {
      const { policies, rules, good } = await ownPolicies(directory)
      const key = await keyOf(directory, policies)
      await writeFile(rules, good.replace('at_most', 'at_mots'))
      const gateway = await startGateway({
        directory,
        policies,
        ready: false,
        args: ['--policy-rescan', '100'],
      })
      expect((await gateway.ask({ path: '/readyz' })).status).toBe(503)
      for (const body of [SMALL, LARGE, { tool_name: 'no.such.tool' }]) {
        const answer = await submit(gateway, key, 'no-policy', body)
        expect([answer.status, answer.body['status']]).toEqual([200, 'reject'])
      }
      await writeFile(rules, good)
      await until(async () => (await gateway.ask({ path: '/readyz' })).status === 200)
      expect((await submit(gateway, key, 'mended')).body['status']).toBe('allow')
      await stop(gateway)
    }))

  it('every request is answered during reloads of good and broken bundles under load', () =>
    inDirectory(async (directory) => {
      const reloads = rounds({ check: 3, short: 6, long: 12 })
      const { policies, rules, good } = await ownPolicies(directory)
      const gateway = await startGateway({ directory, policies, args: ['--policy-rescan', '100'] })
      const key = await gateway.key('agent', 'demo-agent')
      const said = new Set<string>()
      const [start, ranMs] = [performance.now(), stopwatch()]
      let loading = true
      const clients = Array.from({ length: 16 }, async (_, i) => {
        for (let call = 0; loading; call++) {
          const { status, body } = await submit(gateway, key, `reload-${i}-${call}`)
          said.add(`${status} ${String(body[status === 200 ? 'status' : 'code'])}`)
        }
      })
      const loads = async (): Promise<number> => {
        const { text } = await metricsOf(gateway)
        const found = [...text.matchAll(/^countersign_policy_reloads_total\{result="\w+"\} (\d+)$/gm)]
        return found.reduce((sum, [, count]) => sum + Number(count), 0)
      }
      for (let i = 0; i < reloads; i++) {
        const seen = await loads()
        const text = i % 3 === 2 ? good.replace('at_most', 'at_mots') : `${good}\n# ${i}\n`
        await writeFile(rules, text)
        await until(async () => (await loads()) > seen)
      }
      loading = false
      await Promise.all(clients)
      // where the machine was suspended, the calls that arrived meanwhile were too many for a moment
      if (performance.now() - start - ranMs() > 500) said.delete('503 overloaded')
      expect([...said]).toEqual(['200 allow'])
      await stop(gateway)
    }))
})

async function metricsOf(gateway: Gateway): Promise<{ text: string }> {
  const response = await fetch(gateway.metricsUrl)
  return { text: await response.text() }
}

describe('SIGTERM under load', () => {
  it('ends within 10 s with exit code 0, answers held requests, and has every answer on disk', () =>
    inDirectory(async (directory) => {
      const gateway = await startGateway({ directory })
      const keys = {
        agent: await gateway.key('agent', 'demo-agent'),
        reviewer: await gateway.key('reviewer', 'alice'),
      }
      const { body } = await submit(gateway, keys.agent, 'held', LARGE)
      const path = `/api/agent/decisions?thread_id=${String(body['thread_id'])}`
      const held = Array.from({ length: 16 }, () =>
        gateway.ask({ path, key: keys.agent, headers: { prefer: 'wait=50' } }),
      )
      const notebook = createNotebook()
      const clients = Array.from({ length: 16 }, (_, i) => live(gateway, keys, notebook, `term-${i}`, [503]))
      await until(async () => notebook.acknowledged > 100)
      const tookMs = stopwatch()
      const { code, signal } = await gateway.process.kill('SIGTERM')
      expect(tookMs()).toBeLessThan(10_000)
      expect([code, signal]).toEqual([0, null])
      const answers = await Promise.all(held)
      expect(answers.map((one) => [one.status, one.body['status']])).toEqual(
        held.map(() => [200, 'pending_review']),
      )
      await Promise.all(clients)
      gateway.hangUp()
      const again = await startGateway({ directory })
      expectReceiptsIn(await evidenceAfter(again, 0), notebook)
      await stop(again)
    }))
})

describe('slow clients', () => {
  it('slow clients are closed, whether headers or body are slow, and delay no other client', () =>
    inDirectory(async (directory) => {
      const gateway = await startGateway({ directory })
      const key = await gateway.key('agent', 'demo-agent')
      const { port } = new URL(gateway.url)
      const head = `POST ${TRANSFER_PATH('slow')} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n`
      const beginnings = {
        nothing: '',
        headers: head,
        body: `${head}content-type: application/json\r\ncontent-length: 100\r\n\r\n{"tool_name":`,
      }
      const closed = Object.entries(beginnings).map(async ([name, text]) => {
        const tookMs = stopwatch()
        const received = await dawdle(Number(port), text)
        return { name, received, after: tookMs() }
      })
      expect((await submit(gateway, key, 'quick')).body['status']).toBe('allow')
      for (const { name, received, after } of await Promise.all(closed)) {
        expect([name, after < 20_000]).toEqual([name, true])
        if (name !== 'nothing') expect(received).toMatch(/^HTTP\/1\.1 408 /)
      }
      await stop(gateway)
    }))

  /**
   * Sends a beginning and then nothing more. Resolves with the received text when the server has closed the connection.
   */
  function dawdle(port: number, beginning: string): Promise<string> {
    return new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(beginning))
      let received = ''
      socket.on('data', (chunk) => (received += chunk.toString()))
      socket.on('error', () => undefined)
      socket.on('close', () => resolve(received))
    })
  }
})
