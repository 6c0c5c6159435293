import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Replay } from '../../src/evidence/replay.ts'
import { faultsOf } from '../evidence/replayed.ts'
import {
  type Answer,
  type Evidence,
  type Gateway,
  LARGE_CENTS,
  SMALL_CENTS,
  transfer,
  TRANSFER_PATH,
} from './gateway.ts'

/*
 * Clients that repeat the whole life of threads, and a notebook of everything that was acknowledged to them. The
 * notebook marks a call without an answer as unknown: the gateway may have done it or not.
 */
export interface Notebook {
  /** Receipts of acknowledged answers: number and leaf hash of the evidence. */
  readonly receipts: Map<number, { leaf: string; what: string }>
  readonly threads: Map<string, LifeOfThread>
  acknowledged: number
}

export interface LifeOfThread {
  readonly thread_id: string
  readonly task_id: string
  approved: 'no' | 'yes' | 'unknown'
  /** The token as it was handed out. */
  token?: string
  /** The poll that may have collected the token got no answer. */
  collected: 'no' | 'yes' | 'unknown'
  redeemed: 'no' | 'yes' | 'unknown'
  checked?: boolean
}

export interface Keys {
  readonly agent: string
  readonly reviewer: string
}

export function createNotebook(): Notebook {
  return { receipts: new Map(), threads: new Map(), acknowledged: 0 }
}

/** One client: works until a call gets no answer because the server is gone, or one with a status in `last`. */
export async function live(
  gateway: Gateway,
  keys: Keys,
  notebook: Notebook,
  name: string,
  last: readonly number[] = [],
): Promise<void> {
  const ask: Gateway['ask'] = async (one) => {
    for (;;) {
      const answer = await gateway.ask(one)
      if (last.includes(answer.status)) throw new LastAnswer()
      // the machine was suspended; nothing was changed
      if (answer.body['code'] !== 'overloaded') return answer
      await pause(20)
    }
  }
  for (let i = 0; ; i++) {
    try {
      await allowed({ ...gateway, ask }, keys, notebook, `${name}-${i}`)
      await heldAndApproved({ ...gateway, ask }, keys, notebook, `${name}-${i}`)
    } catch (error) {
      if (error instanceof LastAnswer || isGone(error)) return
      throw error
    }
  }
}

class LastAnswer extends Error {}

