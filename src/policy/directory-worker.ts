import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { constants, getPriority, setPriority } from 'node:os'
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { prepareDirectory } from './directory.ts'
import { splitBundle, type LoadPart } from './directory-parts.ts'
import type { BundleWorkerData } from './directory-start.ts'

/** Steps of `nice`: between a fair half of a core, which a gateway at work misses, and a fiftieth of one, in which a load would take too long. */
const GIVING_WAY = 12
const LOWEST_PRIORITY = constants.priority.PRIORITY_LOW

/**
 * Lets the gateway's event loop go first where the two share a core. On Linux, 0 means the calling thread only; elsewhere it would be the whole
 * process. The threads that read files are made by whoever reads first and inherit its priority: hence the look at the directory before.
 */
async function giveWay(dir: string): Promise<void> {
  if (process.platform !== 'linux') return
  await stat(dir).catch(() => undefined)
  try {
    setPriority(0, Math.min(getPriority(0) + GIVING_WAY, LOWEST_PRIORITY))
  } catch {
    // Not permitted here: the load is none the worse, only in the way.
  }
}

/** The entry of the worker thread: reads, checks and tests one bundle, sends it, ends. Started by loadBundleInWorker. */
async function serve(port: MessagePort, { dir, inBackground }: BundleWorkerData): Promise<void> {
  const asked = once(port, 'message')
  if (inBackground) await giveWay(dir)
  const prepared = await prepareDirectory(dir)
  await asked
  if (!prepared.ok) {
    const { diagnostics, revision } = prepared
    port.postMessage({ kind: 'failed', diagnostics, revision } satisfies LoadPart)
    return
  }
  for (const part of splitBundle(prepared.ir)) {
    port.postMessage(part)
    if (part.kind !== 'done') await once(port, 'message')
  }
}

if (parentPort) await serve(parentPort, workerData as BundleWorkerData)
