import { spawnSync } from './sync-child.ts'

/** Looks for a program, also where administrators' programs are. */
const PATH = `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`

/** How long a test file should let its set-up take when it may have to install something, ms. */
export const INSTALL_MS = 300_000
/** Time to install one package, s; other callers wait for the installation meanwhile. */
const ONE_PACKAGE_S = 240

/*
 * $1 is the program, $2 its package. No installed package may start a service: policy-rc.d forbids it to Debian's
 * scripts. The script removes that file afterwards when it was not there before. A machine without package lists, or
 * with old ones, fetches them and tries once more.
 */
const INSTALL = `
set -eu
command -v "$1" >/dev/null && exit 0
if [ ! -e /usr/sbin/policy-rc.d ]; then
  trap 'rm -f /usr/sbin/policy-rc.d' EXIT
  trap 'exit 1' TERM
  printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d
  chmod 0755 /usr/sbin/policy-rc.d
fi
install() { apt-get install --yes --quiet --no-install-recommends -o DPkg::Lock::Timeout=120 "$1"; }
install "$2" || { apt-get update --quiet && install "$2"; }
command -v "$1" >/dev/null
`

/**
 * Makes sure that a program of a Debian package is there. It installs a missing package once, however many test files
 * ask at the same time. Throws with the output of apt when it fails: a check that needs the program is never skipped.
 */
export function ensureProgram(program: string, fromPackage: string): void {
  if (has(program)) return
  const env = { ...process.env, PATH, DEBIAN_FRONTEND: 'noninteractive' }
  const bounded = ['timeout', '--kill-after=5', String(ONE_PACKAGE_S), 'sh', '-c', INSTALL, 'sh']
  const args = ['/tmp/countersign-apt.lock', ...bounded, program, fromPackage]
  const { status, stdout, stderr, error } = spawnSync('flock', args, { env, timeout: 2 * INSTALL_MS })
  if (status === 0) return
  const said = error?.message ?? `${stdout}${stderr}`
  throw new Error(
    `\`${program}\` is needed and \`apt-get install ${fromPackage}\` failed, or was not done in ${ONE_PACKAGE_S} s; install it and try again:\n${said}`,
  )
}

const has = (program: string): boolean =>
  spawnSync('sh', ['-c', 'command -v "$1"', 'sh', program], { env: { ...process.env, PATH } }).status === 0

export interface Ran {
  readonly status: number | null
  readonly out: string
  readonly err: string
}

/** Runs a program to its end. */
export function run(
  program: string,
  args: readonly string[],
  { cwd, env = {}, input = '' }: { cwd?: string; env?: Record<string, string>; input?: string } = {},
): Ran {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    env: { ...process.env, PATH, ...env },
    input,
    ...(cwd === undefined ? {} : { cwd }),
  })
  if (error) throw error
  return { status, out: stdout, err: stderr }
}
