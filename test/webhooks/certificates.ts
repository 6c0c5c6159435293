import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureProgram } from '../debian.ts'
import { execFileSync } from '../sync-child.ts'

/** An authority of our own, and certificates by it: files in a new directory, which the caller removes. */
export function makeAuthority(): { readonly directory: string; issue(name: string, options: Issued): void } {
  ensureProgram('openssl', 'openssl')
  const directory = mkdtempSync(join(tmpdir(), 'countersign-certificates-'))
  const openssl = (...args: string[]): void => {
    execFileSync('openssl', args, { cwd: directory, stdio: 'ignore' })
  }
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  openssl(
    'req',
    '-x509',
    ...key,
    '-days',
    '2',
    '-keyout',
    'ca.key',
    '-out',
    'ca.crt',
    '-subj',
    '/CN=Test authority',
  )
  return {
    directory,
    issue(name, { names, days = 2, self = false }) {
      writeFileSync(join(directory, `${name}.ext`), `subjectAltName=${names.join(',')}\n`)
      openssl('req', ...key, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', '/CN=receiver')
      const signer = self
        ? ['-signkey', `${name}.key`]
        : ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial']
      const request = ['-in', `${name}.csr`, '-extfile', `${name}.ext`, '-out', `${name}.crt`]
      openssl('x509', '-req', ...request, ...signer, '-days', String(days))
    },
  }
}

interface Issued {
  /** Such as `DNS:pub.test` or `IP:127.0.0.1`. */
  readonly names: readonly string[]
  /** Negative for one that has expired. */
  readonly days?: number
  readonly self?: boolean
}
