import { constants } from 'node:os'
import { afterSilence } from '../patience.ts'
import { STORE_LIMITS, StoreIndeterminate, StoreUnavailable } from '../store.ts'
import { createFlight, planClaim, planCommit } from './batch.ts'
import type { CommitTask, Flight, StateBefore } from './batch.ts'
import type { Clock } from '../clock.ts'
import type { DiskGuard } from './disk.ts'
import type { Claim, CommitResult, IndexEntry } from '../store.ts'

/*
 * The group commit. Calls queue up while a flight is in the air; when it has landed, they become the next one. So one
 * disk transaction serves all waiting callers, and a single caller has no delay.
 */

export interface ClaimTask {
  readonly partition: string
  readonly index: string
  readonly claim: Claim
}

export interface Runway {
  commit(task: CommitTask): Promise<CommitResult>
  claim(task: ClaimTask): Promise<IndexEntry[]>
  /** The reason that writes fail now, or undefined. */
  refusal(): string | undefined
  /** Refuses the queued calls, and resolves when the last flight has ended (S13). */
  close(): Promise<void>
}

export interface RunwayPorts {
  readonly clock: Clock
  readonly disk: DiskGuard
  readonly before: StateBefore
  /**
   * Resolves when the flight is durable; `false` when another process wrote to the directory and so nothing was
   * written.
   */
  write(flight: Flight): Promise<boolean>
  /** True when a failed flight has provably left nothing behind. */
  leftNothing(): boolean
  landed(flight: Flight): void
}

/** The most calls of a flight, so that planning does not block the event loop for long. */
const MAX_PASSENGERS = 512
const MAX_FLIGHT_CHARACTERS = 8 * 1024 * 1024
const MAX_WAITING = 100_000
/** Time of a flight after which the store is unready. */
const STUCK_MS = 5_000
const HEARING_MS = 100
/** The longest delay until deadlines are checked after the wall clock has jumped. */
const LONGEST_TIMER_MS = 1_000

/** Error numbers of the system, as LMDB reports them. */
const { ENOSPC, EDQUOT, EIO } = constants.errno

type Task = { readonly commit: CommitTask } | { readonly claim: ClaimTask }

/** A caller that waits for its answer. */
interface Passenger {
  readonly task: Task
  readonly deadline: number
  readonly length: number
  readonly resolve: (result: never) => void
  readonly reject: (error: Error) => void
  outcome: CommitResult | IndexEntry[] | undefined
  answered: boolean
}

interface Air {
  readonly passengers: readonly Passenger[]
  readonly since: number
  readonly ended: Promise<void>
  /** The timer of a slow flight; `stuck` when it was still in the air after a further moment of listening. */
  overdue?: NodeJS.Timeout
  stuck?: boolean
}

export function createRunway(ports: RunwayPorts): Runway {
  return new GroupCommit(ports)
}

class GroupCommit implements Runway {
  readonly #ports: RunwayPorts
  #waiting: Passenger[] = []
  #air: Air | undefined
  #scheduled = false
  #closed = false
  /** Set once: a disk that failed to sync may have lost anything, so only a restart helps. */
  #failure: string | undefined
  #timer: NodeJS.Timeout | undefined
  #timerAt = Infinity

  constructor(ports: RunwayPorts) {
    this.#ports = ports
  }

  commit(task: CommitTask): Promise<CommitResult> {
    return this.#enqueue({ commit: task }, task.commit.deadline, task.length)
  }

  claim(task: ClaimTask): Promise<IndexEntry[]> {
    return this.#enqueue({ claim: task }, this.#ports.clock.now() + STORE_LIMITS.callMs, 0)
  }

  refusal(): string | undefined {
    if (this.#closed) return 'the store is closed'
    if (this.#failure !== undefined) return this.#failure
    if (this.#isStuck()) return `the disk has not confirmed a write for ${STUCK_MS} ms`
    return this.#ports.disk.refusal()
  }

  /** True for a stuck flight. After a pause of this process, a confirmation may be queued, so it is read first. */
  #isStuck(): boolean {
    const air = this.#air
    if (air === undefined || performance.now() - air.since <= STUCK_MS) return false
    air.overdue ??= setTimeout(() => (air.stuck = true), HEARING_MS).unref()
    return air.stuck === true
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#refuseWaiting('the store is closed')
    await this.#air?.ended
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

  /** Schedules a flight after the callers of the last one had their turn, so that they can board it. */
  #schedule(): void {
    if (this.#scheduled || this.#air !== undefined || this.#waiting.length === 0) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#takeOff()
    })
  }

  #takeOff(): void {
    const reason = this.refusal()
    if (reason !== undefined) {
      this.#refuseWaiting(reason)
      return
    }
    const flight = createFlight(this.#ports.before, this.#ports.clock.now())
    let passengers: Passenger[]
    try {
      this.#ports.before.refresh()
      passengers = this.#board(flight)
    } catch (error) {
      this.#fail(`reading the data file failed: ${String(error)}`)
      return
    }
    if (flight.partitions.size === 0) this.#answer(passengers)
    else this.#fly(flight, passengers)
    this.#schedule()
  }

  /** Runs the queued calls in order until the flight is full. Writes nothing yet. */
  #board(flight: Flight): Passenger[] {
    let boarded = 0
    let length = 0
    for (const passenger of this.#waiting) {
      if (boarded === MAX_PASSENGERS || length > MAX_FLIGHT_CHARACTERS) break
      if (!passenger.answered) passenger.outcome = plan(flight, passenger)
      if (!passenger.answered && passenger.outcome === undefined) break
      length += passenger.length
      boarded += 1
    }
    return this.#waiting.splice(0, boarded)
  }

