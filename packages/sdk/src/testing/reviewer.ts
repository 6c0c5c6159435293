import { setTimeout as pause } from 'node:timers/promises'
import type { Payload } from '../types.ts'

/** A record of the evidence. `details` also has the disclosed members. */
export interface EvidenceRecord {
  readonly number: number
  readonly type: string
  readonly tool?: string
  readonly task_id: string
  readonly thread_id: string
  readonly details: Readonly<Record<string, unknown>>
}

/** The members of the gateway that a reviewer uses. */
export interface Watched {
  readonly url: string
  readonly reviewerKey: string
  /** Records after a number, oldest first. Waits for the reports of the gates that this gateway made. */
  evidence(after?: number): Promise<EvidenceRecord[]>
}

/** A vote that waits for its call. */
export interface Vote {
  /** The arguments that reviewers saw, once the vote is cast. */
  readonly payload: Payload | undefined
  readonly thread_id: string | undefined
  /** Returns the thread, once the vote is cast. @throws Error when no call was held in time */
  wait(maxMs?: number): Promise<string>
}

/** A held call in the list of a reviewer. */
export interface HeldThread {
  readonly thread_id: string
  readonly task_id: string
  readonly tool_name: string
  readonly revision: number
}

/** A thread as a reviewer sees it. */
export interface ThreadOfReviewer extends HeldThread {
  readonly payload: Payload
}

type Verdict = 'approve' | 'reject' | 'request_changes'
type Open = { -readonly [Member in keyof Vote]: Vote[Member] } & {
  readonly tool: string | undefined
  readonly decision: Verdict
  readonly comment: string | undefined
}

const LOOK_MS = 30
const WAIT_MS = 30_000

/** Votes in the background, so that a test may wait for its agent. Reads only the calls of its own test. */
export class Reviewer {
  readonly #gateway: Watched
  readonly #first: number
  #open: Open[] = []
  #voting: Promise<void> | undefined
  #failure: Error | undefined

  constructor(gateway: Watched, first: number) {
    this.#gateway = gateway
    this.#first = first
  }

  /** Approves the tool's held call, or its next held call. */
  approve(tool?: string, comment?: string): Vote {
    return this.#ask('approve', tool, comment)
  }

  /** Rejects the tool's held call, or its next held call. */
  reject(tool?: string, comment?: string): Vote {
    return this.#ask('reject', tool, comment)
  }

  /** Asks for changes of the tool's held call, or of its next held call. */
  requestChanges(tool?: string, comment = 'please change it'): Vote {
    return this.#ask('request_changes', tool, comment)
  }

  /** Votes now, on the current revision of a thread. @throws Error when the gateway refuses the vote */
  async decide(thread_id: string, decision: Verdict, comment?: string): Promise<void> {
    const { revision } = await this.thread(thread_id)
    const body = JSON.stringify({ decision, revision, comment })
    await this.#api(`threads/${thread_id}/votes`, { method: 'POST', body })
  }

  /** The thread as a reviewer sees it. */
  thread(thread_id: string): Promise<ThreadOfReviewer> {
    return this.#api(`threads/${thread_id}`)
  }

