import { printDiagnostics } from '../../policy/report/diagnostics.ts'
import { prepareDirectory } from '../../policy/bundle/directory.ts'
import type { PreparedBundle } from '../../policy/bundle/load.ts'
import { DEFAULT_POLICIES } from './default-policies.ts'
import { EXIT } from '../terminal/failure.ts'

export type SoundBundle = Extract<PreparedBundle, { ok: true }>

/**
 * Returns the bundle of a directory. If the bundle cannot be loaded, prints the findings on standard error, sets exit
 * code 3, and returns undefined.
 */
export async function openBundle(dir: string = DEFAULT_POLICIES): Promise<SoundBundle | undefined> {
  const bundle = await prepareDirectory(dir)
  if (bundle.ok) return bundle
  console.error(printDiagnostics(bundle.diagnostics))
  process.exitCode = EXIT.doesNotCheck
  return undefined
}
