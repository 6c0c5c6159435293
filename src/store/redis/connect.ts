import type { ClockSources } from '../clock.ts'
import type { Password, RedisAddress } from './address.ts'
import { createCalls } from './calls.ts'
import { keySpace } from './keys.ts'
import { durabilityOf, inOneSentence, problemsOf, type Wanted } from './settings.ts'
import { createTopology, type Topology } from './topology.ts'
import { type Durability, STORE_LIMITS, StoreUnavailable } from '../store.ts'

export interface RedisOptions {
  readonly address: RedisAddress
  /** The name of the deployment, which is part of the keys. */
  readonly deployment?: string
  readonly sentinelPassword?: Password
  /** Replicas that must confirm a commit before it counts (WAIT). Default 0. */
  readonly replicas?: number
  /** `async` accepts a store that may lose the last seconds. */
  readonly durability?: 'async'
  /** Unsafe settings accepted by name (settings.ts). */
  readonly accept?: Wanted['accept']
  /** Maximum duration, in ms, of a read, of a claim, and of a wait for replicas. */
  readonly callMs?: number
  /** A clock that replaces the server's. All processes that open the store must share it. */
  readonly clock?: ClockSources
}

/** The reason why no server with keys is known. */
const NOBODY = {
  single: 'no server is known',
  sentinel: 'no sentinel that answers knows a primary by this name',
  cluster: 'no node of the cluster answers, or the servers are not a cluster',
} as const

/** The error for server settings with which the store cannot keep its promises. */
export class UnsafeRedis extends Error {
  override readonly name = 'UnsafeRedis'
}

export interface ConnectedRedis {
  readonly topology: Topology
  readonly durability: Durability
}

/**
 * Connects to the servers and checks that their settings let the store keep its promises.
 *
 * @throws UnsafeRedis, StoreUnavailable
 */
export async function connectRedis(
  options: RedisOptions,
  onChange: () => void = () => undefined,
): Promise<ConnectedRedis> {
  const { address, sentinelPassword, durability } = options
  const wanted: Wanted = {
    replicas: options.replicas ?? 0,
    accept: options.accept ?? [],
    prefix: keySpace(options.deployment).prefix,
    failover: address.kind !== 'single',
    ...(durability === undefined ? {} : { durability }),
  }
  const topology = createTopology({
    address,
    wanted,
    onChange,
    ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
  })
  await topology.tried
  const peers = topology.peers()
  const facts = peers.map((peer) => peer.facts()).filter((one) => one !== undefined)
  const problem = inOneSentence(facts.flatMap((one) => problemsOf(one, wanted)))
  const silence =
    peers.length === 0 ? NOBODY[address.kind] : peers.find((peer) => peer.reason() !== undefined)?.reason()
  if (problem !== undefined || silence !== undefined) {
    topology.close()
    throw problem === undefined ? new StoreUnavailable(silence) : new UnsafeRedis(problem)
  }
  const levels = facts.map((one) => durabilityOf(one, wanted))
  const weakest =
    (['async', 'replicated', 'fsync'] as const).find((level) => levels.includes(level)) ?? 'async'
  return { topology, durability: weakest }
}

/** Refuses an incomplete store. @throws StoreUnavailable while a restore is incomplete */
export async function refuseUnfinished(
  topology: Topology,
  { callMs, deployment }: RedisOptions,
): Promise<void> {
  const key = keySpace(deployment).restoring
  const call = { key, args: ['GET', key], reads: true, ms: callMs ?? STORE_LIMITS.callMs }
  if ((await createCalls(topology).run(call)).reply !== null)
    throw new StoreUnavailable('a restore into this store is under way, or was broken off: complete it first')
}
