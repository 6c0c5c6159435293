/* The calls of an agent that benchmarks make, for the starter policies. */
import { randomBytes } from 'node:crypto'
import { call } from './gateway.mjs'
import { load, requestBytes } from './load.mjs'

const PROOFS = 2_000
export const PATH = '/api/agent/tasks/task-1/requests'

const transfer = (amount_cents) => ({
  tool_name: 'ledger.transfer',
  workflow_name: 'monthly-closing',
  task_label: 'move travel money',
  payload: {
    from: 'acct_ops',
    to: 'acct_travel',
    amount_cents,
    currency: 'eur',
    memo: 'train tickets',
  },
  action_hash: '4f1c0d5a9e8b7a6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c',
})
export const ALLOWED = transfer(2_500)
const HELD = transfer(25_000)
/** A new call each time, because each has an entry of its own. */
const expectedCall = () => ({
  ...ALLOWED,
  tool_name: 'ledger.expected',
  action_hash: randomBytes(32).toString('hex'),
})

/**
 * For each kind of call, a function that prepares such calls to a gateway. It returns the `next` of `load`.
 *
 * @param proofs how many proofs one preparation makes, which are then redeemed
 * @param expected also calls of `ledger.expected` (`plainPolicies`)
 */
export async function callsOf(gateway, { proofs = PROOFS, expected = false } = {}) {
  const { url } = gateway
  const agent = await gateway.key('agent', 'demo-agent')
  const reviewer = await gateway.key('reviewer', 'alice')
  const open = (body) => ({ path: PATH, key: agent, body })
  const pollOf = ({ thread_id }) => ({
    method: 'GET',
    path: `/api/agent/decisions?thread_id=${thread_id}`,
    key: agent,
  })
  /** Threads that a reviewer approved, and that the agent has not read since. */
  const approved = async () => {
    const threads = await answersTo(
      url,
      Array.from({ length: proofs }, () => open(HELD)),
    )
    await answersTo(
      url,
      threads.map(({ thread_id }) => ({
        path: `/api/review/threads/${thread_id}/votes`,
        key: reviewer,
        body: { decision: 'approve', revision: 1, comment: 'fine' },
      })),
    )
    return threads
  }
  return {
    allow: () => repeat(url, open(ALLOWED)),
    ...(expected && { 'allow (outcome expected)': () => () => requestBytes(url, open(expectedCall())) }),
    review: () => repeat(url, open(HELD)),
    'poll (pending)': async () => repeat(url, pollOf(await call(url, { method: 'POST', ...open(HELD) }))),
    'poll (approved)': async () => supply((await approved()).map((one) => requestBytes(url, pollOf(one)))),
    'validate (redeems)': async () => {
      const collected = await answersTo(url, (await approved()).map(pollOf))
      const redemptions = collected.map(({ approval_token: signature, thread_id, action_hash }) => ({
        path: '/api/agent/approvals/validate',
        key: agent,
        body: {
          task_id: 'task-1',
          signature,
          thread_id,
          action_hash,
          request_payload: HELD.payload,
        },
      }))
      return supply(redemptions.map((one) => requestBytes(url, one)))
    },
  }
}

/** Returns a `next` that always gives the same request. */
export function repeat(url, request) {
  const bytes = requestBytes(url, request)
  return () => bytes
}

/** Returns the answers to the requests, in any order. */
async function answersTo(url, requests) {
  const answers = []
  await load(url, {
    next: supply(requests.map((one) => requestBytes(url, one))),
    onBody: (body) => answers.push(JSON.parse(body)),
    connections: 32,
  })
  return answers
}

function supply(list) {
  let i = 0
  return () => list[i++]
}
