import { once } from 'node:events'
import { giveWayAsProcess } from '../../system/lower-priority.ts'
import { prepareDirectory } from './directory.ts'
import { type LoadPart, splitBundle } from './parts.ts'
import { IN_BACKGROUND } from './start.ts'

/** In which a load takes half a second longer; a fair half of a core a gateway at work would miss. */
const GIVING_WAY = 12

/** The entry of the child process: reads, checks and tests one bundle, sends it, ends. Started by startBundleChild. */
async function serve(dir: string, inBackground: boolean): Promise<void> {
  // Whoever stops a gateway may stop all processes that belong to it, and this one ends with the gateway.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  process.once('disconnect', () => process.exit())
  // Until then it stays: what it sent last may be read only after its end was seen.
  process.on('message', () => undefined)
  const asked = once(process, 'message')
  if (inBackground) giveWayAsProcess(GIVING_WAY)
  const prepared = await prepareDirectory(dir)
  await asked
  if (!prepared.ok) {
    const { diagnostics, revision } = prepared
    send({ kind: 'failed', diagnostics, revision })
    return
  }
  for (const part of splitBundle(prepared.ir)) {
    send(part)
    if (part.kind !== 'done') await once(process, 'message')
  }
}

const send = (part: LoadPart): void => void process.send?.(part)

const [dir, when] = process.argv.slice(2)
if (dir !== undefined) await serve(dir, when === IN_BACKGROUND)
