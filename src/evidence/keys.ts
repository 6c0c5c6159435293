import { type Checkpoint, openCheckpoint, readVerifierKey } from '../domain/checkpoint.ts'

/** The checkpoint in a note that one of the keys has signed. */
export function openByAny(note: string, verifierKeys: readonly string[]): Checkpoint | undefined {
  for (const key of verifierKeys) {
    const checkpoint = openCheckpoint(note, key)
    if (checkpoint !== undefined) return checkpoint
  }
  return undefined
}

/** What is said of a note that none of the keys has signed. Of another log the checkpoint may be a good one: a file was taken for another. */
export function unsigned(note: string, [verifierKey = '']: readonly string[]): string {
  if (note.includes('\r\n')) return 'has carriage returns: the file was converted after it was written'
  const [origin = ''] = note.split('\n', 1)
  const { name } = readVerifierKey(verifierKey) ?? {}
  if (name === undefined || origin === name || !origin.startsWith('countersign/'))
    return 'is not signed by this key'
  return `is of \`${origin}\`, and the key of \`${name}\``
}

/** The origin of a log ends with its tenant (docs/decisions/0016-checkpoints.md). */
export function tenantOf(origin: string | undefined): string | undefined {
  return /^countersign\/[^/]+\/([^/]+)$/.exec(origin ?? '')?.[1]
}
