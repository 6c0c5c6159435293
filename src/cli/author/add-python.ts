import { execFile } from 'node:child_process'
import type { JsonValue } from '../../contract/json.ts'
import { environmentForChildren } from '../../settings/config.ts'
import { CliFailure } from '../terminal/failure.ts'

/** Maximum time for the import of the module, ms. */
const PATIENCE_MS = 60_000
const PYTHON = process.platform === 'win32' ? 'python' : 'python3'

/**
 * Runs the Python of this terminal, which imports the module in this folder and prints the contract of the function.
 *
 * @throws CliFailure with the last line of Python's error
 */
export async function contractOfPython(target: string): Promise<JsonValue> {
  const { error, out, err } = await run(['-m', 'countersign_sdk', 'contract', target])
  const text = out.trimEnd().split('\n').at(-1) ?? ''
  if (error === undefined) return JSON.parse(text) as JsonValue
  const last = err.trimEnd().split('\n').at(-1) ?? ''
  throw new CliFailure(
    `\`${PYTHON}\` gave no contract of \`${target}\`: ${last === '' ? error.message : last}`,
    {
      hint: `activate the environment of your agent, with \`countersign-sdk\` installed, in the folder of its modules`,
    },
  )
}

interface Ran {
  readonly error: Error | undefined
  readonly out: string
  readonly err: string
}

function run(args: readonly string[]): Promise<Ran> {
  const options = { env: environmentForChildren(), timeout: PATIENCE_MS, maxBuffer: 16 * 1024 * 1024 }
  return new Promise((resolve) => {
    execFile(PYTHON, args, options, (error, out, err) => resolve({ error: error ?? undefined, out, err }))
  })
}
