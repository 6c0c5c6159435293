import { spawn } from 'node:child_process'
import { MAIN } from '../crash.ts'
import { type CliOptions, runInProcess } from './in-process.ts'

export interface CliRun {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs the built command line to its end in `cwd`; of this process' environment it gets only PATH. */
export function runProcess(args: readonly string[], options: CliOptions): Promise<CliRun> {
  const env = { PATH: process.env['PATH'] ?? '', ...options.env }
  const child = spawn(process.execPath, [MAIN, ...args], { cwd: options.cwd, env })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  child.stdin.end(options.input ?? '')
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })))
}

/** The same without a reader of standard output, as behind `head` when it has read enough. */
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

/** Commands that start children of the build, run until a signal, or pass on standard input and output. */
const IN_A_PROCESS = ['serve', 'dev', 'mcp', 'hook']
/** Variables that Node reads from the real environment. */
const OF_NODE = ['NODE_EXTRA_CA_CERTS', 'NODE_OPTIONS', 'TMPDIR', 'TZ']

/** Runs a command: within this process, faster, unless only a process of its own can show the behaviour. */
export function runCli(args: readonly string[], options: CliOptions): Promise<CliRun> {
  const needsProcess =
    IN_A_PROCESS.includes(args[0] ?? '') ||
    args.includes('--watch') ||
    OF_NODE.some((name) => options.env?.[name] !== undefined)
  return needsProcess ? runProcess(args, options) : runInProcess(args, options)
}
