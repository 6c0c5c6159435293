import { amountIn } from '../../domain/limit-window.ts'
import {
  checkClaim,
  checkCommit,
  checkCount,
  checkIndex,
  checkLimit,
  checkPartition,
  checkRange,
  checkRecordName,
} from '../check.ts'
import { type Clock, jumpReason } from '../clock.ts'
import { type Answer, type Calls, createCalls, scriptArguments } from './calls.ts'
import { type Confirmations, createConfirmations } from './replication-wait.ts'
import { commitArguments, readCommitReply } from './commit.ts'
import { connectRedis, type RedisOptions, refuseUnfinished } from './connect.ts'
import { encodeMember, type KeySpace, keySpace, type PartitionKeys } from './keys.ts'
import { readDisclosures, readEntries, readEvents, readRecord, readWindow } from './replies.ts'
import { type Script, SCRIPTS } from './scripts.ts'
import { createServerClock } from './server-clock.ts'
import { roomOf } from './settings.ts'
import type { Topology } from './topology.ts'
import { Waking } from './subscriptions.ts'
import { afterSilence } from '../patience.ts'
import { STORE_LIMITS, StoreIndeterminate, StoreUnavailable } from '../store.ts'
import type {
  Claim,
  Commit,
  CommitResult,
  Durability,
  IndexEntry,
  RangeBounds,
  RecordName,
  Store,
  StoreHealth,
  StoredDisclosures,
  StoredEvent,
  StoredRecord,
} from '../store.ts'

/** Extra time for an answer that the server sent in time but that has not arrived yet. */
const GRACE_MS = 50
/** Maximum lead, in ms, of a partition's latest time over this process's estimate of the server's time. */
const LAG_MS = 1_000

/**
 * Connects to Redis 7.0 or later, or Valkey: one server, a cluster, or a primary behind sentinels. Every instance of
 * the gateway may open the same store.
 *
 * @throws UnsafeRedis with the setting's name, StoreUnavailable when no server answers or a restore is incomplete
 */
export async function openRedisStore(options: RedisOptions): Promise<Store> {
  let changed = (): void => undefined
  const { topology, durability } = await connectRedis(options, () => changed())
  try {
    await refuseUnfinished(topology, options)
  } catch (error) {
    topology.close()
    throw error
  }
  const store = new RedisStore(topology, durability, options)
  changed = () => store.serversChanged()
  return store
}

class RedisStore implements Store {
  readonly durability: Durability
  readonly #topology: Topology
  readonly #keys: KeySpace
  readonly #calls: Calls
  readonly #confirmations: Confirmations | undefined
  readonly #waking: Waking
  readonly #clock: Clock
  readonly #callMs: number
  readonly #ownTime: boolean
  #closed = false
  /** Commits a change. Each call ends by its deadline. */
  #underWay = 0
  #drained: (() => void) | undefined

