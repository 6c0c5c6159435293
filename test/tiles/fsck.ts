import { writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { execFile } from 'node:child_process'
import { serveTiles } from '../../src/cli/operate/tile-server.ts'
import type { Place } from '../../src/tiles/place.ts'
import { goProgram } from './go-program.ts'

export const FSCK = goProgram('github.com/transparency-dev/tessera/cmd/fsck@v1.0.4')

/**
 * The size of the log that Tessera's `fsck` accepts; undefined when it accepts none. The program ends with 0 when it
 * fails, and never ends when as many tiles are wrong as it has workers. So its line counts, and `timeout` ends it.
 */
export async function fsck(
  program: string,
  place: Place,
  {
    key,
    keyFile,
    seconds = 120,
  }: { readonly key: string; readonly keyFile: string; readonly seconds?: number },
): Promise<number | undefined> {
  const server = await serveTiles(place, 0)
  try {
    return await fsckAt(program, server.url, { key, keyFile, seconds })
  } finally {
    await server.close()
  }
}

/** The same, of a log that a server of files has. */
export async function fsckAt(
  program: string,
  url: string,
  { key, keyFile, seconds }: { readonly key: string; readonly keyFile: string; readonly seconds: number },
): Promise<number | undefined> {
  writeFileSync(keyFile, `${key}\n`)
  const args = ['--storage_url', url, '--public_key', keyFile, '--ui=false', '-N', '64']
  const ran = await promisify(execFile)('timeout', [String(seconds), program, ...args]).catch(
    (error: { stdout: string; stderr: string }) => error,
  )
  const size = /Successfully fsck'd log with size (\d+)/.exec(`${ran.stdout}${ran.stderr}`)?.[1]
  return size === undefined ? undefined : Number(size)
}
