import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { BundleText } from './check.ts'
import type { LoadPart } from './parts.ts'

/**
 * A child process that reads and checks a bundle (docs/decisions/0020). The child can start before the modules that
 * need its result are loaded. The child sends nothing until the first `next`, and `ended` also reports an earlier exit.
 */
export interface BundleChild {
  /** Undefined when the machine had no resources for the process. */
  readonly pid: number | undefined
  onPart(listener: (part: LoadPart) => void): void
  /** Requests a part. The first message has the files, if they are not in a directory. */
  next(texts?: readonly BundleText[]): void
  /** Resolves when the child exits, with a description such as `exit code 1`. */
  readonly ended: Promise<string>
  /** Kills the child. Resolves when the child has exited. */
  end(): Promise<void>
}

/** The directory of a child whose files are in its first message. */
export const FROM_MESSAGE = ''

/** The second argument of a child in the background. */
export const IN_BACKGROUND = 'in-background'

const MEMORY = [
  // A load that needs more memory means that a bundle defeats the checks.
  '--max-old-space-size=256',
  // Reading YAML creates many short-lived objects. With the default 16 MB, collecting them takes a tenth of the time.
  '--max-semi-space-size=32',
]

export interface BundleChildOptions {
  /** The URL of the built bundle-child.js. Default: next to this module. */
  readonly url?: URL | undefined
  /** True when the gateway has other work that must not wait. Default false. */
  readonly inBackground?: boolean
}

/** @throws the error of `fork` when the machine has no resources for another process */
export function startBundleChild(
  dir: string,
  { url = new URL('./bundle-child.js', import.meta.url), inBackground = false }: BundleChildOptions = {},
): BundleChild {
  const child = fork(fileURLToPath(url), [dir, ...(inBackground ? [IN_BACKGROUND] : [])], {
    execArgv: MEMORY,
    env: {},
    // The child reports only by messages, because terminal output could repeat the content of a file.
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
    // The child may have exited, or may have no channel for lack of a file descriptor; `ended` then reports this.
    next: (texts) => void (child.connected && child.send(texts ?? 'next', () => undefined)),
    async end() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
