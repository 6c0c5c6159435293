import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { CountersignError, createGate, type Decision, type GateOptions, NotExecuted } from '@countersign/sdk'
import { gateBefore } from './double.ts'

/*
 * A gateway that gives every answer that a test wants, truth or lie. The law of the wrapper: it runs the call only when
 * every word fits.
 */
interface Heard {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: Record<string, unknown>
}
type Reply =
  | { readonly status?: number; readonly json?: unknown; readonly text?: string }
  | 'hang'
  | 'hang up'
type Script = Partial<
  Record<
    'resolve' | 'submit' | 'poll' | 'validate' | 'event' | 'outcome' | 'withdraw' | 'reissue',
    (heard: Heard) => Reply
  >
>

const TOOL = {
  name: 'pay',
  description: '',
  input_schema: { type: 'object', properties: { cents: { type: 'integer' } } },
  risk: 'low',
  revision: 'r',
}
const THREAD = 'thr_1'
let server: Server | undefined

afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

function hashOf(heard: Heard): string {
  return heard.body['action_hash'] as string
}

/** The honest gateway: reviews, approves at the first poll, and redeems once. `submitted` is what it remembers. */
function honest(): Required<Script> & { submitted: Heard | undefined } {
  const memory: Required<Script> & { submitted: Heard | undefined } = {
    submitted: undefined,
    resolve: () => ({ json: { tools: [TOOL], unknown: [] } }),
    submit: (heard) => {
      memory.submitted = heard
      return {
        json: { status: 'pending_review', task_id: 't', thread_id: THREAD, action_hash: hashOf(heard) },
      }
    },
    poll: () => ({ json: approvedOf(memory.submitted) }),
    validate: (heard) => ({
      json: { valid: true, thread_id: THREAD, task_id: 't', action_hash: hashOf(heard) },
    }),
    reissue: () => ({ status: 409, json: { code: 'not_pending', detail: 'there is no proof to replace' } }),
    withdraw: () => ({ json: { status: 'rejected', task_id: 't', thread_id: THREAD } }),
    event: () => ({ status: 201, json: { event_id: 'e', recorded_at: '' } }),
    outcome: ({ body }) => ({ status: 201, json: { ...body, task_id: 't', recorded_at: '' } }),
  }
  return memory
}

function approvedOf(submitted: Heard | undefined): Partial<Decision> {
  const action_hash = submitted === undefined ? '' : hashOf(submitted)
  return { status: 'approved', task_id: 't', thread_id: THREAD, action_hash, approval_token: 'cst_x' }
}

async function gatewayThat(script: Script): Promise<{ url: string; heard: Heard[] }> {
  const heard: Heard[] = []
  const says = { ...honest(), ...script }
  server = createServer((request, response) => void listen(request, response))
  async function listen(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const path = request.url ?? ''
    const body = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>
    const one = { method: request.method ?? '', path, headers: request.headers, body }
    heard.push(one)
    const route = [
      'resolve',
      'validate',
      'requests',
      'decisions',
      'events',
      'outcomes',
      'withdrawals',
      'proofs',
    ].find((name) => path.includes(name))
    const verbs = {
      requests: 'submit',
      decisions: 'poll',
      events: 'event',
      outcomes: 'outcome',
      withdrawals: 'withdraw',
      proofs: 'reissue',
    }
    const verb = verbs[route as keyof typeof verbs] ?? route
    const reply = says[verb as keyof Script](one)
    if (reply === 'hang') return
    if (reply === 'hang up') return void request.socket.destroy()
    response.writeHead(reply.status ?? 200, { 'content-type': 'application/json' })
    response.end(reply.text ?? JSON.stringify(reply.json))
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard }
}

const FAST: Partial<GateOptions> = { timeoutMs: 300, maxWaitMs: 400, taskId: 't' }

async function tryTo(script: Script, options: Partial<GateOptions> = {}) {
  const { url, heard } = await gatewayThat(script)
  const execute = vi.fn(() => 'done')
  const gate = createGate({ url, key: 'csk_test', ...FAST, ...options })
  const outcome = await gate.guard('pay', { cents: 1 }, execute).catch((error: unknown) => error)
  await gate.settled()
  return { outcome, execute, heard }
}

const status = (code: number) => (): Reply => ({ status: code, json: { code: 'x', detail: 'y' } })
const decided =
  (change: object) =>
  (heard: Heard): Reply => ({
    json: { status: 'allow', task_id: 't', action_hash: hashOf(heard), ...change },
  })

