import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { giveWay } from '../system/lower-priority.ts'
import { parseAllowed } from './address.ts'
import { createOutbound } from './outbound.ts'
import type { Asked, Done, ThreadData } from './outbound-thread.ts'

/**
 * The steps by which the priority of deliveries is lower, because deliveries may wait a little but decisions may not.
 * With a third of a core, the thread makes about a thousand deliveries per second.
 */
const GIVING_WAY = 5

/**
 * The entry of the thread that makes deliveries, with the guard and its connections. createOutboundThread starts it.
 */
function serve(port: MessagePort, { allowed, ...trust }: ThreadData): void {
  giveWay(GIVING_WAY)
  const outbound = createOutbound({ allowed: parseAllowed(allowed), ...trust })
  const underWay = new Map<number, AbortController>()

  const post = async ({ id, url, sending }: Asked & { readonly kind: 'post' }): Promise<void> => {
    const stop = new AbortController()
    underWay.set(id, stop)
    const sent = await outbound.post(url, { ...sending, signal: stop.signal })
    underWay.delete(id)
    port.postMessage({ id, sent } satisfies Done)
  }

  port.on('message', (asked: Asked) => {
    if (asked.kind === 'stop') underWay.get(asked.id)?.abort()
    else void post(asked)
  })
}

if (parentPort) serve(parentPort, workerData as ThreadData)
