import { spawn } from 'node:child_process'
import { linesOf } from '../lines.ts'

/** An MCP server that talks over its standard streams. */
export interface ServerProcess {
  write(line: Uint8Array): void
  /** Ends it as the specification says: its input is closed, then SIGTERM, then SIGKILL. */
  stop(): void
  /** Its exit code when it has ended and everything that it said was heard; 1 when a signal ended it. Rejects when it could not be started, or says a line without an end. */
  readonly ended: Promise<number>
}

/** Pictures and files are results of tools, too. */
export const LONGEST_LINE_BYTES = 64 * 1024 * 1024
const PATIENCE_MS = 3_000

/** @param env without the credentials of the gateway: with some of them a server could approve its own calls */
export function startServer(
  [program = '', ...args]: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  heard: (line: Uint8Array) => void,
): ServerProcess {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], env })
  // a server that is gone reads nothing: its end is told by `ended`
  child.stdin.on('error', () => undefined)
  const exited = new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? 1))
  })
  const listen = async (): Promise<void> => {
    for await (const { bytes } of linesOf(child.stdout, LONGEST_LINE_BYTES)) heard(bytes)
  }
  const listening = listen().catch((cause: unknown) => {
    child.kill('SIGKILL')
    throw cause
  })
  return {
    write: (line) => void child.stdin.write(line),
    stop: () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.stdin.end()
      const insist = (['SIGTERM', 'SIGKILL'] as const).map((signal, i) =>
        setTimeout(() => child.kill(signal), PATIENCE_MS * (i + 1)),
      )
      child.once('close', () => insist.forEach(clearTimeout))
    },
    ended: Promise.all([exited, listening]).then(([code]) => code),
  }
}