  /** The threads of this test that wait for reviewers, oldest first; at most the last 100 of the gateway. */
  async pending(tool?: string): Promise<HeldThread[]> {
    const own = await this.held(tool)
    const { threads } = await this.#api<{ threads: HeldThread[] }>(
      'threads?status=pending_review&sort=newest&limit=100',
    )
    return threads.filter(({ thread_id }) => own.includes(thread_id)).reverse()
  }

  /** The held calls of the tool, once there are `count` of them. @throws Error when they were not held in time */
  async waitUntilHeld(tool?: string, count = 1, maxMs = WAIT_MS): Promise<HeldThread[]> {
    const end = performance.now() + maxMs
    for (;;) {
      const threads = await this.pending(tool)
      if (threads.length >= count) return threads
      if (performance.now() > end)
        throw new Error(`${threads.length} calls of ${tool ?? 'any tool'} are held, not ${count}`)
      await pause(LOOK_MS)
    }
  }

  /** The ids of this test's threads, in the order of their opening. */
  async held(tool?: string): Promise<string[]> {
    return [...new Set(await this.#threads('review.pending', tool))]
  }

  /** The ids of the threads whose proof was redeemed. */
  redeemed(tool?: string): Promise<string[]> {
    return this.#threads('token.redeemed', tool)
  }

  /** The ids of the threads that the agent withdrew. */
  withdrawn(tool?: string): Promise<string[]> {
    return this.#threads('review.withdrawn', tool)
  }

  /** The tools that ran, whether they failed or not, in order of the reports. */
  async ran(tool?: string): Promise<string[]> {
    const ran = (await this.outcomes()).filter(([, outcome]) => outcome !== 'not_run').map(([name]) => name)
    return ran.filter((name) => name === (tool ?? name))
  }

  /** Every report of a call: the tool, and `executed`, `failed` or `not_run`. */
  async outcomes(): Promise<[tool: string, outcome: string][]> {
    const tools = new Map<unknown, string>()
    const reports: [string, string][] = []
    for (const { type, tool, task_id, details } of await this.#gateway.evidence(this.#first)) {
      const { action_hash, outcome } = details
      if (type === 'decision.allowed') tools.set(action_hash, tool ?? '').set(task_id, tool ?? '')
      // evidence has no hash of a sensitive call, so the last call of its task counts
      const known = tool ?? tools.get(action_hash) ?? tools.get(task_id) ?? ''
      if (type === 'call.ended') reports.push([known, String(outcome)])
    }
    return reports
  }

  /** Asserts how many calls of the tool were held. */
  async assertHeld(tool: string, times = 1): Promise<void> {
    const { length } = await this.held(tool)
    if (length !== times) throw new Error(`${tool} was held ${length} times, not ${times}`)
  }

  /** Asserts how many proofs of the tool were redeemed. */
  async assertRedeemed(tool: string, times = 1): Promise<void> {
    const { length } = await this.redeemed(tool)
    if (length !== times) throw new Error(`${length} proofs of ${tool} were redeemed, not ${times}`)
  }

  /** Asserts how often the tool ran, as its agent reported. */
  async assertRan(tool: string, times = 1): Promise<void> {
    const { length } = await this.ran(tool)
    if (length !== times) throw new Error(`${tool} ran ${length} times, not ${times}`)
  }

  /** Asserts that no run of the tool, or of any tool, was reported. */
  async assertNotRan(tool?: string): Promise<void> {
    const ran = await this.ran(tool)
    if (ran.length > 0) throw new Error(`${ran.join(', ')} ran`)
  }

  /** Ends the votes in the background. @throws Error when one of them failed */
  async close(): Promise<void> {
    this.#open = []
    // between its looks, the voting alone keeps no process alive
    const alive = setInterval(() => undefined, WAIT_MS)
    await this.#voting
    clearInterval(alive)
    if (this.#failure !== undefined) throw this.#failure
  }

  async #api<T>(path: string, init: RequestInit = {}): Promise<T> {
    const { url, reviewerKey } = this.#gateway
    const headers = { authorization: `Bearer ${reviewerKey}`, 'content-type': 'application/json' }
    const answer = await fetch(`${url}/api/review/${path}`, { ...init, headers })
    if (!answer.ok) throw new Error(`the gateway refused ${path}: ${await answer.text()}`)
    return (await answer.json()) as T
  }

  async #threads(kind: string, tool: string | undefined): Promise<string[]> {
    const records = await this.#gateway.evidence(this.#first)
    const own = records.filter((record) => record.type === kind && record.tool === (tool ?? record.tool))
    return own.map(({ thread_id }) => thread_id)
  }

  #ask(decision: Verdict, tool: string | undefined, comment: string | undefined): Vote {
    const wait = async (maxMs = WAIT_MS): Promise<string> => {
      const end = performance.now() + maxMs
      while (vote.thread_id === undefined) {
        if (this.#failure !== undefined) throw this.#failure
        if (performance.now() > end)
          throw new Error(`no call of ${tool ?? 'any tool'} was held within ${maxMs} ms`)
        await pause(LOOK_MS)
      }
      return vote.thread_id
    }
    const vote: Open = { decision, tool, comment, payload: undefined, thread_id: undefined, wait }
    this.#open.push(vote)
    this.#voting ??= this.#keepVoting().catch((error: unknown) => {
      this.#failure = error as Error
    })
    return vote
  }

  async #keepVoting(): Promise<void> {
    while (this.#open.length > 0) {
      for (const { thread_id, tool_name } of await this.pending()) {
        const vote = this.#open.find(({ tool = tool_name }) => tool === tool_name)
        if (vote === undefined) continue
        this.#open = this.#open.filter((one) => one !== vote)
        await this.decide(thread_id, vote.decision, vote.comment)
        vote.payload = (await this.thread(thread_id)).payload
        vote.thread_id = thread_id
      }
      await pause(LOOK_MS, undefined, { ref: false })
    }
    this.#voting = undefined
  }
}
