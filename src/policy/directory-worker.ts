import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { giveWay } from '../give-way.ts'
import { prepareDirectory } from './directory.ts'
import { splitBundle, type LoadPart } from './directory-parts.ts'
import type { BundleWorkerData } from './directory-start.ts'

/** In which a load takes half a second longer; a fair half of a core a gateway at work would miss. */
const GIVING_WAY = 12

/** The entry of the worker thread: reads, checks and tests one bundle, sends it, ends. Started by loadBundleInWorker. */
async function serve(port: MessagePort, { dir, inBackground }: BundleWorkerData): Promise<void> {
  const asked = once(port, 'message')
  if (inBackground) {
    // the threads that read files are made by whoever reads first, and inherit its priority
    await stat(dir).catch(() => undefined)
    giveWay(GIVING_WAY)
  }
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
