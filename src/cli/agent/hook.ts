import { readCall } from '../../hook/call.ts'
import { type Harness, HARNESSES, type HarnessName } from '../../hook/harness.ts'
import { inputOf } from '../../hook/input.ts'
import { HookEnded, permit } from '../../hook/permit.ts'
import { parseDuration } from '../../policy/text/text.ts'
import { createCallIds, type KeptCalls } from '@countersign/sdk/runtime'
import { createGate, NotExecuted } from '@countersign/sdk'
import { refusalText } from '@countersign/sdk/runtime'
import { reachAsAgent, URL_FLAG } from '../client/credentials.ts'
import { command } from '../terminal/command.ts'
import { CliFailure, EXIT, usage } from '../terminal/failure.ts'
import { parse } from '../terminal/parse.ts'
import { STOP_SIGNALS } from '../terminal/signals.ts'
import { usageOf } from '../terminal/usage.ts'
import { keptCallsIn, MAX_WAIT } from './kept-calls.ts'

export const HOOK = command({
  name: 'hook',
  operands: Object.keys(HARNESSES).join('|'),
  says: `Decides on a tool call of a coding agent, before the tool runs. It reads the call on standard input and asks the
    gateway. If the call is allowed or approved, it exits with 0 and prints nothing, and the agent's own permission rules
    still count. Otherwise, and after any error, it exits with 2 and prints the reason on standard error. Needs
    COUNTERSIGN_AGENT_KEY.`,
  flags: {
    url: URL_FLAG,
    prefix: { takes: 'TEXT', default: '', says: 'text in front of every tool name' },
    'max-wait': MAX_WAIT,
    grant: { says: `prints "allow", which skips the agent's own permission rules (claude-code only)` },
    state: { takes: 'DIR', says: 'folder for waiting calls (default: $XDG_STATE_HOME/countersign/hooks)' },
    settings: { says: 'prints the part to add to the settings of the agent, for the other flags' },
  },
})

/** Time limit for reading the whole input, ms. A harness sends its input immediately. */
const INPUT_MS = 10_000
const LONGEST_INPUT_BYTES = 1024 * 1024
/** Time for all requests to the gateway, in addition to the wait for reviewers, ms. */
const ANSWER_MS = 10_000
/** Time for code that ignores the abort signal to end, ms. */
const LAST_MS = 2_000
/** Time between the hook's last answer and the harness's own time limit, ms. */
const MARGIN_MS = 8_000
const PARENT_CHECK_MS = 1_000
/** Maximum wait, ms. A call that waits longer than a day is outdated. */
const LONGEST_WAIT_MS = 24 * 3_600_000
const REASON_CHARS = 4_000

/**
 * `countersign hook`: decides whether a coding agent may use a tool (docs/hooks.md). Ends the process with code 0 to
 * permit the call, and with code 2 in all other cases.
 */
export async function hook(args: readonly string[]): Promise<void> {
  if (args.includes('--settings')) return printSettings(args)
  if (process.stdin.isTTY)
    throw usage('standard input is a terminal; a harness must send the call', usageOf(HOOK))
  const stop = watched()
  // the reader of the reason may have closed the stream
  process.stderr.on('error', () => undefined)
  process.once('uncaughtException', (error) => void deny(error))
  stop.signal.addEventListener('abort', () => setTimeout(() => void deny(stop.signal.reason), LAST_MS))
  try {
    const reading = setTimeout(() => stop.abort(new Error('the harness did not end its input')), INPUT_MS)
    // the input is read before any refusal, because a harness that cannot write to its hook may run the tool
    const input = await inputOf(process.stdin, LONGEST_INPUT_BYTES, stop.signal)
    clearTimeout(reading)
    await decide(optionsOf(args), input, stop)
  } catch (error) {
    await deny(error instanceof NotExecuted && stop.signal.aborted ? stop.signal.reason : error)
  }
}

interface Options {
  readonly harness: Harness
  readonly url: string | undefined
  readonly prefix: string
  readonly maxWaitMs: number
  readonly grant: boolean
  readonly kept: KeptCalls
}

