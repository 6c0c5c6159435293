import { restoreBackup } from '../../src/backup/restore.ts'
import { type Sink, writeBackup } from '../../src/backup/write.ts'
import type { StoreArchive, StoreRestore } from '../../src/store/archive.ts'

/** A backup in memory. */
export async function backupOf(archive: StoreArchive): Promise<string> {
  let bytes = Buffer.alloc(0)
  const sink: Sink = {
    write: async (text) => void (bytes = Buffer.concat([bytes, Buffer.from(text)])),
    position: () => bytes.length,
    rewind: async (position) => void (bytes = bytes.subarray(0, position)),
  }
  try {
    await writeBackup(archive, sink)
  } finally {
    await archive.close()
  }
  return bytes.toString()
}

/** In pieces of `size` bytes, as a stream may bring them. */
export async function* inPieces(text: string | Buffer, size = 1_000): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

export async function restoreFrom(text: string | Buffer, restore: StoreRestore): Promise<void> {
  await restoreBackup(inPieces(text), restore)
}
