import { createRequire } from 'node:module'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PACKAGE_ROOT } from '../../system/package.ts'
import type { SdkPlaces } from './example-calls.ts'

const SDK = '@countersign/sdk'

/** The SDKs for a program that starts in `cwd`: the installed packages, or the copies in this package. */
export function sdkPlaces(cwd: string): SdkPlaces {
  const own = new URL('dist/bin/sdk.js', PACKAGE_ROOT)
  const python = relative(cwd, fileURLToPath(new URL('clients/python', PACKAGE_ROOT)))
  return {
    typescript: isInstalledFor(cwd) ? SDK : own.href,
    python: python.startsWith('.') ? python : `./${python}`,
  }
}

function isInstalledFor(cwd: string): boolean {
  try {
    createRequire(join(cwd, 'any.js')).resolve(SDK)
    return true
  } catch {
    return false
  }
}
