import { type Checkpoint, openCheckpoint, readVerifierKey } from '../domain/checkpoint.ts'

/** The checkpoint in a note that one of the keys has signed. */
export function openByAny(note: string, verifierKeys: readonly string[]): Checkpoint | undefined {
  for (const key of verifierKeys) {
    const checkpoint = openCheckpoint(note, key)
    if (checkpoint !== undefined) return checkpoint
  }
  return undefined
}

/**
 * The fault of a note that none of these keys signed. A note with the name of another log suggests that two files were
 * mixed up.
 */
export function unsigned(note: string, [verifierKey = '']: readonly string[]): string {
  if (note.includes('\r\n')) return 'has carriage returns: the file was converted after it was written'
  const [origin = ''] = note.split('\n', 1)
  const { name } = readVerifierKey(verifierKey) ?? {}
  if (name === undefined || origin === name || !origin.startsWith('countersign/'))
    return 'is not signed by this key'
  return `belongs to \`${origin}\`, but the key belongs to \`${name}\``
}

/** The tenant in the origin of a log. The origin ends with the tenant (docs/decisions/0016-checkpoints.md). */
export function tenantOf(origin: string | undefined): string | undefined {
  return /^countersign\/[^/]+\/([^/]+)(?:\/[1-9]\d*)?$/.exec(origin ?? '')?.[1]
}
