import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { AdapterOptions } from '../../../packages/sdk/src/adapters/guarded-call.ts'
import { createGate, type Gate, type NotExecuted, StillPending } from '@countersign/sdk'
import { openWorld, type Reviewer, type World } from '../../gateway-fixture.ts'
import { until } from '../../until.ts'

/*
 * The laws of every adapter: a whole gateway, the framework's own package, and a model that makes the calls of a test.
 * A tool runs once and with exactly the allowed or approved input, or never. The model reads why.
 */
export interface Tool {
  readonly schema: z.ZodType
  readonly execute: (input: unknown) => unknown
}

export interface Call {
  readonly tool: string
  readonly input: object
  readonly id: string
}

/** Tools behind an adapter, in an agent of the framework. */
export interface Wired {
  /** A turn in which the model makes these calls at once; resolves with what it reads of each. */
  turn(calls: readonly Call[], signal?: AbortSignal): Promise<string[]>
}

export type Wire = (gate: Gate, tools: Readonly<Record<string, Tool>>, options?: AdapterOptions) => Wired

/** A short wait: no person votes in time, so that a held call times out. */
const SOON = { maxWaitMs: 400 }
const ANYTHING = z.looseObject({})

export interface Bench {
  readonly world: World
  readonly ann: Reviewer
  readonly gate: Gate
  /** Threads that an adapter waited for, each once. */
  readonly pending: string[]
  readonly refusals: NotExecuted[]
  /** Inputs of the tools that ran, in order. */
  readonly ran: unknown[]
  readonly told: AdapterOptions
}

/** A gateway for the tests of a file, with a new gate, task and record for each. */
export function openBench(): () => Bench {
  let [world, ann, key]: [World?, Reviewer?, string?] = []
  let bench: Bench | undefined
  beforeAll(async () => {
    world = await openWorld()
    ann = await world.reviewer('ann')
    key = (await world.agent()).key
    // polls of the gateway end by its clock
    world.clock.run()
  })
  afterAll(() => world?.close())
  beforeEach(() => {
    if (world === undefined || ann === undefined || key === undefined) throw new Error('no world')
    const gate = createGate({ url: world.url, key, taskId: `adapter-${crypto.randomUUID()}` })
    const [pending, refusals]: [string[], NotExecuted[]] = [[], []]
    const told: AdapterOptions = {
      // a call that continues with a thread reports it again
      onPending: ({ thread_id = '' }) => void (pending.includes(thread_id) || pending.push(thread_id)),
      onNotExecuted: (refusal) => void refusals.push(refusal),
    }
    bench = { world, ann, gate, pending, refusals, ran: [], told }
  })
  return () => bench ?? expect.fail('outside of a test')
}

/** A tool that takes anything, and says what it ran with. */
export function recording({ ran }: Bench): Tool {
  return {
    schema: ANYTHING,
    execute: (input) => {
      ran.push(input)
      return 'ran'
    },
  }
}

const reported = async ({ world }: Bench, act: () => Promise<unknown>): Promise<unknown[]> =>
  (await world.evidenceOf(act)).flatMap(({ disclosures }) => disclosures?.members['event_type'] ?? [])

