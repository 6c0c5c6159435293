import { open } from 'node:fs/promises'

/** Writes a file, or the names in a directory, to the disk. */
export async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
