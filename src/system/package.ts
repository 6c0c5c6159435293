import { readFileSync } from 'node:fs'

/** The root of the package, two folders up from this file: in src/, in dist/, and in the bundle in dist/bin/. */
export const PACKAGE_ROOT = new URL('../../', import.meta.url)

/** The version in package.json. */
export function packageVersion(): string {
  const text = readFileSync(new URL('package.json', PACKAGE_ROOT), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
