import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { get as getSecurely } from 'node:https'
import { addressToAsk, hostInUrl } from '../../app/listen-address.ts'
import { clientEnvironment } from '../../settings/config.ts'
import { baseOf } from '../client/api-client.ts'
import { command } from '../terminal/command.ts'
import { CliFailure, EXIT } from '../terminal/failure.ts'
import { parse } from '../terminal/parse.ts'
import { usageOf } from '../terminal/usage.ts'
import { readSettings } from './read-settings.ts'
import { FLAGS_OF_SERVE } from './serve.ts'

export const HEALTH = command({
  name: 'health',
  says: `Asks the gateway of these settings for /livez, as the health check of a container. Exits 0 if it answers, else 1.
    Without flags, and with COUNTERSIGN_URL set, it asks the gateway at that address.`,
  flags: {
    of: { takes: 'PID', says: 'use the flags of this process, which runs countersign serve (Linux)' },
  },
  settings: FLAGS_OF_SERVE,
})

/** Time limit for the answer, ms. A container's probe has 3 s. */
const ANSWER_MS = 2_000

/** `countersign health`: checks whether the gateway with these settings answers. */
export async function health(args: readonly string[]): Promise<void> {
  const { values, settings } = parse(HEALTH, args)
  const { url: named } = clientEnvironment()
  const isNamed = named !== undefined && values.of === undefined && settings.length === 0
  const url = `${isNamed ? baseOf(named) : addressIn([...flagsOf(values.of), ...settings])}/livez`
  const answer = await statusOf(url)
  if (answer !== 200) throw new CliFailure(`${url}: ${answer}`, { exit: EXIT.unexpected })
}

/** The address of a gateway with these settings. */
function addressIn(settings: readonly string[]): string {
  const { config } = readSettings({ settings })
  if (config.port === 0)
    throw new CliFailure(
      'the port is 0: the system chooses a different port at each start, which no probe can know',
      {
        exit: EXIT.unexpected,
        hint: 'set COUNTERSIGN_PORT',
      },
    )
  return `http://${hostInUrl(addressToAsk(config.host))}:${config.port}`
}

/** Asks without `fetch`, which refuses some ports. */
function statusOf(url: string): Promise<number | string> {
  return new Promise((resolve) => {
    const ask = url.startsWith('https:') ? getSecurely : get
    const request = ask(url, { agent: false, signal: AbortSignal.timeout(ANSWER_MS) }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 'no answer')
    })
    request.once('error', ({ name, message }) =>
      resolve(name === 'AbortError' ? `no answer within ${ANSWER_MS / 1_000} s` : message),
    )
  })
}

/** The flags of the main process, read from the system: a container's health check does not receive them. */
function flagsOf(pid: string | undefined): readonly string[] {
  if (pid === undefined) return []
  if (/^\d+$/.test(pid)) return flagsOfServe(pid)
  throw new CliFailure(`--of: \`${pid}\` is not a process id`, { exit: EXIT.usage, hint: usageOf(HEALTH) })
}

function flagsOfServe(pid: string): string[] {
  const words = commandLine(pid).split('\0').slice(0, -1)
  const at = words.indexOf('serve')
  return at < 0 ? [] : words.slice(at + 1)
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch (cause) {
    throw new CliFailure(`the flags of process ${pid} cannot be read: ${(cause as Error).message}`, {
      exit: EXIT.unexpected,
      cause,
    })
  }
}
