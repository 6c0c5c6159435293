import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { LoadPart } from './parts.ts'

/**
 * A child process that reads and checks a bundle (docs/decisions/0020). It can be started before the modules that need its result are even
 * loaded: it sends nothing until the first `next`, and its end is remembered.
 */
export interface BundleChild {
  /** Undefined when there was no room for it. */
  readonly pid: number | undefined
  onPart(listener: (part: LoadPart) => void): void
  /** Asks for a part. */
  next(): void
  /** Resolves with how it ended, such as `exit code 1`. */
  readonly ended: Promise<string>
  /** Ends it, whatever it does. Resolves when it is gone. */
  end(): Promise<void>
}

/** Its second argument. */
export const IN_BACKGROUND = 'in-background'

const MEMORY = [
  // More than this for one load means that a bundle defeats the checks.
  '--max-old-space-size=256',
  // Reading YAML makes much that is thrown away at once: with the usual 16 MB a tenth of the time goes into collecting it.
  '--max-semi-space-size=32',
]

export interface BundleChildOptions {
  /** The built bundle-child.js. Default: beside this module. */
  readonly url?: URL | undefined
  /** The gateway has other work that must not wait. Default: not. */
  readonly inBackground?: boolean
}

/** @throws what `fork` throws when the machine has no room for another process */
export function startBundleChild(
  dir: string,
  { url = new URL('./bundle-child.js', import.meta.url), inBackground = false }: BundleChildOptions = {},
): BundleChild {
  const child = fork(fileURLToPath(url), [dir, ...(inBackground ? [IN_BACKGROUND] : [])], {
    execArgv: MEMORY,
    env: {},
    // What it has to say it sends; last words to a terminal might repeat what a file holds.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
  })
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unexpected error'))
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`))
  })
  return {
    pid: child.pid,
    ended,
    onPart: (listener) => void child.on('message', listener),
    // it may be gone, or have no channel because there was no file descriptor left for one: then `ended` tells
    next: () => void (child.connected && child.send('next', () => undefined)),
    async end() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