export function adapterLaws(framework: string, wire: Wire): void {
  const open = openBench()
  /** An agent with the tools `t` (allowed) and `hold` (people look). */
  const wired = (more: AdapterOptions = {}): Wired =>
    wire(open().gate, { t: recording(open()), hold: recording(open()) }, { ...open().told, ...more })
  const refusedAs = (): string[] => open().refusals.map(({ code }) => code)

  describe(`${framework}: a call`, () => {
    it('runs an allowed call with a frozen copy of its input, and reports it', async () => {
      const events = await reported(open(), async () => {
        const read = await wired().turn([{ tool: 't', input: { deep: [1] }, id: 'a1' }])
        expect(read).toEqual(['ran'])
      })
      expect(events).toEqual(['tool.execution.completed'])
      expect(open().ran).toEqual([{ deep: [1] }])
      expect(open().ran.every(Object.isFrozen)).toBe(true)
    })

    it('does not run a call that policy rejects; the model reads why and continues', async () => {
      const one = wire(open().gate, { pay: recording(open()) }, open().told)
      const [read] = await one.turn([{ tool: 'pay', input: { amount: 200_000 }, id: 'r1' }])
      expect(read).toMatch(/^Not executed: Nobody moves that much\./)
      expect([open().ran, refusedAs()]).toEqual([[], ['rejected']])
    })

    it('does not run a call that a reviewer rejects; the model reads the comment', async () => {
      const turn = wired().turn([{ tool: 'hold', input: { n: 1 }, id: 'r2' }])
      await until(() => open().pending.length === 1)
      const [thread = ''] = open().pending
      await open().ann.vote(thread, { decision: 'reject', revision: 1, comment: 'Not on a Monday.' })
      expect((await turn)[0]).toMatch(/^Not executed: .*Not on a Monday\./)
      expect(open().ran).toEqual([])
      expect(open().refusals).toMatchObject([{ code: 'rejected', thread_id: thread }])
    })

    it('runs an approved call once, and not again under the same id', async () => {
      const call = { tool: 'hold', input: { n: 2 }, id: 'h1' }
      const turn = wired().turn([call])
      await until(() => open().pending.length === 1)
      await open().ann.approve(open().pending[0] ?? '')
      expect(await turn).toEqual(['ran'])
      expect((await wired().turn([call]))[0]).toMatch(/^It may have run: /)
      expect([open().ran, refusedAs()]).toEqual([[{ n: 2 }], ['no_proof']])
    })

    it('asks the model to repeat a call that is held too long, and resumes its thread under the new id', async () => {
      const [first] = await wired(SOON).turn([{ tool: 'hold', input: { n: 3 }, id: 'h2' }])
      const [thread = ''] = open().pending
      expect(first).toContain(`(thread ${thread})`)
      expect(first).toContain('Call the tool again with exactly the same arguments')
      await open().ann.approve(thread)
      expect(await wired(SOON).turn([{ tool: 'hold', input: { n: 3 }, id: 'h3' }])).toEqual(['ran'])
      expect([open().pending, open().ran, refusedAs()]).toEqual([[thread], [{ n: 3 }], ['still_pending']])
    })

    it('resumes the thread when a restarted program runs the step again', async () => {
      const { gate, told, ann, pending } = open()
      const again = { ...gate }
      const call = { tool: 'hold', input: { n: 4 }, id: 'h4' }
      await wired(SOON).turn([call])
      await ann.approve(pending[0] ?? '')
      expect(await wire(again, { hold: recording(open()) }, told).turn([call])).toEqual(['ran'])
      expect(pending).toHaveLength(1)
    })

    it('is a different call when the arguments or the task differ', async () => {
      await wired(SOON).turn([{ tool: 'hold', input: { n: 5 }, id: 'h5' }])
      await wired(SOON).turn([{ tool: 'hold', input: { n: 6 }, id: 'h6' }])
      await wired({ ...SOON, taskId: 'elsewhere' }).turn([{ tool: 'hold', input: { n: 5 }, id: 'h7' }])
      expect(new Set(open().pending).size).toBe(3)
    })

    it('treats two equal parallel calls as two, and both resume', async () => {
      const [input, again] = [{ n: 7 }, wired(SOON)]
      const both = (...ids: string[]) => ids.map((id) => ({ tool: 'hold', input, id }))
      await again.turn(both('p1', 'p2'))
      const threads = [...open().pending]
      expect(new Set(threads).size).toBe(2)
      for (const thread of threads) await open().ann.approve(thread)
      expect(await again.turn(both('p3', 'p4'))).toEqual(['ran', 'ran'])
      expect([open().pending.length, open().ran]).toEqual([2, [input, input]])
    })

    it('withdraws a call that the program aborts, and opens a new thread for the same call', async () => {
      const call = { tool: 'hold', input: { n: 8 }, id: 'g1' }
      const controller = new AbortController()
      // what becomes of the turn is the framework's affair
      const turn = wired()
        .turn([call], controller.signal)
        .catch(() => [])
      await until(() => open().pending.length === 1)
      controller.abort()
      await turn
      await until(() => refusedAs().includes('aborted'))
      const [thread = ''] = open().pending
      expect((await open().ann.show(thread)).body).toHaveProperty('withdrawn_at')
      expect((await open().ann.approve(thread)).status).toBe(409)
      await wired(SOON).turn([{ ...call, id: 'g2' }])
      expect([new Set(open().pending).size, open().ran]).toEqual([2, []])
    })

    it('resumes the thread of a call after the program only stopped waiting', async () => {
      const call = { tool: 'hold', input: { n: 9 }, id: 'w1' }
      const controller = new AbortController()
      const turn = wired()
        .turn([call], controller.signal)
        .catch(() => [])
      await until(() => open().pending.length === 1)
      controller.abort(new DOMException('too long', 'TimeoutError'))
      await turn
      await until(() => refusedAs().includes('still_pending'))
      expect((await open().ann.approve(open().pending[0] ?? '')).status).toBe(200)
      expect(await wired().turn([{ ...call, id: 'w2' }])).toEqual(['ran'])
      expect([open().pending.length, open().ran]).toEqual([1, [{ n: 9 }]])
    })

    it('does not run a tool that the gateway does not know', async () => {
      const one = wire(open().gate, { wipe: recording(open()) }, open().told)
      expect((await one.turn([{ tool: 'wipe', input: {}, id: 'u1' }]))[0]).toMatch(/^Not executed: /)
      expect([open().ran, refusedAs()]).toEqual([[], ['unknown_tool']])
    })

    it("puts the prefix before the tool's name", async () => {
      const one = wire(open().gate, { old: recording(open()) }, { ...SOON, ...open().told, prefix: 'h' })
      await one.turn([{ tool: 'old', input: {}, id: 'x1' }])
      const { body } = await open().ann.show(open().pending[0] ?? '')
      expect(body).toMatchObject({ tool_name: 'hold' })
    })
  })

  describe(`${framework}: the input`, () => {
    it('is decided as the framework parsed it, with its defaults, and runs exactly so', async () => {
      let parsed = 0
      const schema = z
        .object({ to: z.string().optional(), cents: z.number().default(50_000) })
        .transform(({ cents, ...rest }) => ({ ...rest, amount: cents / 100, parsed: ++parsed }))
      // 500 is for people to decide, and the model never said it
      const one = wire(open().gate, { hold: { ...recording(open()), schema } }, open().told)
      const turn = one.turn([{ tool: 'hold', input: { to: 'x' }, id: 'i1' }])
      await until(() => open().pending.length === 1)
      const [thread = ''] = open().pending
      const { body } = await open().ann.show(thread)
      await open().ann.approve(thread)
      expect(await turn).toEqual(['ran'])
      const [ran] = open().ran
      expect(ran).toMatchObject({ to: 'x', amount: 500 })
      expect(JSON.stringify(body)).toContain(JSON.stringify(ran))
    })

    it.each([
      ['a date', z.object({ at: z.string() }).transform(({ at }) => ({ at: new Date(at) }))],
      ['a list', z.object({ at: z.string() }).transform(({ at }) => [at])],
      ['no object', z.object({ at: z.string() }).transform(({ at }) => Number(at.length))],
    ])('refuses an input that becomes %s, because it is not a JSON object', async (_, schema) => {
      const one = wire(open().gate, { t: { ...recording(open()), schema } }, open().told)
      const [read] = await one.turn([{ tool: 't', input: { at: '2026-03-02' }, id: 'i2' }])
      expect(read).toMatch(/^Not executed: the input is no/)
      expect([open().ran, refusedAs()]).toEqual([[], ['invalid_payload']])
    })
  })

  describe(`${framework}: a tool`, () => {
    it('reports a failed tool without mentioning the gateway, even when its error is a refusal of another call', async () => {
      const inner = new StillPending('an inner call was held too long')
      const failing = {
        schema: ANYTHING,
        execute: () => {
          throw inner
        },
      }
      const events = await reported(open(), () =>
        wire(open().gate, { t: failing }, open().told)
          .turn([{ tool: 't', input: {}, id: 'f1' }])
          .then(([read]) => expect(read).not.toMatch(/Not executed/))
          .catch((error: unknown) => expect(error).toMatchObject({ cause: inner })),
      )
      expect([events, refusedAs()]).toEqual([['tool.execution.failed'], []])
    })
  })
}