describe('a gateway that gives false answers or fails', () => {
  const lies: Record<string, Script> = {
    'an unknown status': { submit: decided({ status: 'sure' }) },
    'allow in capital letters': { submit: decided({ status: 'ALLOW' }) },
    'no status': { submit: decided({ status: undefined }) },
    'allow without the echo of the hash': { submit: decided({ action_hash: undefined }) },
    'allow for another action': { submit: decided({ action_hash: '0'.repeat(64) }) },
    'allow with status 500': {
      submit: (heard) => ({ status: 500, json: { status: 'allow', action_hash: hashOf(heard) } }),
    },
    'allow with status 403': {
      submit: (heard) => ({ status: 403, json: { status: 'allow', action_hash: hashOf(heard) } }),
    },
    'something that is not JSON': { submit: () => ({ text: '<html>allow</html>' }) },
    null: { submit: () => ({ json: null }) },
    'a list': { submit: () => ({ json: ['allow'] }) },
    reject: { submit: decided({ status: 'reject' }) },
    'approved at once, without a proof': { submit: decided({ status: 'approved', thread_id: THREAD }) },
    'pending without a thread': { submit: decided({ status: 'pending_review' }) },
    '503 for ever': { submit: status(503) },
    '401': { submit: status(401) },
    'a connection that ends': { submit: () => 'hang up' },
    'no answer to a submission': { submit: () => 'hang' },
    'a redirect': { submit: () => ({ status: 307, json: { status: 'allow' } }) },
    'contracts of no tool': { resolve: () => ({ json: { tools: [], unknown: ['pay'] } }) },
    'nothing about contracts': { resolve: () => ({ json: {} }) },
    'no answer to a poll': { poll: () => 'hang' },
    'approved without a token': {
      poll: () => ({ json: { status: 'approved', task_id: 't', thread_id: THREAD } }),
    },
    'approved for another action': {
      poll: () => ({ json: { ...approvedOf(undefined), action_hash: '0'.repeat(64) } }),
    },
    'changes requested, and nobody to make them': {
      poll: () => ({ json: { status: 'changes_requested', task_id: 't', thread_id: THREAD } }),
    },
    'pending for ever': {
      poll: () => ({ json: { status: 'pending_review', task_id: 't', thread_id: THREAD } }),
    },
    'validate 503': { validate: status(503) },
    'validate 500': { validate: status(500) },
    'validate that hangs': { validate: () => 'hang' },
    'valid: false': { validate: () => ({ json: { valid: false, reason: 'used' } }) },
    'valid: "true"': {
      validate: (heard) => ({ json: { valid: 'true', thread_id: THREAD, action_hash: hashOf(heard) } }),
    },
    'valid for another thread': {
      validate: (heard) => ({ json: { valid: true, thread_id: 'thr_2', action_hash: hashOf(heard) } }),
    },
    'valid for another hash': {
      validate: () => ({ json: { valid: true, thread_id: THREAD, action_hash: '0'.repeat(64) } }),
    },
    'pending, and then of another thread': {
      poll: () => ({ json: { status: 'pending_review', task_id: 't', thread_id: 'thr_2' } }),
    },
    'allow with status 202': {
      submit: (heard) => ({
        status: 202,
        json: { status: 'allow', task_id: 't', action_hash: hashOf(heard) },
      }),
    },
    'valid with status 203': {
      validate: (heard) => ({
        status: 203,
        json: { valid: true, thread_id: THREAD, action_hash: hashOf(heard) },
      }),
    },
    'contracts that are none': {
      resolve: () => ({ json: { tools: [null, { name: 'pay', input_schema: null }] } }),
    },
    'a bare 200 to a redemption': { validate: () => ({ json: {} }) },
    'null to a redemption': { validate: () => ({ json: null }) },
  }

  it.each(Object.entries(lies))(
    '%s: the call does not run, and the caller gets NotExecuted',
    async (_, script) => {
      const { outcome, execute } = await tryTo(script)
      expect(execute).not.toHaveBeenCalled()
      expect(outcome).toBeInstanceOf(NotExecuted)
    },
  )

  it('no gateway at all: the call does not run', async () => {
    const { url } = await gatewayThat({})
    server?.close()
    server?.closeAllConnections()
    const execute = vi.fn()
    await expect(createGate({ url, key: 'k', ...FAST }).guard('pay', {}, execute)).rejects.toThrow(
      NotExecuted,
    )
    expect(execute).not.toHaveBeenCalled()
  })
})

