import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { AdapterOptions } from '../../../packages/sdk/src/adapters/calls.ts'
import { createGate, type Gate, type NotExecuted } from '@countersign/sdk'
import { openWorld, type Reviewer, type World } from '../../gateway-fixture.ts'
import { until } from '../../until.ts'
import { problem } from '../double.ts'
import { FRAMEWORKS, type Row, ROWS } from './rows.ts'

/*
 * The laws of every adapter: a whole gateway, the framework's own package, and a scripted model. A held call pauses by
 * the framework's own means. It continues in another process, from the state that the framework saved. A tool runs once
 * and with exactly the approved arguments, or never. The model reads why.
 */
export interface Tool {
  readonly schema: z.ZodType
  readonly execute: (input: unknown) => unknown
}
export type Tools = Readonly<Record<string, Tool>>

export interface Call {
  readonly tool: string
  readonly input: object
  readonly id: string
}

export interface Turn {
  /** The results of calls that the model read. */
  readonly read: readonly string[]
  /** The framework's state as text, if the turn paused. */
  readonly saved: string | undefined
}

export interface Agent {
  readonly gate: Gate
  readonly tools: Tools
  readonly taskId: string
  readonly options: AdapterOptions
}

/** A framework. Each function makes a new agent, as another process would. */
export interface Driver {
  readonly start: (agent: Agent, calls: readonly Call[]) => Promise<Turn>
  /** Continues the decided calls. Undefined while a call waits. */
  readonly settle: (agent: Agent, saved: string) => Promise<Turn | undefined>
  /** Approves by the framework's own means, without asking the gateway. */
  readonly force?: (agent: Agent, saved: string) => Promise<Turn>
}

const ANYTHING = z.looseObject({})
const REFUSES = async (): Promise<Response> => problem(401, 'unauthenticated', 'the key was revoked')

export interface Bench {
  readonly world: World
  readonly ann: Reviewer
  readonly taskId: string
  readonly gate: Gate
  /** Another process's gate. */
  readonly another: () => Gate
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
    const another = (): Gate => createGate({ url: world?.url, key })
    const [pending, refusals]: [string[], NotExecuted[]] = [[], []]
    const told: AdapterOptions = {
      onPending: ({ thread_id = '' }) => void (pending.includes(thread_id) || pending.push(thread_id)),
      onNotExecuted: (refusal) => void refusals.push(refusal),
    }
    const taskId = `adapter-${crypto.randomUUID()}`
    bench = { world, ann, taskId, gate: another(), another, pending, refusals, ran: [], told }
  })
  return () => bench ?? expect.fail('outside of a test')
}

/** A tool that takes anything, and says what it ran with. */
export function recording({ ran }: Bench, schema: z.ZodType = ANYTHING): Tool {
  return {
    schema,
    execute: (input) => {
      ran.push(input)
      return 'ran'
    },
  }
}

const reported = async ({ world, gate }: Bench, act: () => Promise<unknown>): Promise<unknown[]> => {
  const settled = (): Promise<void> => act().then(() => gate.settled())
  return (await world.evidenceOf(settled)).flatMap(({ record }) => record.details?.['outcome'] ?? [])
}

