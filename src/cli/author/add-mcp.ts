import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { lineOf } from '../../mcp/message.ts'
import { createQuestions } from '../../mcp/questions.ts'
import { readServer } from '../../mcp/server-message.ts'
import { startServer } from '../../mcp/server-process.ts'
import { environmentForChildren } from '../../settings/config.ts'
import { packageVersion } from '../../system/package.ts'
import { CliFailure } from '../terminal/failure.ts'

/** Maximum wait for one answer of the server, ms. npx may have to install the server first. */
const PATIENCE_MS = 120_000
/** Maximum number of pages in a list, because a server may return pages forever. */
const MOST_PAGES = 100
const PROTOCOL = '2025-06-18'

/**
 * Returns all tools that an MCP server lists. Starts the server, requests the list, and ends the server. The server
 * receives none of the user's credentials.
 *
 * @throws CliFailure when the server does not start, refuses, or does not answer in time
 */
export async function listMcpTools(command: readonly string[]): Promise<readonly JsonValue[]> {
  const questions = createQuestions((message) => server.write(lineOf(message)))
  const server = startServer(command, environmentForChildren(), (line) => {
    const said = readServer(line)
    if (said.kind === 'answer') questions.answered(said)
  })
  const program = command[0] ?? ''
  void server.ended.then(
    (code) => questions.end(`\`${program}\` ended with code ${code} before it listed its tools`),
    (cause: unknown) => questions.end(`cannot start \`${program}\`: ${(cause as Error).message}`),
  )
  const ask: Ask = (method, params) =>
    questions
      .ask(method, params, AbortSignal.timeout(PATIENCE_MS))
      .catch(({ name, message, cause }: Error) => {
        if (name === 'TimeoutError')
          throw failure(`the MCP server did not answer ${method} within ${PATIENCE_MS / 1_000} s`)
        throw failure(cause === undefined ? message : `the MCP server refused ${method}: ${cause as string}`)
      })
  try {
    const clientInfo = { name: 'countersign', version: packageVersion() }
    await ask('initialize', { protocolVersion: PROTOCOL, capabilities: {}, clientInfo })
    server.write(lineOf({ jsonrpc: '2.0', method: 'notifications/initialized' }))
    return await allPages(ask)
  } finally {
    server.stop()
  }
}

type Ask = (method: string, params: JsonObject) => Promise<JsonObject>

async function allPages(ask: Ask): Promise<readonly JsonValue[]> {
  const tools: JsonValue[] = []
  let cursor: JsonValue | undefined
  for (let page = 0; page < MOST_PAGES; page++) {
    const result = await ask('tools/list', cursor === undefined ? {} : { cursor })
    if (Array.isArray(result['tools'])) tools.push(...(result['tools'] as JsonValue[]))
    cursor = result['nextCursor']
    if (typeof cursor !== 'string') return tools
  }
  throw failure(`the list of the MCP server has more than ${MOST_PAGES} pages`)
}

const failure = (message: string): CliFailure =>
  new CliFailure(message, { hint: 'run the command behind -- by itself to see what the server prints' })
