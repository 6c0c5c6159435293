import { Console } from 'node:console'
import { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { CliRun } from './run.ts'

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
let runs = 0
/** Commands change what the whole process has, so they run one after the other. */
let last: Promise<unknown> = Promise.resolve()

export interface CliOptions {
  readonly cwd: string
  readonly env?: Record<string, string>
  readonly input?: string
}

/**
 * Runs the command line inside this process: it sees the directory, the environment, standard input and output of the
 * test. For commands that end by themselves; signals, exits and pipes need `runProcess` (run.ts).
 */
export function runInProcess(args: readonly string[], options: CliOptions): Promise<CliRun> {
  const run = last.then(() => runAlone(args, options))
  last = run.catch(() => undefined)
  return run
}

async function runAlone(args: readonly string[], { cwd, env, input = '' }: CliOptions): Promise<CliRun> {
  const [out, err] = [collector(), collector()]
  const restore = replace({
    argv: [process.execPath, MAIN, ...args],
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdin: Readable.from([Buffer.from(input)]),
    stdout: out.stream,
    stderr: err.stream,
  })
  const { exitCode, console: before } = { exitCode: process.exitCode, console }
  const directory = process.cwd()
  process.exitCode = undefined
  globalThis.console = new Console(out.stream, err.stream)
  process.chdir(cwd)
  try {
    runs += 1
    await import(/* @vite-ignore */ `${MAIN}?run=${runs}`)
    return { code: Number(process.exitCode ?? 0), out: out.text(), err: err.text() }
  } finally {
    process.chdir(directory)
    globalThis.console = before
    process.exitCode = exitCode
    restore()
  }
}

function collector(): { readonly stream: Writable; text(): string } {
  const chunks: Buffer[] = []
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      chunks.push(Buffer.from(chunk))
      done()
    },
  })
  return { stream, text: () => Buffer.concat(chunks).toString() }
}

/** Replaces members of `process`. Returns the function that puts them back. */
function replace(members: Record<string, unknown>): () => void {
  const before = Object.keys(members).map(
    (name) => [name, Object.getOwnPropertyDescriptor(process, name)] as const,
  )
  for (const [name, value] of Object.entries(members))
    Object.defineProperty(process, name, { value, configurable: true, enumerable: true, writable: true })
  return () => {
    for (const [name, descriptor] of before)
      if (descriptor !== undefined) Object.defineProperty(process, name, descriptor)
  }
}
