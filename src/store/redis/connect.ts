import type { ClockSources } from '../clock.ts'
import type { Password, RedisAddress } from './address.ts'
import { createCalls } from './calls.ts'
import { FORMAT, otherFormat } from '../../domain/format.ts'
import { connected } from './connection.ts'
import { keysLike } from './dump.ts'
import { type KeySpace, keySpace } from './keys.ts'
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

/**
 * Refuses an incomplete store, and keys without the mark of this format. With `marks`, an empty
 * place gets the mark.
 *
 * @throws StoreUnavailable while a restore is incomplete; an Error with a one-sentence message for another format
 */
export async function refuseForeign(
  topology: Topology,
  { callMs, deployment }: RedisOptions,
  { marks }: { readonly marks: boolean },
): Promise<void> {
  const calls = createCalls(topology)
  const space = keySpace(deployment)
  const ask = async (key: string, ...args: string[]): Promise<unknown> => {
    const ms = callMs ?? STORE_LIMITS.callMs
    return (await calls.run({ key, args, reads: args[0] === 'GET', ms })).reply
  }
  if ((await ask(space.restoring, 'GET', space.restoring)) !== null)
    throw new StoreUnavailable('a restore into this store is under way, or was broken off: complete it first')
  const format = async (): Promise<string | null> =>
    (await ask(space.format, 'GET', space.format)) as string | null
  if ((await format()) === FORMAT) return
  if (!(await hasKeys(topology, space))) {
    if (marks) await ask(space.format, 'SET', space.format, FORMAT, 'NX')
    return
  }
  // another gateway may have marked the place, and written, since the first look
  const found = await format()
  if (found !== FORMAT) throw new Error(otherFormat('the store', found))
}

async function hasKeys(topology: Topology, { all }: KeySpace): Promise<boolean> {
  for (const peer of topology.peers())
    for await (const keys of keysLike(connected(peer), all)) if (keys.length > 0) return true
  return false
}