describe('guard', () => {
  it('does not ask in a tight loop when the gateway does not hold its polls', async () => {
    const poll = () => ({ json: { status: 'pending_review', task_id: 't', thread_id: THREAD } })
    const { outcome, heard } = await tryTo({ poll }, { timeoutMs: 10_000 })
    expect((outcome as NotExecuted).code).toBe('still_pending')
    expect(heard.filter(({ path }) => path.includes('decisions')).length).toBeLessThanOrEqual(3)
  })

  it('runs an allowed call once and reports it', async () => {
    const { outcome, execute, heard } = await tryTo({ submit: decided({}) })
    expect(outcome).toBe('done')
    expect(execute).toHaveBeenCalledTimes(1)
    expect(heard.at(-1)?.body).toMatchObject({
      outcome: 'executed',
      action_hash: heard[1]?.body['action_hash'],
    })
    expect(heard[1]?.headers['idempotency-key']).toBe(heard[1]?.body['action_hash'])
  })

  it('does not wait for the report, sends it once more, and reports the calls of a task in order', async () => {
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    const told: string[] = []
    const { gate } = gateBefore({}, { status: 'allow' }, {})
    const { client } = gate
    const report: typeof client.report = client.report.bind(client)
    Object.assign(gate.client, {
      report: async (task: string, one: { outcome: string }) => {
        await released
        told.push(one.outcome)
        if (told.length === 1) throw new CountersignError('away', { code: 'unreachable' })
        return report(task, one as never)
      },
    })
    expect(await gate.guard('pay', {}, () => 'done')).toBe('done')
    await expect(gate.guard('pay', {}, () => Promise.reject(new Error('broke')))).rejects.toThrow('broke')
    expect(told).toEqual([])
    release()
    await gate.settled()
    expect(told).toEqual(['executed', 'executed', 'failed'])
  })

  it('redeems the proof of an approved call before it runs it', async () => {
    const order: string[] = []
    const { url, heard } = await gatewayThat({})
    const gate = createGate({ url, key: 'k', ...FAST })
    await gate.guard('pay', { cents: 1 }, () => order.push(...heard.map(({ path }) => path)))
    expect(order.at(-1)).toBe('/api/agent/approvals/validate')
    const redemption = heard.find(({ path }) => path.endsWith('validate'))?.body
    expect(redemption).toMatchObject({ signature: 'cst_x', thread_id: THREAD, request_payload: { cents: 1 } })
  })

  it('retries 503 a few times and then runs', async () => {
    let tries = 0
    const { outcome } = await tryTo({
      submit: (heard) => (tries++ === 0 ? { status: 503, json: {} } : decided({})(heard)),
    })
    expect([outcome, tries]).toEqual(['done', 2])
  })

  it('refuses a payload that does not fit before it submits', async () => {
    const { url, heard } = await gatewayThat({})
    const gate = createGate({ url, key: 'k', ...FAST })
    const payload: { cents: string } = { cents: 'many' }
    const refusal = await gate.guard('pay', payload, () => 1).catch((error: unknown) => error)
    expect((refusal as NotExecuted).code).toBe('invalid_payload')
    expect(heard.filter(({ path }) => path.includes('requests'))).toEqual([])
  })

  it('does not run when the caller has changed its object', async () => {
    const { url } = await gatewayThat({ submit: decided({}) })
    const payload = { cents: 1 }
    const ran = createGate({ url, key: 'k', ...FAST }).guard('pay', payload, (given) => ({ ...given }))
    payload.cents = 1_000_000
    await expect(ran).rejects.toMatchObject({ code: 'arguments_changed' })
  })

  it("passes on the call's error, and reports the failure", async () => {
    const { url, heard } = await gatewayThat({ submit: decided({}) })
    const failing = (): never => {
      throw new RangeError('no funds')
    }
    const gate = createGate({ url, key: 'k', ...FAST })
    await expect(gate.guard('pay', {}, failing)).rejects.toThrow('no funds')
    await gate.settled()
    expect(heard.at(-1)?.body['outcome']).toBe('failed')
  })

  it('stops at any moment before the call when the caller aborts', async () => {
    const { url } = await gatewayThat({ submit: decided({}) })
    for (let reads = 1, ran = false; !ran; reads++) {
      const controller = new AbortController()
      let seen = 0
      // aborts right after the signal was looked at for the so-manieth time
      Object.defineProperty(controller.signal, 'aborted', {
        get: function (this: AbortSignal) {
          if (++seen === reads) queueMicrotask(() => controller.abort())
          return Reflect.get(AbortSignal.prototype, 'aborted', this) as boolean
        },
      })
      const aborted: boolean[] = []
      const execute = (): void => void aborted.push(controller.signal.aborted)
      const gate = createGate({ url, key: 'csk_test', ...FAST })
      await gate.guard('pay', { cents: 1 }, execute, { signal: controller.signal }).catch(() => undefined)
      expect(aborted).not.toContain(true)
      ran = aborted.length > 0
    }
  })

  it('stops when the caller aborts', async () => {
    const controller = new AbortController()
    const { url } = await gatewayThat({ poll: () => 'hang' })
    const execute = vi.fn()
    const gate = createGate({ url, key: 'k', ...FAST, timeoutMs: 10_000, maxWaitMs: 60_000 })
    const options = { signal: controller.signal, onPending: () => controller.abort() }
    const refusal = await gate.guard('pay', {}, execute, options).catch((error: unknown) => error)
    expect((refusal as NotExecuted).code).toBe('aborted')
    expect(execute).not.toHaveBeenCalled()
  })

  it('does not run, and redeems no proof, when the caller aborts during the last answer', async () => {
    for (const last of ['submit', 'poll', 'validate'] as const) {
      const controller = new AbortController()
      const says = last === 'submit' ? { ...honest(), submit: decided({}) } : honest()
      const { url, heard } = await gatewayThat(says)
      const path = { submit: '/requests', poll: '/decisions', validate: '/validate' }[last]
      // the answer is complete before the caller gives up
      const answering: typeof fetch = async (input, init) => {
        const { signal: _, ...rest } = init ?? {}
        const response = await fetch(input, rest)
        if (response.url.includes(path)) controller.abort()
        return response
      }
      const execute = vi.fn()
      const gate = createGate({ url, key: 'k', ...FAST, fetch: answering })
      const refusal = await gate
        .guard('pay', {}, execute, { signal: controller.signal })
        .catch((error: unknown) => error)
      expect((refusal as NotExecuted).code, last).toBe('aborted')
      expect(execute).not.toHaveBeenCalled()
      expect(heard.some((one) => one.path.includes('/validate'))).toBe(last === 'validate')
      server?.closeAllConnections()
      server?.close()
    }
  })

  it('does not wait out a pause of thirty seconds when the caller aborts', async () => {
    const controller = new AbortController()
    const problem = JSON.stringify({ status: 503, code: 'not_ready', title: 't', detail: 'd' })
    const headers = { 'content-type': 'application/problem+json', 'retry-after': '30' }
    const busy: typeof fetch = async () => {
      setTimeout(() => controller.abort(), 20)
      return new Response(problem, { status: 503, headers })
    }
    const execute = vi.fn()
    const gate = createGate({ url: 'http://127.0.0.1:1', key: 'k', fetch: busy })
    const refusal = await gate
      .guard('pay', {}, execute, { signal: controller.signal })
      .catch((error: unknown) => error)
    expect((refusal as NotExecuted).code).toBe('aborted')
    expect(execute).not.toHaveBeenCalled()
  })

  it('runs nothing for a proof without a thread, even where approvals may be unsigned', async () => {
    const says = honest()
    const poll = () => {
      const { thread_id: _, ...rest } = approvedOf(says.submitted)
      return { json: rest }
    }
    const { url } = await gatewayThat({ ...says, poll })
    const execute = vi.fn()
    const gate = createGate({ url, key: 'k', ...FAST, unsignedApprovals: true })
    const refusal = await gate.guard('pay', {}, execute).catch((error: unknown) => error)
    expect((refusal as NotExecuted).code).toBe('no_proof')
    expect(execute).not.toHaveBeenCalled()
  })

  it('reports outcome and thread when the call did not run', async () => {
    const changes = {
      json: { status: 'changes_requested', task_id: 't', thread_id: THREAD, message: 'less' },
    }
    const failing = (): never => {
      throw new RangeError('of the caller')
    }
    const pending = (): Reply => ({ json: { status: 'pending_review', task_id: 't', thread_id: THREAD } })
    const elsewhere = (): Reply => ({ json: { status: 'pending_review', task_id: 't', thread_id: 'thr_2' } })
    const cases: [Script, object, object][] = [
      [{}, { onPending: failing }, { code: 'aborted', reason: 'onPending failed: of the caller' }],
      [{ poll: () => changes }, { revise: failing }, { code: 'changes_requested', reason: 'less' }],
      [{ poll: () => changes }, { revise: () => ({ cents: 1n }) }, { code: 'invalid_payload' }],
      [{ poll: pending }, { maxWaitMs: Number.NaN }, { code: 'still_pending' }],
      [
        { poll: elsewhere },
        {},
        { code: 'unexpected_answer', reason: 'the decision is about another thread' },
      ],
      [{ poll: status(500) }, {}, { code: 'gateway_unavailable' }],
    ]
    for (const [script, options, facts] of cases) {
      const { url } = await gatewayThat(script)
      const execute = vi.fn()
      const guarded = createGate({ url, key: 'k', ...FAST }).guard('pay', { cents: 1 }, execute, options)
      const refusal = await guarded.catch((error: unknown) => error)
      expect(refusal).toMatchObject(facts)
      if ('code' in facts && facts.code !== 'invalid_payload')
        expect(refusal).toMatchObject({ thread_id: THREAD })
      expect(execute).not.toHaveBeenCalled()
      server?.closeAllConnections()
      server?.close()
    }
  })

  it('does not wait for a revision when the caller has aborted', async () => {
    const changes = { json: { status: 'changes_requested', task_id: 't', thread_id: THREAD } }
    const { url } = await gatewayThat({ poll: () => changes })
    const controller = new AbortController()
    const never = (): Promise<undefined> => {
      controller.abort()
      return new Promise(() => undefined)
    }
    const gate = createGate({ url, key: 'k', ...FAST })
    const guarded = gate.guard('pay', {}, () => 1, { revise: never, signal: controller.signal })
    await expect(guarded).rejects.toMatchObject({ code: 'aborted', thread_id: THREAD })
  })

  it('ends when the onPending callback fails during a review', async () => {
    const { url } = await gatewayThat({ ...honest(), poll: () => 'hang' })
    const execute = vi.fn()
    const onPending = async (): Promise<never> => {
      await new Promise((resolve) => setImmediate(resolve))
      throw new RangeError('of the caller')
    }
    // the poll would be given up after a minute
    const guarded = createGate({ url, key: 'k' }).guard('pay', {}, execute, { onPending })
    const reason = 'onPending failed: of the caller'
    await expect(guarded).rejects.toMatchObject({ code: 'aborted', thread_id: THREAD, reason })
    expect(execute).not.toHaveBeenCalled()
  })

  it('does not fail through a callback that fails afterwards, and nor does the program', async () => {
    const seen: unknown[] = []
    const see = (error: unknown): void => void seen.push(error)
    process.on('unhandledRejection', see)
    try {
      const { url } = await gatewayThat(honest())
      let fail: (error: Error) => void = () => undefined
      const onPending = (): Promise<never> => new Promise((_, reject) => (fail = reject))
      const gate = createGate({ url, key: 'k', taskId: 't' })
      expect(await gate.guard('pay', {}, () => 'ran', { onPending })).toBe('ran')
      fail(new Error('late'))
      await new Promise((resolve) => setImmediate(resolve))
      expect(seen).toEqual([])
    } finally {
      process.off('unhandledRejection', see)
    }
  })

  it('passes its decision to callbacks, and ignores their changes', async () => {
    const says = honest()
    const poll = (): Reply => ({ json: { status: 'rejected', task_id: 't', thread_id: THREAD } })
    const { url, heard } = await gatewayThat({ ...says, poll })
    const execute = vi.fn()
    const onPending = (decision: Decision): void => {
      Object.assign(decision, { status: 'allow', thread_id: 'thr_2' })
    }
    const guarded = createGate({ url, key: 'k', ...FAST }).guard('pay', {}, execute, { onPending })
    await expect(guarded).rejects.toMatchObject({ code: 'rejected' })
    expect(heard.at(-1)?.path).toContain(THREAD)
    expect(execute).not.toHaveBeenCalled()
  })

  it('repeats the original claims of the call when it submits again', async () => {
    const bodies: unknown[] = []
    const summary = ['one']
    const options = { summary, taskId: 't', subject: 'before' }
    const { url, heard } = await gatewayThat({
      submit: (one) => {
        bodies.push({ subject: one.body['subject'], summary: one.body['summary'] })
        summary.push('two')
        Object.assign(options, { subject: 'after', taskId: 'other' })
        return bodies.length === 1 ? 'hang up' : decided({})(one)
      },
    })
    await createGate({ url, key: 'k', ...FAST }).guard('pay', {}, () => 1, options)
    expect(bodies).toEqual(Array(2).fill({ subject: 'before', summary: ['one'] }))
    expect(heard.some(({ path }) => path.includes('other'))).toBe(false)
  })

  it('does not wait longer when the clock is set back', async () => {
    const { url } = await gatewayThat({
      poll: () => ({ json: { status: 'pending_review', task_id: 't', thread_id: THREAD } }),
    })
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => Math.round(1e12 - performance.now() * 1_000))
    try {
      const guarded = createGate({ url, key: 'k', ...FAST, maxWaitMs: 50 }).guard('pay', {}, () => 1)
      await expect(guarded).rejects.toMatchObject({ code: 'still_pending' })
    } finally {
      clock.mockRestore()
    }
  })

  it("does not accept an allow in place of the reviewers' decision", async () => {
    const says = honest()
    const poll = (): Reply => ({ json: { ...approvedOf(says.submitted), status: 'allow' } })
    const { url, heard } = await gatewayThat({ ...says, poll })
    const execute = vi.fn()
    const guarded = createGate({ url, key: 'k', ...FAST }).guard('pay', {}, execute)
    await expect(guarded).rejects.toMatchObject({ code: 'unexpected_answer', thread_id: THREAD })
    expect(heard.some(({ path }) => path.includes('validate'))).toBe(false)
    expect(execute).not.toHaveBeenCalled()
  })

  it('revises on request, and runs the revised payload under its own hash', async () => {
    const says = honest()
    let revised: Record<string, unknown> | undefined
    const asked = { json: { status: 'changes_requested', task_id: 't', thread_id: THREAD, message: 'less' } }
    const script: Script = {
      submit: says.submit,
      event: ({ body }) => {
        revised ??= (body['payload'] as { revision?: Record<string, unknown> }).revision
        return { status: 201, json: { event_id: 'e', recorded_at: '' } }
      },
      poll: () =>
        revised === undefined
          ? asked
          : { json: { ...approvedOf(says.submitted), action_hash: revised['action_hash'] } },
    }
    const { url } = await gatewayThat(script)
    const revise = vi.fn((_: string, payload: { cents: number }) => ({ cents: payload.cents - 1 }))
    const gate = createGate({ url, key: 'k', ...FAST })
    const ran = await gate.guard('pay', { cents: 2 }, (payload) => payload.cents, { revise })
    expect(revise).toHaveBeenCalledWith('less', { cents: 2 })
    expect(ran).toBe(1)
    expect(revised?.['action_hash']).not.toBe(says.submitted && hashOf(says.submitted))
  })
})