  constructor(
    topology: Topology,
    durability: Durability,
    { replicas = 0, callMs = STORE_LIMITS.callMs, clock, deployment }: RedisOptions,
  ) {
    this.durability = durability
    this.#topology = topology
    this.#keys = keySpace(deployment)
    this.#callMs = callMs
    this.#calls = createCalls(topology)
    this.#confirmations = replicas > 0 ? createConfirmations(replicas, Math.ceil(callMs / 2)) : undefined
    this.#ownTime = clock !== undefined
    this.#clock = createServerClock(topology, clock)
    this.#waking = new Waking({
      topology,
      keys: this.#keys,
      version: (partition, record) => this.#version(partition, record),
    })
  }

  /** Moves subscriptions, because another server may now have the keys that callers wait for. */
  serversChanged(): void {
    this.#waking.serversChanged()
  }

  now(): number {
    return this.#clock.now()
  }

  async get(partition: string, type: string, id: string): Promise<StoredRecord | undefined> {
    const key = this.#keysOf(partition).record(type, id)
    checkRecordName(type, id)
    return readRecord(await this.#read(key, ['GET', key]))
  }

  async range(partition: string, index: string, bounds: RangeBounds): Promise<IndexEntry[]> {
    const key = this.#keysOf(partition).index(index)
    checkRange(index, bounds)
    if (bounds.limit === 0) return this.#open([])
    const { reverse = false, after, limit } = bounds
    const [min, max] = [edge(bounds.min, '-inf'), edge(bounds.max, '+inf')]
    if (after !== undefined) {
      const from = [edge(after.score, ''), encodeMember(after.member)]
      const args = [min, max, ...from, reverse ? '1' : '0', String(limit)]
      const entries = readEntries(await this.#script(SCRIPTS.rangeAfter, [key], args, true))
      return reverse ? entries.reverse() : entries
    }
    const ends = reverse ? [max, min, 'BYSCORE', 'REV'] : [min, max, 'BYSCORE']
    return readEntries(
      await this.#read(key, ['ZRANGE', key, ...ends, 'LIMIT', '0', String(limit), 'WITHSCORES']),
    )
  }

  async count(partition: string, index: string): Promise<number> {
    const key = this.#keysOf(partition).index(index)
    checkIndex(index)
    return Number(await this.#read(key, ['ZCOUNT', key, '-inf', '+inf']))
  }

  async charged(partition: string, limit: string, windowMs: number): Promise<number> {
    const key = this.#keysOf(partition).limit(limit)
    checkLimit(limit, windowMs)
    return amountIn(readWindow(await this.#read(key, ['GET', key])), windowMs, this.now())
  }

  async events(partition: string, after: number, limit: number): Promise<StoredEvent[]> {
    const key = this.#keysOf(partition).events
    checkCount('after', after)
    checkCount('limit', limit)
    if (limit === 0) return this.#open([])
    return readEvents(await this.#read(key, ['XRANGE', key, `${after + 1}-0`, '+', 'COUNT', String(limit)]))
  }

  async firstEvent(partition: string): Promise<number> {
    const { head } = this.#keysOf(partition)
    return Number((await this.#read(head, ['HGET', head, 'f'])) ?? 1)
  }

  async disclosures(partition: string, after: number, last: number): Promise<StoredDisclosures[]> {
    const key = this.#keysOf(partition).disclosures
    checkCount('after', after)
    checkCount('last', last)
    if (last <= after) return this.#open([])
    return readDisclosures(await this.#read(key, ['XRANGE', key, `${after + 1}-0`, `${last}-0`]))
  }

  async epoch(partition: string): Promise<string> {
    return String(await this.#script(SCRIPTS.epoch, [this.#keysOf(partition).head], [], true))
  }

  async watch(partition: string, signal: AbortSignal, record?: RecordName): Promise<void> {
    checkPartition(partition)
    if (record !== undefined) checkRecordName(record.type, record.id)
    this.#refuseWhenClosed()
    await this.#waking.wait(partition, signal, record)
  }

  async commit(partition: string, commit: Commit): Promise<CommitResult> {
    checkCommit(partition, commit)
    this.#refuseWhenClosed()
    this.#underWay += 1
    try {
      return await this.#commit(partition, commit)
    } finally {
      this.#underWay -= 1
      if (this.#underWay === 0) this.#drained?.()
    }
  }

  async #commit(partition: string, commit: Commit): Promise<CommitResult> {
    const now = this.now()
    const jump = this.#clock.jumpMs()
    if (jump !== undefined) throw new StoreUnavailable(jumpReason(jump))
    if (now > commit.deadline) return { ok: false, reason: 'late' }
    const end =
      performance.now() +
      Math.min(commit.deadline - now, Math.max(this.#callMs, STORE_LIMITS.callMs)) +
      GRACE_MS
    const { keys, args } = commitArguments(this.#keys.of(partition), commit, {
      askEpoch: this.#confirmations !== undefined,
      ...(this.#ownTime ? { time: now } : {}),
    })
    const script = SCRIPTS.commit
    const answer = await this.#calls.run({
      key: keys[0] as string,
      args: scriptArguments(script, keys, args),
      script,
      ms: end - performance.now(),
      reads: false,
    })
    const result = readCommitReply(answer.reply, commit)
    if (!result.ok) return result
    await this.#confirm(answer, keys[0] as string, result.epoch, end)
    this.#waking.landed(partition, writtenRecords(commit))
    return { ok: true, numbers: result.numbers }
  }

  async claimDue(partition: string, index: string, { now, lease, limit }: Claim): Promise<IndexEntry[]> {
    const keys = this.#keysOf(partition)
    checkClaim(index, { now, lease, limit })
    if (limit === 0) return this.#open([])
    const args = [now, now + lease, limit, this.now() + Math.max(lease, LAG_MS)].map(String)
    const reply = await this.#script(SCRIPTS.claim, [keys.index(index), keys.head], args, false)
    if (reply === null)
      throw new StoreUnavailable("the store's clock is behind the last write of the partition")
    return readEntries(reply)
  }

  /** Returns undefined, because Redis reserves no memory: when it is full, it refuses all writes. */
  shortOfRoom(): undefined {
    return undefined
  }

  async health(): Promise<StoreHealth> {
    if (this.#closed) return { ready: false, reason: 'the store is closed' }
    this.now()
    const jump = this.#clock.jumpMs()
    if (jump !== undefined) return { ready: false, reason: jumpReason(jump) }
    const peers = this.#topology.peers()
    // when one node of a cluster is unavailable, the tenants on the other nodes must still be served
    if (peers.some((peer) => peer.reason() === undefined))
      return { ready: true, ...roomOf(peers.map((peer) => peer.facts())) }
    return { ready: false, reason: peers[0]?.reason() ?? 'no server is known' }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#waking.close()
    if (this.#underWay > 0) await new Promise<void>((resolve) => (this.#drained = resolve))
    this.#topology.close()
  }

  #refuseWhenClosed(): void {
    if (this.#closed) throw new StoreUnavailable('the store is closed')
  }

  #keysOf(partition: string): PartitionKeys {
    checkPartition(partition)
    return this.#keys.of(partition)
  }

  #open<T>(value: T): T {
    this.#refuseWhenClosed()
    return value
  }

  async #read(key: string, args: readonly string[]): Promise<unknown> {
    this.#refuseWhenClosed()
    return (await this.#calls.run({ key, args, ms: this.#callMs, reads: true })).reply
  }

  async #script(
    script: Script,
    keys: readonly [string, ...string[]],
    args: readonly string[],
    reads: boolean,
  ): Promise<unknown> {
    this.#refuseWhenClosed()
    const call = { key: keys[0], args: scriptArguments(script, keys, args), script, ms: this.#callMs, reads }
    return (await this.#calls.run(call)).reply
  }

  /**
   * @throws StoreIndeterminate when the replicas did not confirm in time. The commit is written, but may be lost with
   * its server.
   */
  async #confirm({ peer }: Answer, headKey: string, epoch: string, end: number): Promise<void> {
    if (this.#confirmations === undefined) return
    let timer: NodeJS.Timeout | undefined
    const tooLate = new Promise<boolean>((resolve) => {
      timer = afterSilence(() => resolve(false), Math.max(0, end - performance.now()))
    })
    const confirmed = await Promise.race([this.#confirmations.confirmed(peer, headKey, epoch), tooLate])
    clearTimeout(timer)
    if (confirmed) return
    this.#topology.refresh() // another server may have taken over the replicas
    throw new StoreIndeterminate('the replicas did not confirm in time')
  }

  /** Returns a record's revision, or the time of the partition's last commit. */
  async #version(partition: string, record: RecordName | undefined): Promise<string> {
    const keys = this.#keys.of(partition)
    if (record === undefined) return String(await this.#read(keys.head, ['HGET', keys.head, 't']))
    const key = keys.record(record.type, record.id)
    return String(await this.#read(key, ['GETRANGE', key, '0', '160']))
  }
}

function writtenRecords({ writes }: Commit): RecordName[] {
  return writes.flatMap((write) =>
    write.op === 'put' || write.op === 'delete' ? [{ type: write.type, id: write.id }] : [],
  )
}

function edge(score: number | undefined, otherwise: string): string {
  if (score === undefined) return otherwise
  if (!Number.isFinite(score)) return score > 0 ? '+inf' : '-inf'
  return String(score)
}
