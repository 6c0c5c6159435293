import { accessSync, constants, readFileSync, realpathSync, statSync, type Stats } from 'node:fs'
import { X509Certificate } from 'node:crypto'
import { dirname, join, resolve } from 'node:path'
import { type Config, type NamedFile } from '../../../settings/config.ts'
import { certificateFinding } from './certificates.ts'
import { error, type Finding, ok, warning } from './finding.ts'

const OTHERS = 0o007
const OTHERS_WRITE = 0o002
const OTHERS_ENTER = 0o001
const GROUP_AND_OTHERS = 0o077

/** Checks who may read and write the files and directories that contain secrets or policies. */
export function lookAtFiles(config: Config, named: readonly NamedFile[]): Finding[] {
  const findings = [
    ...named.flatMap(lookAtNamed),
    ...(config.store.kind === 'embedded' ? lookAtData(config.store.path) : []),
    ...lookAtPolicies(config.policies),
  ]
  return findings.length > 0
    ? findings
    : [ok('files', 'other users can neither read secrets nor write policies')]
}

function lookAtNamed({ path, by, holds }: NamedFile): Finding[] {
  const facts = factsOf(path)
  if (facts === undefined)
    return [
      error('files', `${path}, named by ${by}, cannot be read`, 'name a file that the gateway may read'),
    ]
  if (holds === 'authorities') return lookAtAuthorities(path)
  return holds === 'secrets' && isOpenTo(facts, OTHERS) ? lookAtOpenSecret(path, by) : []
}

/**
 * Checks a secret that all users can read. deploy/secrets.sh creates such files in a directory that only one user may
 * enter, and compose mounts each file separately.
 */
function lookAtOpenSecret(path: string, by: string): Finding[] {
  const real = realpathSync(path)
  if (!mayAllEnter(dirname(real))) return []
  const what = `${path}, named by ${by}, holds a secret and is readable by all users`
  return isMountedAlone(real)
    ? [warning('files', `${what} here`, 'on the host that mounts it, close its directory to other users')]
    : [error('files', what, `chmod o-rwx ${path}`)]
}

function mayAllEnter(directory: string): boolean {
  const above = dirname(directory)
  return isOpenTo(factsOf(directory), OTHERS_ENTER) && (above === directory || mayAllEnter(above))
}

const isMountedAlone = (path: string): boolean => factsOf(path)?.dev !== factsOf(dirname(path))?.dev

function lookAtData(path: string): Finding[] {
  const facts = factsOf(path)
  if (facts === undefined) return mayBeMade(path)
  const places = [path, join(path, 'store.mdb'), join(path, 'demo-credentials.json')]
  const open = places.filter((place) => isOpenTo(factsOf(place), GROUP_AND_OTHERS))
  return open.map((place) =>
    error(
      'files',
      `${place} holds the state of the gateway, and other users can read it`,
      `chmod go-rwx ${place}`,
    ),
  )
}

/** Checks the nearest existing parent of a missing directory. */
function mayBeMade(path: string): Finding[] {
  let above = dirname(resolve(path))
  while (factsOf(above) === undefined && above !== dirname(above)) above = dirname(above)
  return factsOf(above)?.isDirectory() === true && mayWrite(above)
    ? []
    : [
        error(
          'files',
          `${path} does not exist, and cannot be created in ${above}`,
          'create it for the user that runs the gateway',
        ),
      ]
}

function lookAtPolicies(path: string): Finding[] {
  return isOpenTo(factsOf(path), OTHERS_WRITE)
    ? [
        error(
          'files',
          `all users can write to ${path}, and so can decide which calls run`,
          `chmod o-w ${path}`,
        ),
      ]
    : []
}

function lookAtAuthorities(path: string): Finding[] {
  try {
    const blocks = readFileSync(path, 'utf8').match(
      /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g,
    )
    if (blocks === null)
      return [
        error('certificates', `${path} contains no certificate`, 'set NODE_EXTRA_CA_CERTS to a PEM file'),
      ]
    return blocks
      .map((text) => new X509Certificate(text))
      .flatMap((authority) => lookAtAuthority(path, authority))
  } catch {
    return [
      error(
        'certificates',
        `${path} cannot be read, or is not a certificate`,
        'set NODE_EXTRA_CA_CERTS to a PEM file',
      ),
    ]
  }
}

function lookAtAuthority(path: string, authority: X509Certificate): Finding[] {
  const found = authorityFinding(path, authority)
  return found === undefined ? [] : [found]
}

/**
 * A finding on a certificate authority, at most a warning. System bundles contain expired authorities. The expiry of an
 * authority in use is reported as an error where it is used.
 */
export function authorityFinding(
  path: string,
  { subject, validTo }: Pick<X509Certificate, 'subject' | 'validTo'>,
  now = Date.now(),
): Finding | undefined {
  const name = `the authority ${subject.replaceAll('\n', ', ')} in ${path} (NODE_EXTRA_CA_CERTS)`
  const found = certificateFinding(name, new Date(validTo), now)
  return found.level === 'ok'
    ? undefined
    : warning('certificates', found.what, 'if it signed a certificate of yours, renew that certificate')
}

/**
 * True when this process may open the store. In another user's store, this process would create files that the other
 * user does not own.
 */
export function isOurs(path: string): boolean {
  const owner = factsOf(path)?.uid
  return owner === undefined || process.getuid === undefined || owner === process.getuid()
}

export const mayWrite = (path: string): boolean => whyUnwritable(path) === undefined

/** The system's error code, such as `EACCES`; undefined when this user may write. */
export function whyUnwritable(path: string): string | undefined {
  try {
    accessSync(path, constants.W_OK)
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error)
  }
}

const isOpenTo = (facts: Stats | undefined, who: number): boolean =>
  facts !== undefined && (facts.mode & who) !== 0

function factsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** The time of the newest change to the files, ms since 1970. */
export function newestOf(paths: readonly string[]): number {
  return Math.max(0, ...paths.map((path) => factsOf(path)?.mtimeMs ?? 0))
}

export const warnOfOwner = (path: string): Finding =>
  warning(
    'store',
    `${path} belongs to another user; it was not opened`,
    'run the doctor as the user that runs the gateway',
  )