function isGone(error: unknown): boolean {
  return ['ECONNREFUSED', 'ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '')
}

async function allowed(gateway: Gateway, keys: Keys, notebook: Notebook, task: string): Promise<void> {
  const body = transfer(SMALL_CENTS)
  const answer = await gateway.ask({ method: 'POST', path: TRANSFER_PATH(task), key: keys.agent, body })
  expect(answer.body['status']).toBe('allow')
  note(notebook, answer, 'decision.allowed')
}

async function heldAndApproved(
  gateway: Gateway,
  keys: Keys,
  notebook: Notebook,
  task: string,
): Promise<void> {
  const body = transfer(LARGE_CENTS)
  const held = await gateway.ask({ method: 'POST', path: TRANSFER_PATH(task), key: keys.agent, body })
  expect(held.body['status']).toBe('pending_review')
  note(notebook, held, 'review.pending')
  const thread: LifeOfThread = {
    thread_id: held.body['thread_id'] as string,
    task_id: task,
    approved: 'unknown',
    collected: 'no',
    redeemed: 'no',
  }
  notebook.threads.set(thread.thread_id, thread)
  note(notebook, await vote(gateway, keys, thread.thread_id), 'vote.cast')
  thread.approved = 'yes'
  thread.collected = 'unknown'
  const approved = await poll(gateway, keys, thread.thread_id)
  note(notebook, approved, 'token.minted')
  thread.collected = 'yes'
  thread.token = approved.body['approval_token'] as string
  thread.redeemed = 'unknown'
  const redeemed = await redeem(gateway, keys, thread)
  expect(redeemed.body).toEqual({ valid: true })
  note(notebook, redeemed, 'token.redeemed')
  thread.redeemed = 'yes'
}

export function vote(gateway: Gateway, keys: Keys, thread_id: string, revision = 1): Promise<Answer> {
  return gateway.ask({
    method: 'POST',
    path: `/api/review/threads/${thread_id}/votes`,
    key: keys.reviewer,
    body: { decision: 'approve', revision },
  })
}

export function poll(gateway: Gateway, keys: Keys, thread_id: string): Promise<Answer> {
  return gateway.ask({ path: `/api/agent/decisions?thread_id=${thread_id}`, key: keys.agent })
}

export function redeem(
  gateway: Gateway,
  keys: Keys,
  thread: { task_id: string; token?: string },
): Promise<Answer> {
  return gateway.ask({
    method: 'POST',
    path: '/api/agent/approvals/validate',
    key: keys.agent,
    body: {
      task_id: thread.task_id,
      signature: thread.token,
      request_payload: transfer(LARGE_CENTS).payload,
    },
  })
}

function note(notebook: Notebook, answer: Answer, what: string): void {
  expect({ status: answer.status, text: answer.status === 200 ? '' : answer.text }).toEqual({
    status: 200,
    text: '',
  })
  const receipt = String(answer.headers['countersign-evidence'])
  const [number, leaf = ''] = receipt.split(':')
  notebook.receipts.set(Number(number), { leaf, what })
  notebook.acknowledged += 1
}

/** Every acknowledged answer has its record: the number and the leaf hash of the receipt, and the kind that it was. */
export function expectReceiptsIn(evidence: readonly Evidence[], notebook: Notebook): void {
  const byNumber = new Map(evidence.map((one) => [one.number, one]))
  const lost = [...notebook.receipts].filter(([number, { leaf, what }]) => {
    const found = byNumber.get(number)
    return found?.leaf_hash !== leaf || found.record.type !== what
  })
  expect(lost).toEqual([])
}

/** Every thread after a restart agrees with the acknowledged answers before the kill. */
export async function expectThreadsAsKnown(gateway: Gateway, keys: Keys, notebook: Notebook): Promise<void> {
  const unchecked = [...notebook.threads.values()].filter((thread) => thread.checked !== true)
  const workers = Array.from({ length: 16 }, async () => {
    for (let thread = unchecked.pop(); thread; thread = unchecked.pop()) {
      await expectThreadAsKnown(gateway, keys, thread)
      thread.checked = true
    }
  })
  await Promise.all(workers)
}

async function expectThreadAsKnown(gateway: Gateway, keys: Keys, thread: LifeOfThread): Promise<void> {
  const read = await poll(gateway, keys, thread.thread_id)
  const { status } = read.body
  if (thread.approved === 'yes') expect(status).toBe('approved')
  else expect(['pending_review', 'approved']).toContain(status)
  const handedOut = read.body['approval_token'] as string | undefined
  if (thread.collected === 'yes') expect(handedOut).toBeUndefined()
  if (thread.token === undefined) {
    if (handedOut !== undefined) await expectRedeemableOnce(gateway, keys, { ...thread, token: handedOut })
    return
  }
  const first = await redeem(gateway, keys, thread)
  if (thread.redeemed === 'yes') expect(first.body).toEqual({ valid: false, reason: 'used' })
  else if (first.body['valid'] === true)
    expect((await redeem(gateway, keys, thread)).body).toEqual({ valid: false, reason: 'used' })
  else expect(first.body).toEqual({ valid: false, reason: 'used' })
}

async function expectRedeemableOnce(
  gateway: Gateway,
  keys: Keys,
  thread: { task_id: string; token: string },
): Promise<void> {
  expect((await redeem(gateway, keys, thread)).body).toEqual({ valid: true })
  expect((await redeem(gateway, keys, thread)).body).toEqual({ valid: false, reason: 'used' })
}

/**
 * Expects the numbers 1, 2, 3, ... without a gap. The hash of each leaf is the hash of its text. Each record follows
 * from the records before it. Each token is minted and redeemed at most once.
 */
export function expectSound(evidence: readonly Evidence[], from: number, tokens: TokenCounts): void {
  expect(evidence.map((one) => one.number)).toEqual(evidence.map((_, i) => from + i + 1))
  expect(
    faultsOf(
      evidence.map(({ record }) => record),
      tokens.replay,
    ),
  ).toEqual([])
  for (const { record } of evidence) {
    const token = record.details?.['token_hash']
    if (typeof token !== 'string') continue
    if (record.type === 'token.minted') count(tokens.minted, record.thread_id ?? '')
    if (record.type === 'token.redeemed') count(tokens.redeemed, token)
  }
  expect([...tokens.minted].filter(([, times]) => times > 1)).toEqual([])
  expect([...tokens.redeemed].filter(([, times]) => times > 1)).toEqual([])
}

export interface TokenCounts {
  readonly replay: Replay
  readonly minted: Map<string, number>
  readonly redeemed: Map<string, number>
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}
