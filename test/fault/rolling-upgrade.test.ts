// @soak
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCli } from '../cli/run.ts'
import type { Decision } from '../../src/contract/agent.ts'
import { defined } from '../../src/contract/defined.ts'
import { Agent } from '../gateway-fixture.ts'
import { earlierBuild, FIRST_OF_FORMAT_1 } from '../earlier-build.ts'
import { startRedis } from '../redis/server.ts'
import {
  type Gateway,
  inDirectory,
  LARGE_CENTS,
  SMALL_CENTS,
  SMALL_POLICIES,
  startGateway,
  transfer,
  verdictOn,
} from './gateway.ts'
import { until } from '../until.ts'

/** Gateways of two versions on one Redis, as during a rolling upgrade (docs/operations.md#upgrade). */

const earlier = await earlierBuild(FIRST_OF_FORMAT_1)
if (earlier === undefined) console.warn(`not run: this clone lacks the commit ${FIRST_OF_FORMAT_1}`)

/** The ways to one gateway of an agent and of a reviewer. */
interface Party {
  readonly agent: Agent
  /** The threads that wait, in order of urgency. */
  queue(): Promise<string[]>
  /** Votes for the first revision; the views of an earlier version need not fit today's schemas. */
  approve(thread: string | undefined): Promise<number>
}

function bundle(directory: string, name: string, edit: (contract: string) => string): string {
  const place = join(directory, name)
  cpSync(SMALL_POLICIES, place, { recursive: true })
  const file = join(place, 'tools/ledger.transfer.yaml')
  writeFileSync(file, edit(readFileSync(file, 'utf8')))
  return place
}

const valid = async (
  { agent }: Party,
  task_id: string,
  decision: Decision,
  cents: number,
): Promise<boolean> => {
  const { payload } = transfer(cents)
  const proof = { task_id, signature: decision.approval_token, request_payload: payload }
  return (await agent.validate(proof)).body.valid
}
const poll = async ({ agent }: Party, task_id: string, { thread_id }: Decision): Promise<Decision> =>
  (await agent.poll({ task_id, ...defined({ thread_id }) })).body
const propose = async ({ agent }: Party, task: string, cents: number): Promise<Decision> =>
  (await agent.submit(task, transfer(cents))).body

describe.runIf(earlier !== undefined)('an earlier and this version on one Redis', () => {
  it('share each step of a held call, and every approval is redeemed once', async () => {
    await withBoth({ ruled: false }, async (both) => {
      for (let steps = 0; steps < 16; steps++) {
        const at = (step: number): Party => both[((steps >> step) & 1) as 0 | 1]
        const task = `shared-${steps}`
        const held = await propose(at(0), task, LARGE_CENTS)
        expect((await poll(at(1), task, held)).status).toBe('pending_review')
        expect(await at(1).approve(held.thread_id)).toBe(200)
        const approved = await poll(at(2), task, held)
        expect(approved.status).toBe('approved')
        expect(await valid(at(3), task, approved, LARGE_CENTS)).toBe(true)
        for (const party of both) expect(await valid(party, task, approved, LARGE_CENTS)).toBe(false)
      }
      const { thread_id } = await propose(both[0], 'listed', LARGE_CENTS)
      await until(async () => (await both[1].queue()).includes(thread_id ?? ''), 90_000)
      for (const party of both) expect((await propose(party, 'allowed', SMALL_CENTS)).status).toBe('allow')
    })
  })

  it('agree on a reissued proof, a call that a rule approved, and a withdrawal with a grace', async () => {
    await withBoth({ ruled: true }, async ([old, current]) => {
      const held = await propose(old, 'reissued', LARGE_CENTS)
      expect(await old.approve(held.thread_id)).toBe(200)
      const lost = await poll(old, 'reissued', held)
      const { body: fresh } = await current.agent.reissue(held.thread_id ?? '')
      expect(await valid(old, 'reissued', lost, LARGE_CENTS)).toBe(false)
      expect(await valid(old, 'reissued', fresh, LARGE_CENTS)).toBe(true)

      const ruled = await propose(current, 'ruled', SMALL_CENTS)
      expect(ruled.status).toBe('pending_review')
      const approved = await poll(old, 'ruled', ruled)
      expect(approved.status).toBe('approved')
      expect(await valid(old, 'ruled', approved, SMALL_CENTS)).toBe(true)

      const left = await propose(current, 'left', LARGE_CENTS)
      await current.agent.withdraw(left.thread_id ?? '', { grace_seconds: 600 })
      expect((await poll(old, 'left', left)).status).toBe('pending_review')
      expect(await old.approve(left.thread_id)).toBe(200)
      const joined = await poll(current, 'left', left)
      expect(joined.status).toBe('approved')
      expect(await valid(current, 'left', joined, LARGE_CENTS)).toBe(true)
    })
  })

  /**
   * Runs both versions. The current one has `proof: always` when a rule shall approve. Afterwards the evidence and the
   * store must be whole.
   */
  async function withBoth(
    { ruled }: { readonly ruled: boolean },
    use: (both: readonly [Party, Party]) => Promise<void>,
  ): Promise<void> {
    const redis = await startRedis()
    try {
      await inDirectory(async (directory) => {
        // each has what its version knows
        const policies = bundle(directory, 'now', (text) => (ruled ? `${text}proof: always\n` : text))
        const before = bundle(directory, 'before', (text) => text.replace(/^summary:.*\n/m, ''))
        const args = ['--store', redis.url]
        const old = await startGateway({
          directory,
          args,
          policies: before,
          main: earlier as string,
        })
        const current = await startGateway({ directory, args, policies })
        const [agentKey, reviewerKey] = [
          await old.key('agent', 'demo-agent'),
          await old.key('reviewer', 'alice'),
        ]
        const party = (gateway: Gateway): Party => ({
          agent: new Agent(gateway, agentKey),
          queue: async () => {
            const path = '/api/review/threads?status=pending_review'
            const { threads } = (await gateway.ask({ path, key: reviewerKey })).body
            return (threads as { thread_id: string }[]).map((one) => one.thread_id)
          },
          approve: async (thread) => {
            const path = `/api/review/threads/${thread}/votes`
            const body = { decision: 'approve', revision: 1 }
            return (await gateway.ask({ method: 'POST', path, key: reviewerKey, body })).status
          },
        })
        await use([party(old), party(current)])
        const verdict = await verdictOn(current, directory)
        expect(verdict.faults).toEqual([])
        for (const gateway of [old, current]) {
          gateway.hangUp()
          await gateway.process.kill('SIGTERM')
        }
        expect(await runCli(['store', 'check', ...args], { cwd: directory })).toMatchObject({
          out: expect.stringMatching(/^fine: nothing found/) as string,
        })
      })
    } finally {
      await redis.dispose()
    }
  }
})
