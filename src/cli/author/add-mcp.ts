import type { JsonValue } from '../../contract/json.ts'
import { startServer } from '../../mcp/server-process.ts'
import { environmentForChildren } from '../../settings/config.ts'
import { packageVersion } from '../../system/package.ts'
import { CliFailure } from '../terminal/failure.ts'

/** Maximum wait for one answer of the server, ms. npx may have to install the server first. */
const PATIENCE_MS = 120_000
/** Maximum number of pages in a list, because a server may return pages forever. */
const MOST_PAGES = 100
const PROTOCOL = '2025-06-18'

interface Answer {
  readonly id?: unknown
  readonly result?: { readonly tools?: readonly JsonValue[]; readonly nextCursor?: unknown }
  readonly error?: { readonly message?: string }
}

/**
 * Returns all tools that an MCP server lists. Starts the server, requests the list, and ends the server. The server
 * receives none of the user's credentials.
 *
 * @throws CliFailure when the server does not start, refuses, or does not answer in time
 */
export async function listMcpTools(command: readonly string[]): Promise<readonly JsonValue[]> {
  const waiting = new Map<number, (answer: Answer) => void>()
  const server = startServer(command, environmentForChildren(), (line) => {
    const answer = parsed(line)
    if (typeof answer?.id === 'number') waiting.get(answer.id)?.(answer)
  })
  const program = command[0] ?? ''
  const ended = server.ended.then(
    (code) => failure(`\`${program}\` ended with code ${code} before it listed its tools`),
    (cause: unknown) => failure(`cannot start \`${program}\`: ${(cause as Error).message}`),
  )
  const send = (message: object): void =>
    server.write(Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`))
  let id = 0
  const ask = async (method: string, params: object): Promise<NonNullable<Answer['result']>> => {
    const mine = ++id
    const patience = new AbortController()
    const answer = await Promise.race([
      new Promise<Answer>((resolve) => {
        waiting.set(mine, resolve)
        send({ id: mine, method, params })
      }),
      ended,
      late(method, patience.signal),
    ]).finally(() => patience.abort())
    if (answer instanceof CliFailure) throw answer
    if (answer.result === undefined)
      throw failure(
        `the MCP server refused ${method}: ${answer.error?.message ?? 'the server gave no reason'}`,
      )
    return answer.result
  }
  try {
    const clientInfo = { name: 'countersign', version: packageVersion() }
    await ask('initialize', { protocolVersion: PROTOCOL, capabilities: {}, clientInfo })
    send({ method: 'notifications/initialized' })
    return await allPages(ask)
  } finally {
    server.stop()
  }
}

async function allPages(
  ask: (method: string, params: object) => Promise<NonNullable<Answer['result']>>,
): Promise<readonly JsonValue[]> {
  const tools: JsonValue[] = []
  let cursor: unknown
  for (let page = 0; page < MOST_PAGES; page++) {
    const result = await ask('tools/list', cursor === undefined ? {} : { cursor })
    tools.push(...(result.tools ?? []))
    cursor = result.nextCursor
    if (typeof cursor !== 'string') return tools
  }
  throw failure(`the list of the MCP server has more than ${MOST_PAGES} pages`)
}

const failure = (message: string): CliFailure =>
  new CliFailure(message, { hint: 'run the command behind -- by itself to see what the server prints' })

function late(method: string, signal: AbortSignal): Promise<CliFailure> {
  return new Promise((resolve) => {
    const timer = setTimeout(
      () => resolve(failure(`the MCP server did not answer ${method} within ${PATIENCE_MS / 1_000} s`)),
      PATIENCE_MS,
    )
    signal.addEventListener('abort', () => clearTimeout(timer))
  })
}

function parsed(line: Uint8Array): Answer | undefined {
  try {
    return JSON.parse(Buffer.from(line).toString('utf8')) as Answer
  } catch {
    return undefined
  }
}
