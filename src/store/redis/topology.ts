import type { Host, Password, RedisAddress } from './address.ts'
import { type Connection, connect, Peer, SILENCE_MS } from './connection.ts'
import { createSentinels, type Sentinels } from './sentinels.ts'
import { parseSlots, type Slots, slotOf } from './slots.ts'
import type { Wanted } from './settings.ts'
import { within } from '../patience.ts'

/** The servers, the keys of each server, and the connections to the servers. */
export interface Topology {
  /** The server of the key, by the latest known topology. The server may not be connected. */
  peerOf(key: string): Peer | undefined
  /** The server at an address that a redirection named. */
  peerAt(host: Host): Peer
  /** All servers that have keys. */
  peers(): Peer[]
  /** Refreshes the topology soon, because it seems to have changed. */
  refresh(): void
  /** Resolves when every known server was tried once. */
  readonly tried: Promise<void>
  close(): void
}

export interface TopologyOptions {
  readonly address: RedisAddress
  readonly wanted: Wanted
  readonly sentinelPassword?: Password
  /** Called when servers were added, removed, or became usable or unusable. */
  readonly onChange: () => void
}

/** The refresh interval while every server is usable, and the interval while a server is unusable. */
const LOOK_EVERY_MS = 5_000
const LOOK_AGAIN_MS = 500

export function createTopology(options: TopologyOptions): Topology {
  const { kind, hosts } = options.address
  if (kind === 'cluster') return new ClusterTopology(options)
  return kind === 'sentinel' ? new SentinelTopology(options) : new FixedTopology(options, hosts[0] as Host)
}

/** Servers by address. Servers that no longer have keys are disconnected. */
class Peers {
  readonly #options: TopologyOptions
  readonly #peers = new Map<string, Peer>()
  readonly #onChange: () => void

  constructor(options: TopologyOptions, onChange: () => void) {
    this.#options = options
    this.#onChange = onChange
  }

  at(host: Host): Peer {
    const name = nameOf(host)
    let peer = this.#peers.get(name)
    if (peer === undefined) {
      const { address, wanted } = this.#options
      peer = new Peer({ ...address, host, wanted, onChange: this.#onChange })
      this.#peers.set(name, peer)
    }
    return peer
  }

  all(): Peer[] {
    return [...this.#peers.values()]
  }

  keepOnly(hosts: readonly Host[]): void {
    const kept = new Set(hosts.map(nameOf))
    const gone = [...this.#peers].filter(([name]) => !kept.has(name))
    for (const [name] of gone) this.#peers.delete(name)
    for (const [, peer] of gone) peer.close()
  }

  close(): void {
    this.keepOnly([])
  }
}

class FixedTopology implements Topology {
  readonly #peer: Peer
  readonly tried: Promise<void>

  constructor(options: TopologyOptions, host: Host) {
    this.#peer = new Peers(options, options.onChange).at(host)
    this.tried = this.#peer.tried
  }

  peerOf = (): Peer => this.#peer
  peerAt = (): Peer => this.#peer
  peers = (): Peer[] => [this.#peer]
  refresh = (): void => undefined
  close = (): void => this.#peer.close()
}

/** Looks for changes at intervals, and immediately on request. `look` must not throw. */
class Lookout {
  readonly #look: () => Promise<void>
  readonly #calm: () => boolean
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  /** Results that arrive after `close` are discarded. */
  closed = false

  constructor(look: () => Promise<void>, calm: () => boolean) {
    this.#look = look
    this.#calm = calm
  }

  now(): Promise<void> {
    if (this.closed) return Promise.resolve()
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
      this.#later()
    })
    return this.#looking
  }

  close(): void {
    this.closed = true
    clearTimeout(this.#timer)
  }

  #later(): void {
    clearTimeout(this.#timer)
    if (this.closed) return
    const pause = this.#calm() ? LOOK_EVERY_MS : LOOK_AGAIN_MS
    this.#timer = setTimeout(() => void this.now(), pause * (0.5 + Math.random() / 2))
  }
}

/** Asks the sentinels for the primary (https://redis.io/docs/latest/develop/reference/sentinel-clients/). */
class SentinelTopology implements Topology {
  readonly tried: Promise<void>
  readonly #options: TopologyOptions
  readonly #peers: Peers
  readonly #lookout: Lookout
  readonly #sentinels: Sentinels
  #primary: Peer | undefined

  constructor(options: TopologyOptions) {
    this.#options = options
    this.#sentinels = createSentinels(options)
    this.#peers = new Peers(options, () => {
      if (this.#primary?.reason() !== undefined) this.refresh()
      options.onChange()
    })
    this.#lookout = new Lookout(
      () => this.#look(),
      () => this.#primary !== undefined && this.#primary.reason() === undefined,
    )
    this.tried = this.#lookout.now().then(() => this.#primary?.tried)
  }

  peerOf = (): Peer | undefined => this.#primary
  peerAt = (host: Host): Peer => this.#peers.at(host)
  peers = (): Peer[] => (this.#primary === undefined ? [] : [this.#primary])
  refresh = (): void => void this.#lookout.now()

  close(): void {
    this.#lookout.close()
    this.#sentinels.close()
    this.#primary = undefined
    this.#peers.close()
  }

  async #look(): Promise<void> {
    const host = await this.#sentinels.primary()
    if (host === undefined || this.#lookout.closed) return
    const primary = this.#peers.at(host)
    if (primary === this.#primary) return
    this.#primary = primary
    this.#peers.keepOnly([host])
    this.#options.onChange()
  }
}

/** Asks any node for the primary of each slot (CLUSTER SLOTS). */
class ClusterTopology implements Topology {
  readonly tried: Promise<void>
  readonly #options: TopologyOptions
  readonly #peers: Peers
  readonly #lookout: Lookout
  #slots: readonly (Host | undefined)[] = []
  #primaries: readonly Host[] = []

  constructor(options: TopologyOptions) {
    this.#options = options
    this.#peers = new Peers(options, () => {
      if (!this.#calm()) this.refresh()
      options.onChange()
    })
    this.#lookout = new Lookout(
      () => this.#look(),
      () => this.#calm(),
    )
    this.tried = this.#lookout.now().then(async () => {
      await Promise.all(this.peers().map((peer) => peer.tried))
    })
  }

