import { createHash } from 'node:crypto'
import { checkDirectory } from '../check/directory.ts'
import type { NewerDirectory } from '../language/snapshot.ts'
import { parseSource } from '../yaml/parse.ts'
import { createReader } from '../yaml/shape.ts'
import { createFindings, createSource } from '../yaml/source.ts'
import { listBundle, readListed } from './files.ts'
import { verifyLock } from './lock.ts'
import { decodeText } from './text.ts'

/*
 * The directory of a bundle that does not load. It takes away without the other files (docs/operations.md), if it is
 * sound by itself and is the file that the manifest names.
 */

const PATH = 'directory.yaml'

/** The directory file; undefined when it cannot be read, or is not the file of the manifest. */
export async function readDirectoryFile(
  dir: string,
): Promise<{ readonly bytes: Buffer; readonly digest: string } | undefined> {
  const { files, lock } = await listBundle(dir)
  const file = files.find(({ path }) => path === PATH)
  const bytes = file && (await readListed(file))
  if (bytes === undefined) return undefined
  const digest = createHash('sha256').update(bytes).digest('hex')
  if (lock === undefined) return { bytes, digest }
  const manifest = await readListed(lock)
  if (manifest === undefined) return undefined
  const wrong = verifyLock(manifest.toString('utf8'), [{ path: PATH, sha256: digest }])
  const isOurs = wrong.some(({ code, file: named }) => code === 'bad-lock' || named === PATH)
  return isOurs ? undefined : { bytes, digest }
}

/** The checked directory; undefined when the file does not pass its own check. Never rejects. */
export async function readDirectoryAlone(dir: string): Promise<NewerDirectory | undefined> {
  const read = await readDirectoryFile(dir).catch(() => undefined)
  const decoded = read && decodeText(PATH, read.bytes)
  if (read === undefined || decoded?.ok !== true) return undefined
  const findings = createFindings()
  const source = createSource(PATH, decoded.text)
  const doc = parseSource(source, findings)
  const directory = doc && checkDirectory(createReader(source, findings), doc)
  return directory === undefined || findings.failed ? undefined : { digest: read.digest, directory }
}
