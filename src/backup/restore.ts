import type { StoreRestore } from '../store/archive.ts'
import { DamagedBackup, type Totals } from './format.ts'
import { type Item, readBackup } from './read.ts'
import { footerOf } from './write.ts'

/** The error when the restored store differs from the backup. */
export class LostInRestore extends Error {
  override readonly name = 'LostInRestore'
}

/**
 * Restores a backup into an empty store: loads it, starts a new epoch (S19), reads all of it again and compares. A
 * gateway can open the store only after this comparison. After a failure, the store is empty again.
 *
 * @param signal ends the restore with the signal's reason; the reader of the source ends the source
 * @throws DamagedBackup, LostInRestore, and the store's errors
 */
export async function restoreBackup(
  source: AsyncIterable<Uint8Array>,
  restore: StoreRestore,
  signal?: AbortSignal,
): Promise<readonly Totals[]> {
  let end: Item & { readonly item: 'end' }
  try {
    end = await load(source, restore)
    await restore.settle(end.time)
    await compare(restore, end, signal)
  } catch (error) {
    await restore.abandon()
    throw error
  }
  await restore.publish()
  return end.totals
}

/** Reads a backup to its end and discards it. @throws DamagedBackup */
export async function verifyBackup(source: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of readBackup(source));
}

async function load(
  source: AsyncIterable<Uint8Array>,
  restore: StoreRestore,
): Promise<Item & { readonly item: 'end' }> {
  for await (const item of readBackup(source)) {
    if (item.item === 'end') return item
    await restore.load(item.partition, item.entry)
  }
  throw new DamagedBackup('the file was cut off')
}

/** Compares by writing the store out again and discarding the output. Equal content yields an equal last line. */
async function compare(
  restore: StoreRestore,
  { totals, footer }: Item & { item: 'end' },
  signal: AbortSignal | undefined,
): Promise<void> {
  const found = await footerOf(restore, signal)
  if (found.footer === footer) return
  const same = JSON.stringify(found.totals) === JSON.stringify(totals)
  throw new LostInRestore(
    same
      ? 'the counts and evidence numbers match the backup, but the content does not'
      : 'the counts or evidence numbers in the store differ from those of the backup',
  )
}
