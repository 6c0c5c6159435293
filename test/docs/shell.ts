import { MAIN } from '../crash.ts'
import { spawn } from 'node:child_process'

/** How a block ended: its output and, where it failed, its exit code. */
export interface BlockRun {
  readonly out: string
  readonly err: string
  readonly code: number | null
}

const MARK = '--- end of block ---'

/**
 * Runs shell blocks of a page one after another in one bash, as a reader pastes them. `npx countersign` is the built
 * program.
 *
 * @returns a run for each block; a block that fails ends the session and is the last
 */
export async function runBlocks(
  blocks: readonly string[],
  options: { cwd: string; env: Readonly<Record<string, string>> },
): Promise<BlockRun[]> {
  const program = `countersign() { ${JSON.stringify(process.execPath)} ${JSON.stringify(MAIN)} "$@"; }
npx() { "$@"; }
set -eu -o pipefail
`
  const script =
    program + blocks.map((block) => `${block}\necho; echo '${MARK}'; echo '${MARK}' >&2\n`).join('')
  const env = { PATH: process.env['PATH'] ?? '', HOME: options.cwd, ...options.env }
  const child = spawn('bash', ['-c', script], { cwd: options.cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  const [outs, errs] = [out.split(`\n${MARK}\n`), err.split(`${MARK}\n`)]
  const ran = code === 0 ? blocks.length : outs.length
  return Array.from({ length: ran }, (_, i) => ({
    out: outs[i] ?? '',
    err: errs[i] ?? '',
    code: i < outs.length - 1 ? 0 : code,
  }))
}
