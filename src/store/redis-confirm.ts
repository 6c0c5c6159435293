import { type Peer, SILENCE_MS, within } from './redis-peer.ts'
import { SCRIPTS } from './redis-scripts.ts'

/*
 * Replicas confirm what was written (WAIT). A WAIT holds up its connection, so it has one of its own, and all commits that landed
 * while one was under way share the next. The barrier in front of it names the epoch: a server of another epoch does not have the
 * commit, whatever its replicas say (S19).
 */
export interface Confirmations {
  /** True when `replicas` of them have everything that the server had written before this call, in this epoch. Never rejects. */
  confirmed(peer: Peer, headKey: string, epoch: string): Promise<boolean>
}

interface Passenger {
  readonly headKey: string
  readonly epoch: string
  readonly settle: (confirmed: boolean) => void
}

interface Line {
  waiting: Passenger[]
  busy: boolean
}

export function createConfirmations(replicas: number, waitMs: number): Confirmations {
  const lines = new WeakMap<Peer, Line>()

  const drive = async (peer: Peer, line: Line): Promise<void> => {
    line.busy = true
    while (line.waiting.length > 0) {
      const group = line.waiting
      line.waiting = []
      const epoch = await barrier(peer, (group[0] as Passenger).headKey).catch(() => undefined)
      for (const { settle, epoch: own } of group) settle(serverOf(own) === epoch)
    }
    line.busy = false
  }

  /** The server's part of the epoch, when enough replicas confirmed. The script goes with its text: nothing may come between it and WAIT. */
  const barrier = async (peer: Peer, headKey: string): Promise<string | undefined> => {
    const connection = await peer.waiter()
    try {
      const asked = Promise.all([
        connection.sendCommand(['EVAL', SCRIPTS.barrier.source, '1', headKey, '']),
        connection.sendCommand(['WAIT', String(replicas), String(waitMs)]),
      ])
      const [epoch, count] = await within(asked, waitMs + SILENCE_MS)
      return Number(count) >= replicas ? serverOf(String(epoch)) : undefined
    } catch (error) {
      connection.destroy()
      throw error
    }
  }

  return {
    confirmed(peer, headKey, epoch) {
      const line = lines.get(peer) ?? { waiting: [], busy: false }
      lines.set(peer, line)
      return new Promise((settle) => {
        line.waiting.push({ headKey, epoch, settle })
        if (!line.busy) void drive(peer, line)
      })
    },
  }
}

/** An epoch is `<generation of the partition>.<replication id of the server>`. */
function serverOf(epoch: string): string {
  return epoch.slice(epoch.indexOf('.') + 1)
}
