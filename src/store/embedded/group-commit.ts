import { constants } from 'node:os'
import { afterSilence } from '../patience.ts'
import { STORE_LIMITS, StoreIndeterminate, StoreUnavailable } from '../store.ts'
import { createBatch, planClaim, planCommit } from './batch.ts'
import type { Batch, CommitTask, StateBefore } from './batch.ts'
import { type Clock, jumpReason } from '../clock.ts'
import type { DiskGuard } from './disk.ts'
import type { Claim, CommitResult, IndexEntry } from '../store.ts'

/*
 * The group commit. Calls that arrive while a batch is being written form the next batch. One disk transaction
 * therefore serves all waiting callers, and a single caller has no delay.
 */

export interface ClaimTask {
  readonly partition: string
  readonly index: string
  readonly claim: Claim
}

export interface GroupCommitPorts {
  readonly clock: Clock
  readonly disk: DiskGuard
  readonly before: StateBefore
  /**
   * Resolves when the batch is durable. Resolves with `false` when nothing was written because another process wrote to
   * the directory.
   */
  write(batch: Batch): Promise<boolean>
  /** True when a failed batch has certainly written nothing. */
  leftNothing(): boolean
  landed(batch: Batch): void
}

/** Maximum number of calls in a batch, so that planning does not block the event loop for long. */
const MAX_BATCH_CALLS = 512
const MAX_BATCH_CHARACTERS = 8 * 1024 * 1024
const MAX_WAITING = 100_000
/** Duration of a batch after which the store reports that it is not ready. */
const STUCK_MS = 5_000
/** Maximum delay until the store checks deadlines after the wall clock has jumped. */
const LONGEST_TIMER_MS = 1_000

/** Error numbers of the operating system, as LMDB reports them. */
const { ENOSPC, EDQUOT, EIO } = constants.errno

type Task = { readonly commit: CommitTask } | { readonly claim: ClaimTask }

/** A caller that waits for an answer. */
interface Caller {
  readonly task: Task
  readonly deadline: number
  readonly length: number
  readonly resolve: (result: never) => void
  readonly reject: (error: Error) => void
  outcome: CommitResult | IndexEntry[] | undefined
  answered: boolean
}

interface UnderWay {
  readonly callers: readonly Caller[]
  readonly since: number
  readonly ended: Promise<void>
}

export function createGroupCommit(ports: GroupCommitPorts): GroupCommit {
  return new GroupCommit(ports)
}

export class GroupCommit {
  readonly #ports: GroupCommitPorts
  #waiting: Caller[] = []
  #underWay: UnderWay | undefined
  #scheduled = false
  #closed = false
  /**
   * The reason is permanent, because a disk that failed to sync may have lost any data. Only a restart of the process
   * clears this state.
   */
  #failure: string | undefined
  #timer: NodeJS.Timeout | undefined
  #timerAt = Infinity

  constructor(ports: GroupCommitPorts) {
    this.#ports = ports
  }

  commit(task: CommitTask): Promise<CommitResult> {
    return this.#enqueue({ commit: task }, task.commit.deadline, task.length)
  }

  claim(task: ClaimTask): Promise<IndexEntry[]> {
    return this.#enqueue({ claim: task }, this.#ports.clock.now() + STORE_LIMITS.callMs, 0)
  }

  /** The reason why writes fail now; undefined while writes succeed. */
  refusal(): string | undefined {
    if (this.#closed) return 'the store is closed'
    if (this.#failure !== undefined) return this.#failure
    if (performance.now() - (this.#underWay?.since ?? Infinity) > STUCK_MS)
      return `the disk has not confirmed a write for ${STUCK_MS} ms`
    const jump = this.#ports.clock.jumpMs()
    return jump === undefined ? this.#ports.disk.refusal() : jumpReason(jump)
  }

  /** Refuses the queued calls, and resolves when the last batch has ended (S13). */
  async close(): Promise<void> {
    this.#closed = true
    this.#refuseWaiting('the store is closed')
    await this.#underWay?.ended
    clearTimeout(this.#timer)
  }

  #enqueue<Result>(task: Task, deadline: number, length: number): Promise<Result> {
    const reason = this.#waiting.length >= MAX_WAITING ? 'too many calls wait for the disk' : this.refusal()
    if (reason !== undefined) return Promise.reject(new StoreUnavailable(reason))
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.push({ task, deadline, length, resolve, reject, outcome: undefined, answered: false })
      this.#expectBy(deadline)
      this.#schedule()
    })
  }

  /** Schedules a batch after the callers of the last batch have run, so that their next calls can join it. */
  #schedule(): void {
    if (this.#scheduled || this.#underWay !== undefined || this.#waiting.length === 0) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#startBatch()
    })
  }

  #startBatch(): void {
    const reason = this.refusal()
    if (reason !== undefined) {
      this.#refuseWaiting(reason)
      return
    }
    const batch = createBatch(this.#ports.before, this.#ports.clock.now())
    let callers: Caller[]
    try {
      this.#ports.before.refresh()
      callers = this.#fill(batch)
    } catch (error) {
      this.#fail(`reading the data file failed: ${String(error)}`)
      return
    }
    if (batch.partitions.size === 0) this.#answer(callers)
    else this.#write(batch, callers)
    this.#schedule()
  }

