import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { linesOf } from '../system/lines.ts'

/** An MCP server that communicates over its standard streams. */
export interface ServerProcess {
  write(line: Uint8Array): void
  /**
   * Ends the server as the specification requires: closes its input, then sends SIGTERM, then SIGKILL. The signals
   * reach every process of the server's group, such as a server behind npx or a shell.
   */
  stop(): void
  /** Takes the next of these steps immediately. */
  insist(): void
  /**
   * The exit code, once the server has ended and all its output was read; 1 when a signal ended it. Rejects with
   * LongLine, and when the server could not start.
   */
  readonly ended: Promise<number>
}

/** The longest line. Results of tools may contain images and files. */
export const LONGEST_LINE_BYTES = 64 * 1024 * 1024
const PATIENCE_MS = 3_000

/**
 * @param env the environment without credentials of the gateway, because a server could approve its own calls with them
 * @param heard receives a line; the next line is read when it resolves
 */
export function startServer(
  [program = '', ...args]: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  heard: (line: Uint8Array) => Promise<void> | void,
): ServerProcess {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], env, detached: HAS_GROUPS })
  const kill = (signal: NodeJS.Signals): void => killGroup(child, signal)
  const watchdog = watchdogOf(child.pid)
  let over = false
  const exited = new Promise<number>((resolve, reject) => {
    child.once('error', (cause) => {
      watchdog?.kill('SIGKILL')
      reject(cause)
    })
    child.once('close', (code) => {
      over = true
      // the other processes of the group read no request any more
      kill('SIGKILL')
      watchdog?.kill('SIGKILL')
      resolve(code ?? 1)
    })
  })
  let left = false
  // a process outside the group may keep the output open
  const leave = (): void => {
    left = true
    child.stdin.destroy()
    child.stdout.destroy()
  }
  const listen = async (): Promise<void> => {
    for await (const { bytes } of linesOf(child.stdout, LONGEST_LINE_BYTES)) await heard(bytes)
  }
  const steps = [() => child.stdin.end(), () => kill('SIGTERM'), () => kill('SIGKILL'), leave]
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
  // most servers have ended by then; callers would wait forever for a server that has not
  child.stdin.on('error', stop)
  child.stdout.once('end', stop)
  const listening = listen().catch((cause: unknown) => {
    if (left) return
    kill('SIGKILL')
    throw cause
  })
  return {
    write: (line) => void child.stdin.write(line),
    stop,
    insist,
    ended: Promise.all([exited, listening]).then(([code]) => code),
  }
}

/** Windows has no process groups. */
const HAS_GROUPS = process.platform !== 'win32'

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  const { pid } = child
  if (pid === undefined) return
  if (!HAS_GROUPS) return void child.kill(signal)
  try {
    process.kill(-pid, signal)
  } catch {
    // no process of the group is left
  }
}

/** Waits for the end of its input, which ends with the proxy, even by SIGKILL. Then ends the group. */
const WATCHDOG = 'read -r _; kill -s TERM -- "-$1"; sleep 3; kill -s KILL -- "-$1"'

/** A process that outlives the proxy, and ends the server's group after it. */
function watchdogOf(group: number | undefined): ChildProcess | undefined {
  if (!HAS_GROUPS || group === undefined) return undefined
  const args = ['-c', WATCHDOG, 'countersign-watchdog', String(group)]
  const watchdog = spawn('/bin/sh', args, { stdio: ['pipe', 'ignore', 'ignore'], env: {}, detached: true })
  watchdog.on('error', () => undefined)
  watchdog.stdin?.on('error', () => undefined)
  watchdog.unref()
  return watchdog
}

/**
 * Resolves when the stream has room, or when `over` aborts. Otherwise a server could fill memory while its client does
 * not read.
 */
export async function room(stream: Writable, over: AbortSignal): Promise<void> {
  if (stream.writableNeedDrain && !over.aborted)
    await once(stream, 'drain', { signal: over }).catch(() => undefined)
}