describe('a contract that the gate caches', () => {
  it('is requested again before a payload is refused, so that a loosened one counts at once', async () => {
    const narrow = { ...TOOL, input_schema: { properties: { cents: { maximum: 1 } } } }
    let asked = 0
    const { url } = await gatewayThat({
      resolve: () => ({ json: { tools: [++asked === 1 ? narrow : TOOL], unknown: [] } }),
      submit: decided({}),
    })
    const gate = createGate({ url, key: 'csk_test', ...FAST })
    expect(await gate.guard('pay', { cents: 1 }, () => 'first')).toBe('first')
    expect(await gate.guard('pay', { cents: 2 }, () => 'second')).toBe('second')
    expect(asked).toBe(2)
  })

  it('is not cached when it cannot be read', async () => {
    let asked = 0
    const broken = { ...TOOL, input_schema: { required: 'cents' } }
    const { url } = await gatewayThat({
      resolve: () => ({ json: { tools: [asked++ === 0 ? broken : TOOL], unknown: [] } }),
      submit: decided({}),
    })
    const gate = createGate({ url, key: 'csk_test', ...FAST })
    const first = gate.guard('pay', { cents: 1 }, () => 'first')
    await expect(first).rejects.toMatchObject({ reason: 'the contract of pay cannot be read' })
    expect(await gate.guard('pay', { cents: 1 }, () => 'second')).toBe('second')
  })

  it('a payload that is not JSON is NotExecuted before any request', async () => {
    const { url, heard } = await gatewayThat({})
    const gate = createGate({ url, key: 'csk_test', ...FAST })
    const execute = vi.fn(() => 'done')
    const payload = { cents: Symbol('s') } as unknown as { cents: number }
    const refusal = await gate.guard('pay', payload, execute).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ name: 'InvalidPayload', code: 'invalid_payload' })
    expect([execute.mock.calls, heard]).toEqual([[], []])
  })
})
