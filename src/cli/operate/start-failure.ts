import { dirname } from 'node:path'
import type { Config } from '../../settings/config.ts'
import {} from '../../settings/config.ts'
import { CliFailure } from '../terminal/failure.ts'
import { redisAdvice } from './redis-advice.ts'

interface Advice {
  readonly fits: (error: NodeJS.ErrnoException) => boolean
  readonly hint: (config: Config, error: Error) => string
}

/** Advice on a data directory that cannot be written, by the system's message. */
export function directoryAdvice(said: string): string {
  if (/is no directory$|ENOTDIR/.test(said)) return 'move the file at that path away'
  if (said.includes('ENOENT')) return 'create it by hand; if it is a link, create or mount its target'
  return said.includes('EROFS')
    ? 'its file system is read-only: mount it as writable'
    : 'give it to the user that runs the gateway'
}

/** Advice on a store file of another user, such as root who restored a copy by hand; undefined for other problems. */
export function fileAdvice({ code, path = '' }: NodeJS.ErrnoException): string | undefined {
  if (code !== 'EACCES' || !/\/store\.(?:json|mdb|mdb-lock)$/.test(path)) return undefined
  return `give all files in ${dirname(path)} to the user that runs the gateway`
}

const ADVICE: readonly Advice[] = [
  {
    fits: ({ code }) => code === 'EADDRINUSE',
    hint: () => 'end the process that listens there, or choose another with --port or --metrics-port',
  },
  {
    fits: ({ code, syscall }) =>
      code === 'EADDRNOTAVAIL' || (code === 'ENOTFOUND' && syscall === 'getaddrinfo'),
    hint: () => 'name an address of this machine with --host or --metrics-host',
  },
  {
    fits: ({ code, syscall }) => code === 'EACCES' && syscall === 'listen',
    hint: () => 'this user may not listen there: choose another with --port or --metrics-port',
  },
  {
    fits: ({ message }) => message.includes('in use by another process'),
    hint: (config) =>
      `end the gateway that uses ${config.store.shown}, or give this one another place with --store`,
  },
  {
    fits: ({ message }) => message.startsWith('the data directory'),
    hint: (_, { message }) => `${directoryAdvice(message)}, or name another with --store file:DIRECTORY`,
  },
]

/** The reason why a gateway did not start, with advice if available. */
export function startFailure(config: Config, error: unknown): CliFailure {
  const cause = error as NodeJS.ErrnoException
  const redis = config.store.kind === 'embedded' ? undefined : redisAdvice(cause.message)
  const hint = redis ?? fileAdvice(cause) ?? ADVICE.find(({ fits }) => fits(cause))?.hint(config, cause)
  return new CliFailure(`cannot start: ${cause.message.trim()}`, { cause, hint })
}
