import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../../dist/bin/main.js', import.meta.url))

export interface CliRun {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs the built command line to its end, as a person would, in `cwd`, with nothing of this process' environment but PATH. */
export function runCli(
  args: readonly string[],
  options: { cwd: string; env?: Record<string, string>; input?: string },
): Promise<CliRun> {
  const env = { PATH: process.env['PATH'] ?? '', ...options.env }
  const child = spawn(process.execPath, [MAIN, ...args], { cwd: options.cwd, env })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  child.stdin.end(options.input ?? '')
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })))
}

/** The same with nobody at the other end of standard output, as behind `head` when it has read enough. */
export function runUnread(
  args: readonly string[],
  options: { cwd: string; env?: Record<string, string> },
): Promise<Pick<CliRun, 'code' | 'err'>> {
  const env = { PATH: process.env['PATH'] ?? '', ...options.env }
  const child = spawn(process.execPath, [MAIN, ...args], { cwd: options.cwd, env })
  let err = ''
  child.stdout.destroy()
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  child.stdin.end()
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, err })))
}
