import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

/** The program of this build. */
export const MAIN = fileURLToPath(new URL('../dist/bin/main.js', import.meta.url))

/*
 * Child processes that are killed at a chosen moment. The moment is a line that the child prints, never a span of time:
 *
 *   const child = startProcess('test/store/embedded/writer.mjs', [directory])
 *   await child.lineWhere((line) => line === 'ack 100')
 *   const { lines } = await child.kill()
 *
 * The child runs the built sources (dist/), see test/build.ts.
 */
export interface ProcessEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Everything that was printed before the end, line by line. */
  readonly lines: readonly string[]
  readonly errors: string
}

export interface StartedProcess {
  readonly pid: number
  readonly lines: readonly string[]
  /**
   * Resolves with the first line that fits, whether it is printed already or later. Rejects when the process ends
   * without such a line.
   */
  lineWhere(fits: (line: string) => boolean): Promise<string>
  send(line: string): void
  /** Sends a signal to this process alone, by its id, and waits for its end. */
  kill(signal?: NodeJS.Signals): Promise<ProcessEnd>
  readonly ended: Promise<ProcessEnd>
}

export interface StartOptions {
  /** The command that runs the script instead of Node alone, e.g. `['sh', '-c', 'ulimit -f 100; exec "$@"', 'sh']`. */
  readonly through?: readonly string[]
}

/** Runs a script under Node. */
export function startProcess(
  script: string,
  args: readonly string[] = [],
  { through = [] }: StartOptions = {},
): StartedProcess {
  const [command, ...rest] = [...through, process.execPath, script, ...args] as [string, ...string[]]
  const child = spawn(command, rest, { stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.on('error', () => {})
  const lines: string[] = []
  const listeners = new Set<() => void>()
  const ended = collect(child, lines, () => {
    for (const listener of listeners) listener()
  })
  return {
    pid: child.pid ?? 0,
    lines,
    ended,
    send: (line) => child.stdin.write(`${line}\n`),
    lineWhere: (fits) => waitForLine(lines, listeners, fits, ended),
    kill: (signal = 'SIGKILL') => {
      child.kill(signal)
      return ended
    },
  }
}

async function collect(
  child: ChildProcessByStdio<Writable, Readable, Readable>,
  lines: string[],
  changed: () => void,
): Promise<ProcessEnd> {
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  const reader = createInterface({ input: child.stdout })
  reader.on('line', (line) => {
    lines.push(line)
    changed()
  })
  const [[code, signal]] = await Promise.all([once(child, 'close'), once(reader, 'close')])
  return { code: code as number | null, signal: signal as NodeJS.Signals | null, lines, errors }
}

function waitForLine(
  lines: readonly string[],
  listeners: Set<() => void>,
  fits: (line: string) => boolean,
  ended: Promise<ProcessEnd>,
): Promise<string> {
  return new Promise((resolve, reject) => {
    let seen = 0
    const look = (): void => {
      for (; seen < lines.length; seen++) {
        const line = lines[seen] as string
        if (!fits(line)) continue
        listeners.delete(look)
        resolve(line)
        return
      }
    }
    listeners.add(look)
    look()
    void ended.then(({ code, signal, errors }) => {
      listeners.delete(look)
      reject(new Error(`the process ended (${signal ?? code}) before the line came: ${errors}`))
    })
  })
}