export function adapterLaws(framework: string, { start, settle, force }: Driver): void {
  const { missing = {} } = FRAMEWORKS.find(({ title }) => title === framework) ?? {}
  const left = new Set(Object.keys(ROWS))
  /** The test of a row, with the words of the row. */
  const law = (row: Row, test: () => Promise<void>): void => {
    left.delete(row)
    it.skipIf(row !== 'edited' && row in missing)(ROWS[row], test)
  }
  const open = openBench()
  const DEFAULTED = z.object({ n: z.number(), note: z.string().default('by default') })
  const agent = (more: Partial<Agent> = {}, options: AdapterOptions = {}): Agent => {
    const tools = {
      t: recording(open()),
      hold: recording(open(), DEFAULTED),
      pay: recording(open()),
      wipe: recording(open()),
    }
    const { gate, taskId, told } = open()
    return { gate, taskId, tools, options: { ...told, ...options }, ...more }
  }
  /** The same program in another process. */
  const elsewhere = (more: Partial<Agent> = {}): Agent => agent({ gate: open().another(), ...more })
  const codes = (): string[] => open().refusals.map(({ code }) => code)
  const held = async (call: Call, more: Partial<Agent> = {}): Promise<{ saved: string; thread: string }> => {
    const { read, saved = expect.fail('it did not pause') } = await start(agent(more), [call])
    expect([read, open().ran, open().pending.length]).toEqual([[], [], 1])
    return { saved, thread: open().pending[0] ?? '' }
  }

  describe(`${framework}: a call`, () => {
    law('allowed', async () => {
      const events = await reported(open(), async () => {
        const turn = await start(agent(), [{ tool: 't', input: { deep: [1] }, id: 'a1' }])
        expect(turn).toEqual({ read: ['ran'], saved: undefined })
      })
      expect([events, open().ran]).toEqual([['executed'], [{ deep: [1] }]])
    })

    law('refused', async () => {
      const pay = await start(agent(), [{ tool: 'pay', input: { amount: 200_000 }, id: 'r1' }])
      expect(pay.read).toEqual([
        expect.stringMatching(/Not executed: Nobody moves that much\. Do not call the tool again/),
      ])
      const wipe = await start(agent(), [{ tool: 'wipe', input: {}, id: 'u1' }])
      expect(wipe.read).toEqual([expect.stringContaining('Not executed: the gateway does not let')])
      expect([open().ran, codes()]).toEqual([[], ['rejected', 'unknown_tool']])
    })

    law('held', async () => {
      const { saved, thread } = await held({ tool: 'hold', input: { n: 1 }, id: 'h1' })
      expect(await settle(elsewhere(), saved)).toBeUndefined()
      // an outage is no wait: it reaches the caller or the model, and nothing runs
      const away = createGate({ url: 'http://127.0.0.1:1', key: 'csk_none', fetch: REFUSES })
      const told = await settle(agent({ gate: away, options: {} }), saved).then((turn) => turn?.read, String)
      expect(String(told)).toMatch(/Not executed/)
      expect([open().ran, open().pending]).toEqual([[], [thread]])
      await open().ann.approve(thread)
      expect((await settle(elsewhere(), saved))?.read).toEqual(['ran'])
      expect(open().ran).toEqual([{ n: 1, note: 'by default' }])
      const again = await settle(elsewhere(), saved)
      expect(again?.read).toEqual([expect.stringContaining('It may have run: ')])
      expect([open().ran.length, codes(), open().pending]).toEqual([1, ['no_proof'], [thread]])
    })

    law('rejected', async () => {
      const { saved, thread } = await held({ tool: 'hold', input: { n: 2 }, id: 'h2' })
      await open().ann.vote(thread, { decision: 'reject', revision: 1, comment: 'Not on a Monday.' })
      const turn = await settle(elsewhere(), saved)
      expect(turn?.read).toEqual([expect.stringMatching(/Not executed: .*Not on a Monday\./)])
      expect([open().ran, codes()]).toEqual([[], ['rejected']])
    })

    law('edited', async () => {
      const { saved, thread } = await held({ tool: 'hold', input: { n: 1234 }, id: 'h3' })
      await open().ann.approve(thread)
      const turn = await settle(elsewhere(), saved.replaceAll('1234', '9999'))
      if (missing.edited === undefined) {
        expect(turn?.read).toEqual([expect.stringContaining('not the arguments that were proposed')])
        expect(codes()).toEqual(['arguments_changed'])
      } else expect(turn, missing.edited).toBeUndefined()
      expect(open().ran).toEqual([])
    })

    law('forced', async () => {
      const { saved } = await held({ tool: 'hold', input: { n: 4 }, id: 'h4' })
      const turn = await force?.(elsewhere(), saved)
      expect(turn?.read).toEqual([expect.stringContaining('Tell the user that the call waits for review.')])
      expect([open().ran, codes()]).toEqual([[], ['still_pending']])
    })

    law('memory', async () => {
      const turn = start(agent({}, { maxWaitMs: 60_000 }), [{ tool: 'hold', input: { n: 5 }, id: 'm1' }])
      await until(() => open().pending.length === 1)
      await open().ann.approve(open().pending[0] ?? '')
      expect(await turn).toEqual({ read: ['ran'], saved: undefined })
      expect(open().ran).toEqual([{ n: 5, note: 'by default' }])
    })

    law('two', async () => {
      const both = [1, 2].map((n) => ({ tool: 'hold', input: { n: n + 60 }, id: `p${n}` }))
      const { saved = expect.fail('it did not pause') } = await start(agent(), both)
      await until(() => open().pending.length === 2)
      for (const thread of open().pending) await open().ann.approve(thread)
      expect((await settle(elsewhere(), saved))?.read).toEqual(['ran', 'ran'])
      const numbers = open().ran.map((one) => (one as { n: number }).n)
      expect(new Set(numbers)).toEqual(new Set([61, 62]))
    })

    law('prefix', async () => {
      const tools = { old: recording(open()) }
      await start(agent({ tools }, { prefix: 'h' }), [{ tool: 'old', input: {}, id: 'x1' }])
      const { body } = await open().ann.show(open().pending[0] ?? '')
      expect(body).toMatchObject({ tool_name: 'hold' })
    })
  })

  describe(`${framework}: a call`, () => {
    const CODEC = z.object({
      at: z.codec(z.iso.datetime(), z.date(), {
        decode: (text) => new Date(text),
        encode: (date) => date.toISOString(),
      }),
    })

    law('codec', async () => {
      const tools = { hold: recording(open(), CODEC) }
      const at = '1970-01-01T00:00:00.000Z'
      const { saved, thread } = await held({ tool: 'hold', input: { at }, id: 'v1' }, { tools })
      await open().ann.approve(thread)
      expect((await settle(elsewhere({ tools }), saved))?.read).toEqual(['ran'])
      expect(open().ran).toEqual([{ at: new Date(0) }])
    })

    law('unheld', async () => {
      const tools = { hold: recording(open(), z.object({ run: z.instanceof(Uint8Array) })) }
      const started = async () => start(agent({ tools }), [{ tool: 'hold', input: {}, id: 'v2' }])
      await expect(started()).rejects.toThrow(/no payload can hold `Uint8Array`/)
    })
  })

  it(`${framework}: each row has its law`, () => expect([...left]).toEqual([]))
}