  peerOf(key: string): Peer | undefined {
    const host = this.#slots[slotOf(key)]
    return host && this.#peers.at(host)
  }

  peerAt = (host: Host): Peer => this.#peers.at(host)
  peers = (): Peer[] => this.#primaries.map((host) => this.#peers.at(host))
  refresh = (): void => void this.#lookout.now()

  close(): void {
    this.#lookout.close()
    this.#slots = []
    this.#primaries = []
    this.#peers.close()
  }

  #calm(): boolean {
    return this.#primaries.length > 0 && this.peers().every((peer) => peer.reason() === undefined)
  }

  async #look(): Promise<void> {
    const slots = await this.#ask()
    if (slots === undefined || this.#lookout.closed) return
    this.#slots = slots.bySlot
    this.#primaries = slots.primaries
    this.#peers.keepOnly(slots.primaries)
    for (const host of slots.primaries) this.#peers.at(host)
    this.#options.onChange()
  }

  /** The slots as reported by the connected nodes, or by the nodes of the address when no usable answer arrives. */
  async #ask(): Promise<Slots | undefined> {
    const connected = this.peers().map(async (peer) => {
      const connection = peer.connection()
      return connection && viewFrom(connection, peer.host)
    })
    return newest(await Promise.all(connected)) ?? firstHealthy(this.#seeds())
  }

  #seeds(): Promise<View | undefined>[] {
    const { address } = this.#options
    return address.hosts.map(async (host) => {
      try {
        const seed = await connect({ ...address, host }, () => undefined)
        const view = await viewFrom(seed, host)
        seed.destroy()
        return view
      } catch {
        return undefined
      }
    })
  }
}

/** One node's view of the cluster. */
interface View {
  readonly slots: Slots
  readonly epoch: number
  readonly healthy: boolean
}

/**
 * The slots as reported by the node with the highest epoch, which knows the latest failover. A partitioned node still
 * reports the old slots.
 */
function newest(views: readonly (View | undefined)[]): Slots | undefined {
  const rank = (view: View): number => view.epoch + (view.healthy ? 0.5 : 0)
  const known = views.filter((view) => view !== undefined)
  return known.toSorted((a, b) => rank(b) - rank(a))[0]?.slots
}

/** The first node with a working connection, so that a frozen node does not delay callers. */
async function firstHealthy(views: readonly Promise<View | undefined>[]): Promise<Slots | undefined> {
  const healthy = views.map(async (view) => {
    const known = await view
    if (known?.healthy !== true) throw new Error('knows nothing')
    return known.slots
  })
  return Promise.any(healthy).catch(async () => newest(await Promise.all(views)))
}

async function viewFrom(connection: Connection, host: Host): Promise<View | undefined> {
  try {
    const asked = Promise.all([
      connection.sendCommand(['CLUSTER', 'SLOTS']),
      connection.sendCommand(['CLUSTER', 'INFO']),
    ])
    const [answer, info] = await within(asked, SILENCE_MS)
    const slots = parseSlots(answer, host)
    const epoch = Number(/cluster_current_epoch:(\d+)/.exec(String(info))?.[1] ?? 0)
    return slots && { slots, epoch, healthy: String(info).includes('cluster_state:ok') }
  } catch {
    return undefined
  }
}

function nameOf({ host, port }: Host): string {
  return `${host}|${port}`
}