  /** Runs the queued calls in order until the batch is full. Writes nothing yet. */
  #fill(batch: Batch): Caller[] {
    let taken = 0
    let length = 0
    for (const caller of this.#waiting) {
      if (taken === MAX_BATCH_CALLS || length > MAX_BATCH_CHARACTERS) break
      if (!caller.answered) caller.outcome = plan(batch, caller)
      if (!caller.answered && caller.outcome === undefined) break
      length += caller.length
      taken += 1
    }
    return this.#waiting.splice(0, taken)
  }

  #write(batch: Batch, callers: Caller[]): void {
    const ended = this.#ports.write(batch).then(
      (written) => this.#written(batch, callers, written),
      (error: unknown) => this.#failed(callers, error),
    )
    this.#underWay = { callers, since: performance.now(), ended }
  }

  #written(batch: Batch, callers: readonly Caller[], written: boolean): void {
    this.#underWay = undefined
    if (!written) {
      this.#refuse(callers, 'another process wrote to the data directory')
      this.#fail('another process wrote to the data directory')
      return
    }
    this.#ports.landed(batch)
    this.#answer(callers)
    this.#schedule()
  }

  /**
   * Handles the failure of a batch. After a failed sync the kernel may have dropped unwritten pages, so no later sync
   * can be trusted (fsync-gate). A full disk is the exception. LMDB drops the transaction before writing its root, and
   * the next transaction writes the pages again.
   */
  async #failed(callers: readonly Caller[], error: unknown): Promise<void> {
    const cause = await failureCause(error)
    const nothing = this.#isDiskFull(cause) && this.#ports.leftNothing()
    this.#underWay = undefined
    if (nothing) {
      this.#ports.disk.reportFull()
      this.#refuse(callers, 'the disk is full')
    } else {
      const unknown = new StoreIndeterminate(`writing failed: ${cause.message}`, { cause })
      for (const caller of callers) settle(caller, () => caller.reject(unknown))
      this.#fail(`writing failed, a restart is needed: ${cause.message}`)
    }
    this.#schedule()
  }

  /** True for an error that means a full disk. LMDB reports EIO when only a part of a write fits on the disk. */
  #isDiskFull({ code }: { code?: unknown }): boolean {
    return code === ENOSPC || code === EDQUOT || (code === EIO && this.#ports.disk.isFull())
  }

  #fail(reason: string): void {
    this.#failure ??= reason
    this.#refuseWaiting(reason)
  }

  #answer(callers: readonly Caller[]): void {
    for (const caller of callers) settle(caller, () => caller.resolve(caller.outcome as never))
  }

  #refuseWaiting(reason: string): void {
    this.#refuse(this.#waiting.splice(0), reason)
  }

  #refuse(callers: readonly Caller[], reason: string): void {
    for (const caller of callers) settle(caller, () => caller.reject(new StoreUnavailable(reason)))
  }

  /** Sets one timer for all deadlines, to the earliest deadline. */
  #expectBy(deadline: number): void {
    if (deadline >= this.#timerAt) return
    clearTimeout(this.#timer)
    this.#timerAt = deadline
    const wait = Math.min(Math.max(deadline + 1 - this.#ports.clock.now(), 0), LONGEST_TIMER_MS)
    this.#timer = afterSilence(() => this.#expire(), wait)
    this.#timer.unref()
  }

  /** Expires calls. A queued call was not executed; a call that is being written may be executed (S08, S09). */
  #expire(): void {
    this.#timerAt = Infinity
    const now = this.#ports.clock.now()
    const writing = this.#underWay?.callers ?? []
    for (const caller of this.#waiting) if (now > caller.deadline) expireWaiting(caller)
    for (const caller of writing) if (now > caller.deadline) expireUnderWay(caller)
    let next = Infinity
    for (const caller of [...this.#waiting, ...writing])
      if (!caller.answered) next = Math.min(next, caller.deadline)
    this.#expectBy(next)
  }
}

/** Plans one call. Returns undefined when the claim must wait for the next batch. */
function plan(batch: Batch, { task }: Caller): CommitResult | IndexEntry[] | undefined {
  if ('commit' in task) return planCommit(batch, task.commit)
  return planClaim(batch, task.claim.partition, task.claim.index, task.claim.claim)
}

function expireWaiting(caller: Caller): void {
  settle(caller, () => {
    if ('commit' in caller.task) caller.resolve({ ok: false, reason: 'late' } as never)
    else caller.reject(new StoreUnavailable('the call waited too long for the disk'))
  })
}

function expireUnderWay(caller: Caller): void {
  settle(caller, () => {
    if (changedNothing(caller.outcome)) caller.resolve({ ok: false, reason: 'late' } as never)
    else caller.reject(new StoreIndeterminate('the disk did not confirm the write before the deadline'))
  })
}

/** True for the result of a refused commit. The refusal depends on earlier commits of the batch. */
function changedNothing(outcome: Caller['outcome']): boolean {
  return outcome !== undefined && 'ok' in outcome && !outcome.ok
}

function settle(caller: Caller, answer: () => void): void {
  if (caller.answered) return
  caller.answered = true
  answer()
}

/**
 * The cause of a failed commit. LMDB rejects with an error whose `commitError` is a second promise that rejects with
 * the cause. Only this function handles that promise. An unhandled rejection would end the process.
 */
export async function failureCause(error: unknown): Promise<Error & { code?: unknown }> {
  const { commitError: cause } = error as { commitError?: Promise<never> }
  if (cause === undefined) return error as Error
  return cause.catch((reason: Error) => reason)
}

/**
 * Awaits a write outside of batches, such as the first stamp or a restore.
 *
 * @throws Error with a one-sentence message and the cause
 */
export async function orFailureCause<T>(write: Promise<T>): Promise<T> {
  try {
    return await write
  } catch (error) {
    const cause = await failureCause(error)
    throw new Error(
      `writing failed (${cause.message}): check whether the disk is healthy and has free space`,
      { cause },
    )
  }
}
