import { compactStore } from '../../app/store.ts'
import type { Config } from '../../settings/config.ts'
import { CliFailure, EXIT } from '../terminal/failure.ts'
import { withProgress } from '../terminal/progress.ts'
import { bytesText } from '../terminal/visible-text.ts'
import { orExplain } from './store-failure.ts'

/** `countersign store compact`: returns the free pages of a stopped embedded store to the disk. */
export async function compactStoreOf(config: Config): Promise<void> {
  if (config.store.kind !== 'embedded')
    throw new CliFailure('`store compact` is for the embedded store: Redis returns freed memory by itself', {
      exit: EXIT.usage,
    })
  const { before, after } = await orExplain('compact the store', () =>
    withProgress('Compacting the store', () => compactStore(config)),
  )
  console.log(`${config.store.shown}: ${bytesText(before)} before, ${bytesText(after)} after`)
}
