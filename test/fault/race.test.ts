import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkLinearizable, type Model, type Operation } from '../linearizable.ts'
import { type Answer, type Gateway, LARGE_CENTS, startGateway, transfer, TRANSFER_PATH } from './gateway.ts'
import { poll, redeem } from './life.ts'
import { seeded } from '../random.ts'
import { rounds } from '../runs.ts'

const ROUNDS = Number(process.env['COUNTERSIGN_TEST_ROUNDS'] ?? rounds({ check: 3, short: 10, long: 1_000 }))
const REVISED = Number(
  process.env['COUNTERSIGN_TEST_ROUNDS'] ?? rounds({ check: 12, short: 40, long: 10_000 }),
)
const RACERS = 64
const ROUND_MS = 2_000
const LOOKS = 8

let directory: string
let gateway: Gateway
let agent: string
let reviewers: string[]

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-race-'))
  gateway = await startGateway({ directory })
  agent = await gateway.key('agent', 'demo-agent')
  reviewers = await Promise.all(['alice', 'bob', 'carol'].map((id) => gateway.key('reviewer', id)))
})

afterAll(async () => {
  gateway.hangUp()
  await gateway.process.kill('SIGTERM')
  await rm(directory, { recursive: true, force: true })
})

/** Calls and remembers when it was called and when it answered. */
async function timed<Input, Output>(
  history: Operation<Input, Output>[],
  input: Input,
  ask: () => Promise<Output>,
): Promise<void> {
  const call = performance.now()
  const output = await ask()
  history.push({ call, return: performance.now(), input, output })
}

async function opened(task: string): Promise<string> {
  const body = transfer(LARGE_CENTS)
  const answer = await gateway.ask({ method: 'POST', path: TRANSFER_PATH(task), key: agent, body })
  return answer.body['thread_id'] as string
}

function approve(thread_id: string, revision: number, key: string): Promise<Answer> {
  const body = { decision: 'approve', revision }
  return gateway.ask({ method: 'POST', path: `/api/review/threads/${thread_id}/votes`, key, body })
}

describe('the one-time proof', () => {
  type Said = 'token' | 'nothing' | 'valid' | 'used'
  /** approved -> collected -> redeemed, each step once. */
  const proof: Model<'approved' | 'collected' | 'redeemed', 'poll' | 'redeem', Said> = {
    initial: 'approved',
    next: (state, input, output) => {
      if (input === 'poll') {
        if (state === 'approved') return output === 'token' ? ['collected'] : []
        return output === 'nothing' ? [state] : []
      }
      if (state === 'collected') return output === 'valid' ? ['redeemed'] : []
      return state === 'redeemed' && output === 'used' ? [state] : []
    },
  }

  it(
    `${RACERS} racing polls return one token and ${RACERS} racing redemptions one \`valid: true\`, ${ROUNDS} rounds`,
    async () => {
      for (let round = 0; round < ROUNDS; round++) await race(`proof-${round}`)
    },
    ROUNDS * ROUND_MS + 30_000,
  )

  async function race(task_id: string): Promise<void> {
    const thread_id = await opened(task_id)
    expect((await approve(thread_id, 1, reviewers[0] as string)).status).toBe(200)
    const history: Operation<'poll' | 'redeem', Said>[] = []
    const tokens: string[] = []
    await Promise.all(
      Array.from({ length: RACERS }, () =>
        timed(history, 'poll', async () => {
          const { body } = await poll(gateway, { agent, reviewer: '' }, thread_id)
          expect(body['status']).toBe('approved')
          const token = body['approval_token'] as string | undefined
          if (token !== undefined) tokens.push(token)
          return token === undefined ? 'nothing' : 'token'
        }),
      ),
    )
    expect(tokens).toHaveLength(1)
    const [token = ''] = tokens
    await Promise.all(
      Array.from({ length: RACERS }, () =>
        timed(history, 'redeem', async () => {
          const { status, body } = await redeem(gateway, { agent, reviewer: '' }, { task_id, token })
          expect(status).toBe(200)
          return body['valid'] === true ? 'valid' : (body['reason'] as Said)
        }),
      ),
    )
    const said = history.filter(({ input }) => input === 'redeem').map(({ output }) => output)
    expect(said.filter((one) => one === 'valid')).toHaveLength(1)
    expect(said.filter((one) => one === 'used')).toHaveLength(RACERS - 1)
    expect(checkLinearizable(history, proof).linearizable).toBe(true)
  }
})

describe('revisions against approvals', () => {
  type Input = { readonly revise: true } | { readonly approve: number }
  /** HTTP statuses. The state is the revision under review, negative once it is approved. */
  const thread: Model<number, Input, number> = {
    initial: 1,
    next: (state, input, output) => {
      if (state < 0) return output === 409 ? [state] : []
      if ('revise' in input) return output === 201 ? [state + 1] : []
      if (input.approve !== state) return output === 412 ? [state] : []
      return output === 200 ? [-state] : []
    },
  }
  const random = seeded(20_261_120)

  it(
    `an approval counts only for the revision that the reviewer saw, ${REVISED} rounds`,
    async () => {
      const approvedAt = new Map<number, number>()
      for (let round = 0; round < REVISED; round++) {
        const revision = await race(`revise-${round}`)
        approvedAt.set(revision, (approvedAt.get(revision) ?? 0) + 1)
      }
      console.log('approved at revision:', Object.fromEntries(approvedAt))
    },
    REVISED * ROUND_MS + 30_000,
  )

  async function race(task_id: string): Promise<number> {
    const thread_id = await opened(task_id)
    const history: Operation<Input, number>[] = []
    const inputs: Input[] = [
      ...[1, 2].map((): Input => ({ revise: true })),
      ...[1, 2, 2, 3, 3].map((revision): Input => ({ approve: revision })),
    ]
    inputs.sort(() => random() - 0.5)
    await Promise.all(inputs.map((input, i) => play(history, input, i, { task_id, thread_id })))
    expect(checkLinearizable(history, thread).linearizable).toBe(true)
    const won = history.find(({ input, output }) => 'approve' in input && output === 200)
    const { body } = await poll(gateway, { agent, reviewer: '' }, thread_id)
    expect(body['status']).toBe(won === undefined ? 'pending_review' : 'approved')
    return won !== undefined && 'approve' in won.input ? won.input.approve : 0
  }

  /** A reviewer whose vote names another revision (412) looks again, a few times. */
  async function play(
    history: Operation<Input, number>[],
    input: Input,
    i: number,
    { task_id, thread_id }: { task_id: string; thread_id: string },
  ): Promise<void> {
    let status = 0
    for (let look = 0; look < LOOKS; look++) {
      await timed(history, input, async () => {
        const key = reviewers[i % reviewers.length] as string
        const answer =
          'revise' in input
            ? await revise(task_id, thread_id, `r${i}`)
            : await approve(thread_id, input.approve, key)
        status = answer.status
        return status
      })
      if (status !== 412) return
    }
  }

  function revise(task_id: string, thread_id: string, revision_id: string): Promise<Answer> {
    const revision = {
      revision_id,
      tool_name: 'ledger.transfer',
      subject: 'another amount',
      request_payload: transfer(LARGE_CENTS + 1_000).payload,
    }
    const body = {
      event_type: `revision.${task_id}.${thread_id}`,
      event_summary: 'revised',
      payload: { revision },
    }
    return gateway.ask({ method: 'POST', path: `/api/agent/tasks/${task_id}/events`, key: agent, body })
  }
})
