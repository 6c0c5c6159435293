import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { linesOf } from '../system/lines.ts'

/** An MCP server that talks over its standard streams. */
export interface ServerProcess {
  write(line: Uint8Array): void
  /**
   * Ends it as the specification says: its input is closed, then SIGTERM, then SIGKILL. What holds its output open after that is left to itself. So ends a server that
   * reads or says nothing any more, though it goes on.
   */
  stop(): void
  /** Takes the next of these steps at once: whoever waits for us has less patience. */
  insist(): void
  /** Its exit code when it has ended and everything that it said was heard; 1 when a signal ended it. Rejects when it could not be started, and with LongLine. */
  readonly ended: Promise<number>
}

/** Pictures and files are results of tools, too. */
export const LONGEST_LINE_BYTES = 64 * 1024 * 1024
const PATIENCE_MS = 3_000

/**
 * @param env without the credentials of the gateway: with some of them a server could approve its own calls
 * @param heard no further line is read until it resolves
 */
export function startServer(
  [program = '', ...args]: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  heard: (line: Uint8Array) => Promise<void> | void,
): ServerProcess {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], env })
  let over = false
  const exited = new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      over = true
      resolve(code ?? 1)
    })
  })
  let left = false
  // a shell or npx may be gone, and the server that it started goes on
  const leave = (): void => {
    left = true
    child.stdin.destroy()
    child.stdout.destroy()
  }
  const listen = async (): Promise<void> => {
    for await (const { bytes } of linesOf(child.stdout, LONGEST_LINE_BYTES)) await heard(bytes)
  }
  const steps = [() => child.stdin.end(), () => child.kill('SIGTERM'), () => child.kill('SIGKILL'), leave]
  let taken = 0
  let patience: NodeJS.Timeout | undefined
  const insist = (): void => {
    if (over) return
    clearTimeout(patience)
    steps[taken]?.()
    taken += 1
    if (taken < steps.length) patience = setTimeout(insist, PATIENCE_MS)
  }
  child.once('close', () => clearTimeout(patience))
  const stop = (): void => {
    if (taken === 0) insist()
  }
  // most are gone by then, and `ended` tells of it: one that goes on would leave everybody waiting for its answers
  child.stdin.on('error', stop)
  child.stdout.once('end', stop)
  const listening = listen().catch((cause: unknown) => {
    if (left) return
    child.kill('SIGKILL')
    throw cause
  })
  return {
    write: (line) => void child.stdin.write(line),
    stop,
    insist,
    ended: Promise.all([exited, listening]).then(([code]) => code),
  }
}

/** When what was written has room: a server that says much to a client that does not read would fill memory. Nobody waits after `over`. */
export async function room(stream: Writable, over: AbortSignal): Promise<void> {
  if (stream.writableNeedDrain && !over.aborted)
    await once(stream, 'drain', { signal: over }).catch(() => undefined)
}