/** @throws CliFailure, and the errors of parseArgs */
function optionsOf(args: readonly string[]): Options {
  const { values, operands } = parse(HOOK, args)
  const { url, prefix, grant, state } = values
  const harness = HARNESSES[operands[0] as HarnessName]
  const maxWaitMs = parseDuration(values['max-wait']) ?? Infinity
  if (maxWaitMs > LONGEST_WAIT_MS)
    throw usage(`--max-wait must be a duration like 50s or 10m, at most 24h, not \`${values['max-wait']}\``)
  if (grant && harness.grant === undefined)
    throw usage(`--grant: ${harness.name} does not accept such an answer`)
  return { harness, url, prefix, maxWaitMs, grant, kept: keptCallsIn(state, 'hooks') }
}

/**
 * Ends the process when the call may run.
 *
 * @throws NotExecuted, or another error, when it may not
 */
async function decide(options: Options, input: Uint8Array, stop: AbortController): Promise<void> {
  const { harness, url, prefix, maxWaitMs, grant, kept } = options
  const call = await readCall(input, harness)
  const gate = createGate(reachAsAgent(url))
  const late = new DOMException(
    'the gateway did not answer in time. Call the tool again with exactly the same arguments',
    'TimeoutError',
  )
  setTimeout(() => stop.abort(late), maxWaitMs + ANSWER_MS)
  const { signal } = stop
  const note = (line: string): void => void process.stderr.write(`countersign: ${line}\n`)
  const callIds = createCallIds(kept)
  await permit({ gate, callIds, harness: harness.name, prefix, maxWaitMs, signal, note }, call)
  if (grant) await written(process.stdout, JSON.stringify(harness.grant))
  process.exit(EXIT.ok)
}

/** Aborts on a signal, or when the calling process has ended. */
function watched(): AbortController {
  const stop = new AbortController()
  for (const signal of STOP_SIGNALS)
    process.on(signal, () => {
      const why = `a signal ended the hook (${signal})`
      // Ctrl-C is a person's stop; a harness sends SIGTERM at its own time limit, and a terminal that ends SIGHUP
      stop.abort(signal === 'SIGINT' ? new Error(why) : new HookEnded(why))
    })
  // a killed shell sends no signal, and a later approval would be for a call that still has to be made
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) stop.abort(new DOMException('the calling process has ended', 'TimeoutError'))
  }, PARENT_CHECK_MS)
  return stop
}

/** Refuses the call, and ends the process. */
async function deny(error: unknown): Promise<void> {
  setTimeout(() => process.exit(EXIT.usage), LAST_MS)
  await written(process.stderr, `${reasonOf(error).slice(0, REASON_CHARS)}\n`).catch(() => undefined)
  process.exit(EXIT.usage)
}

/** The reason for the model, and for people who investigate an error. */
function reasonOf(error: unknown): string {
  if (error instanceof NotExecuted) return refusalText(error)
  const text = `Not executed: ${error instanceof Error ? error.message : String(error)}`
  return error instanceof CliFailure && error.hint !== undefined ? `${text}\n${error.hint}` : text
}

/**
 * Writes a string.
 *
 * @throws when the stream is closed
 */
function written(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()))
  })
}

/**
 * Prints settings. The shell refuses the call when this program cannot, because the command is missing or was killed.
 * All other text is quoted.
 */
function printSettings(args: readonly string[]): void {
  const { harness, maxWaitMs } = optionsOf(args)
  const own = args.filter((arg) => arg !== '--settings').map(quoted)
  const timeoutMs = INPUT_MS + maxWaitMs + ANSWER_MS + LAST_MS + MARGIN_MS
  const command = `countersign hook ${own.join(' ')} || ${harness.otherwise}`
  console.log(JSON.stringify(harness.settings(command, timeoutMs / 1_000), null, 2))
  process.exitCode = EXIT.ok
}

function quoted(arg: string): string {
  return /^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", `'\\''`)}'`
}
