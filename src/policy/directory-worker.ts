import { once } from 'node:events'
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { prepareDirectory } from './directory.ts'
import { splitBundle, type LoadPart } from './directory-parts.ts'

/** The entry of the worker thread: reads, checks and tests one bundle, sends it, ends. Started by loadBundleInWorker. */
async function serve(port: MessagePort, dir: string): Promise<void> {
  const asked = once(port, 'message')
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

if (parentPort) await serve(parentPort, (workerData as { readonly dir: string }).dir)
