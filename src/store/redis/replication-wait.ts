import { type Connection, ELSEWHERE, type Peer, SILENCE_MS } from './connection.ts'
import { SCRIPTS } from './scripts.ts'
import { within } from '../patience.ts'

/*
 * Confirmations by replicas (WAIT). WAIT blocks its connection, and therefore has a separate connection. All commits
 * that land during one WAIT share the next WAIT. The barrier before a WAIT reads the epoch, because a server of another
 * epoch lacks the commit, whatever its replicas confirm (S19).
 */
export interface Confirmations {
  /**
   * True when `replicas` replicas have everything that the server had written before this call, in this epoch. Never
   * rejects.
   */
  confirmed(peer: Peer, headKey: string, epoch: string): Promise<boolean>
}

interface Waiter {
  readonly headKey: string
  readonly epoch: string
  readonly settle: (confirmed: boolean) => void
}

interface Confirmed {
  /** The server's part of the epoch. */
  readonly epoch: string
  /** Heads that have moved to another node. */
  readonly elsewhere: ReadonlySet<string>
}

interface Line {
  waiting: Waiter[]
  busy: boolean
}

export function createConfirmations(replicas: number, waitMs: number): Confirmations {
  const lines = new WeakMap<Peer, Line>()

  const drive = async (peer: Peer, line: Line): Promise<void> => {
    line.busy = true
    while (line.waiting.length > 0) {
      const group = line.waiting
      line.waiting = []
      const server = await barrier(peer, new Set(group.map(({ headKey }) => headKey))).catch(() => undefined)
      for (const { settle, headKey, epoch } of group)
        settle(server?.epoch === serverOf(epoch) && !server.elsewhere.has(headKey))
    }
    line.busy = false
  }

  /**
   * Writes one barrier for all waiters, at the first head that is still on this node, so that a moved slot does not
   * delay others. Returns undefined when too few replicas confirmed.
   */
  const barrier = async (peer: Peer, headKeys: ReadonlySet<string>): Promise<Confirmed | undefined> => {
    const connection = await peer.waiter()
    const elsewhere = new Set<string>()
    try {
      for (const headKey of headKeys) {
        const answer =
          (await written(connection, headKey, [])) ?? (await written(connection, headKey, [['ASKING']]))
        if (answer !== undefined)
          return answer.replicas >= replicas ? { epoch: answer.epoch, elsewhere } : undefined
        elsewhere.add(headKey)
      }
      return undefined
    } catch (error) {
      connection.destroy()
      throw error
    }
  }

  /**
   * Writes the barrier. Returns undefined when this node does not have the key. A slot that is moving to this node
   * needs ASKING. The script is sent as text, because no other command may run between the script and WAIT.
   */
  const written = async (
    connection: Connection,
    headKey: string,
    before: readonly (readonly string[])[],
  ): Promise<{ epoch: string; replicas: number } | undefined> => {
    const commands = [
      ...before,
      ['EVAL', SCRIPTS.barrier.source, '1', headKey, ''],
      ['WAIT', String(replicas), String(waitMs)],
    ]
    try {
      const asked = Promise.all(commands.map((command) => connection.sendCommand(command)))
      const [epoch, count] = (await within(asked, waitMs + SILENCE_MS)).slice(-2)
      return { epoch: serverOf(String(epoch)), replicas: Number(count) }
    } catch (error) {
      if (ELSEWHERE.test((error as Error).message)) return undefined
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
