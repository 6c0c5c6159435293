import { once } from 'node:events'
import { giveWayAsProcess } from '../../system/lower-priority.ts'
import { readDirectoryAlone } from './directory-alone.ts'
import { prepareDirectory } from './directory.ts'
import type { BundleText } from './check.ts'
import { prepareBundle, type PreparedBundle } from './load.ts'
import { type LoadPart, splitBundle } from './parts.ts'
import { FROM_MESSAGE, IN_BACKGROUND } from './start.ts'

/**
 * The `nice` value of a background load. The load takes half a second longer, but leaves most of the core to a busy
 * gateway.
 */
const GIVING_WAY = 12

/** Reads, checks, tests and sends one bundle, and then exits. startBundleChild starts this process. */
async function serve(dir: string, inBackground: boolean): Promise<void> {
  // A signal that stops a gateway may reach all of its processes. This process ignores signals and exits when the
  // gateway does.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  process.once('disconnect', () => process.exit())
  // The child runs until the gateway disconnects, because the gateway may see an exit before it reads the last part.
  process.on('message', () => undefined)
  const asked = once(process, 'message')
  if (inBackground) giveWayAsProcess(GIVING_WAY)
  const prepared = dir === FROM_MESSAGE ? await prepareFirst(asked) : await prepareDirectory(dir)
  await asked
  if (!prepared.ok) {
    const { diagnostics, revision } = prepared
    send({ kind: 'failed', diagnostics, revision, newer: await readDirectoryAlone(dir) })
    return
  }
  for (const part of splitBundle(prepared.ir)) {
    send(part)
    if (part.kind !== 'done') await once(process, 'message')
  }
}

/** Prepares the files of the first message. */
async function prepareFirst(asked: Promise<unknown[]>): Promise<PreparedBundle> {
  const [texts] = await asked
  return prepareBundle(texts as readonly BundleText[], { now: Date.now() })
}

const send = (part: LoadPart): void => void process.send?.(part)

const [dir, when] = process.argv.slice(2)
if (dir !== undefined) await serve(dir, when === IN_BACKGROUND)