  #fly(flight: Flight, passengers: Passenger[]): void {
    const ended = this.#ports.write(flight).then(
      (written) => this.#land(flight, passengers, written),
      (error: unknown) => this.#crash(passengers, error),
    )
    this.#air = { passengers, since: performance.now(), ended }
  }

  #land(flight: Flight, passengers: readonly Passenger[], written: boolean): void {
    this.#air = undefined
    if (!written) {
      this.#refuse(passengers, 'another process wrote to the data directory')
      this.#fail('another process wrote to the data directory')
      return
    }
    this.#ports.landed(flight)
    this.#answer(passengers)
    this.#schedule()
  }

  /**
   * Handles a failed flight. After a failed sync the kernel may have dropped unwritten pages, so no later sync can be
   * believed (fsync-gate). A full disk is the exception: LMDB drops the transaction before its root is written, and the
   * next one writes its pages anew.
   */
  async #crash(passengers: readonly Passenger[], error: unknown): Promise<void> {
    const cause = await failureCause(error)
    const nothing = this.#isDiskFull(cause) && this.#ports.leftNothing()
    this.#air = undefined
    if (nothing) {
      this.#ports.disk.reportFull()
      this.#refuse(passengers, 'the disk is full')
    } else {
      const unknown = new StoreIndeterminate(`writing failed: ${cause.message}`, { cause })
      for (const passenger of passengers) settle(passenger, () => passenger.reject(unknown))
      this.#fail(`writing failed, a restart is needed: ${cause.message}`)
    }
    this.#schedule()
  }

  /** True for a full disk. LMDB reports EIO when the last bytes of a disk take only a part of a write. */
  #isDiskFull({ code }: { code?: unknown }): boolean {
    return code === ENOSPC || code === EDQUOT || (code === EIO && this.#ports.disk.isFull())
  }

  #fail(reason: string): void {
    this.#failure ??= reason
    this.#refuseWaiting(reason)
  }

  #answer(passengers: readonly Passenger[]): void {
    for (const passenger of passengers) settle(passenger, () => passenger.resolve(passenger.outcome as never))
  }

  #refuseWaiting(reason: string): void {
    this.#refuse(this.#waiting.splice(0), reason)
  }

  #refuse(passengers: readonly Passenger[], reason: string): void {
    for (const passenger of passengers)
      settle(passenger, () => passenger.reject(new StoreUnavailable(reason)))
  }

  /** One timer for all deadlines, set to the earliest. */
  #expectBy(deadline: number): void {
    if (deadline >= this.#timerAt) return
    clearTimeout(this.#timer)
    this.#timerAt = deadline
    const wait = Math.min(Math.max(deadline + 1 - this.#ports.clock.now(), 0), LONGEST_TIMER_MS)
    this.#timer = afterSilence(() => this.#expire(), wait)
    this.#timer.unref()
  }

  /** Expires calls. A queued call past its deadline was not executed; a call in the air may be (S08, S09). */
  #expire(): void {
    this.#timerAt = Infinity
    const now = this.#ports.clock.now()
    const flying = this.#air?.passengers ?? []
    for (const passenger of this.#waiting) if (now > passenger.deadline) expireWaiting(passenger)
    for (const passenger of flying) if (now > passenger.deadline) expireFlying(passenger)
    let next = Infinity
    for (const passenger of [...this.#waiting, ...flying])
      if (!passenger.answered) next = Math.min(next, passenger.deadline)
    this.#expectBy(next)
  }
}

/** Plans one call. Undefined: it must wait for the next flight. */
function plan(flight: Flight, { task }: Passenger): CommitResult | IndexEntry[] | undefined {
  if ('commit' in task) return planCommit(flight, task.commit)
  return planClaim(flight, task.claim.partition, task.claim.index, task.claim.claim)
}

function expireWaiting(passenger: Passenger): void {
  settle(passenger, () => {
    if ('commit' in passenger.task) passenger.resolve({ ok: false, reason: 'late' } as never)
    else passenger.reject(new StoreUnavailable('the call waited too long for the disk'))
  })
}

function expireFlying(passenger: Passenger): void {
  settle(passenger, () => {
    if (changedNothing(passenger.outcome)) passenger.resolve({ ok: false, reason: 'late' } as never)
    else passenger.reject(new StoreIndeterminate('the disk did not confirm the write before the deadline'))
  })
}

/** True for a refused commit, whose answer depends on earlier commits of the flight. */
function changedNothing(outcome: Passenger['outcome']): boolean {
  return outcome !== undefined && 'ok' in outcome && !outcome.ok
}

function settle(passenger: Passenger, answer: () => void): void {
  if (passenger.answered) return
  passenger.answered = true
  answer()
}

/**
 * The cause of a failed commit. LMDB rejects with an error whose `commitError` is a second promise that rejects with
 * the cause. No other code handles that promise; unhandled, its rejection would end the process.
 */
export async function failureCause(error: unknown): Promise<Error & { code?: unknown }> {
  const { commitError: cause } = error as { commitError?: Promise<never> }
  if (cause === undefined) return error as Error
  return cause.catch((reason: Error) => reason)
}

/** Awaits a write outside of flights: a first stamp, a restore. @throws Error of one sentence, with the cause */
export async function orFailureCause<T>(write: Promise<T>): Promise<T> {
  try {
    return await write
  } catch (error) {
    const cause = await failureCause(error)
    throw new Error(`writing failed (${cause.message}): look at the disk, and whether it is full`, { cause })
  }
}
