import { LIMITS } from '../../contract/limits.ts'
import { SERVER_NAME, serverOf } from '../../contract/tool-source.ts'
import { environmentForChildren } from '../../settings/config.ts'
import { linesOf, LongLine } from '../../system/lines.ts'
import { createProxy, type Proxy } from '../../mcp/proxy.ts'
import { LONGEST_LINE_BYTES, room, type ServerProcess, startServer } from '../../mcp/server-process.ts'
import { parseDuration } from '../../policy/text/text.ts'
import { type CallIds, createCallIds } from '@countersign/sdk/runtime'
import { createGate, type Gate } from '@countersign/sdk'
import { reachAsAgent, URL_FLAG } from '../client/credentials.ts'
import { command } from '../terminal/command.ts'
import { CliFailure, usage } from '../terminal/failure.ts'
import { endAfterLastWords } from '../terminal/last-words.ts'
import { type Asked, parse } from '../terminal/parse.ts'
import { STOP_SIGNALS } from '../terminal/signals.ts'
import { visible } from '../terminal/visible-text.ts'
import { keptCallsIn, MAX_WAIT } from './kept-calls.ts'

export const MCP = command({
  name: 'mcp',
  operands: '-- COMMAND [ARGUMENT ...]',
  says: `Starts an MCP server and guards its tools. Put it where your client starts the server. The gateway decides each
    tools/call. The server gets an allowed or approved call, with exactly the decided arguments. Any other call is
    answered with the reason. Needs COUNTERSIGN_AGENT_KEY, which the server does not receive.`,
  flags: {
    url: URL_FLAG,
    server: {
      takes: 'NAME',
      says: 'the server, as in `countersign add tool --server`: its contracts judge the calls',
    },
    prefix: {
      takes: 'TEXT',
      default: '',
      says: 'the prefix of tool names, as in `countersign add tool --prefix`',
    },
    task: {
      takes: 'ID',
      says: 'groups the calls (default: a new id for each start). With it, waiting calls survive a restart',
    },
    'max-wait': MAX_WAIT,
    grace: {
      takes: 'DURATION',
      default: '2m',
      says: `how long a call waits for its client after the client's own time limit ended the request; at most 1h`,
    },
    state: { takes: 'DIR', says: 'folder for waiting calls (default: $XDG_STATE_HOME/countersign/mcp)' },
    unpinned: {
      says: 'also passes what no contract pins: instructions, prompts, resources, requests to the model',
    },
  },
})

const PROGRESS_MS = 10_000
const LONGEST_GRACE_MS = LIMITS.WITHDRAWAL_GRACE_SECONDS * 1_000
/** Time limit for listing all tools, ms. Clients wait at least a minute. */
const LIST_MS = 10_000

/**
 * `countersign mcp -- COMMAND`: runs an MCP server whose tools need the gateway's decision (docs/agent-side.md#mcp).
 */
export async function mcp(args: readonly string[]): Promise<void> {
  const { values, program } = parse(MCP, args)
  const maxWaitMs = parseDuration(values['max-wait'])
  if (maxWaitMs === undefined)
    throw usage(`--max-wait must be a duration like 50s or 10m, not \`${values['max-wait']}\``)
  const graceMs = parseDuration(values.grace) ?? Infinity
  if (graceMs < 1_000 || graceMs > LONGEST_GRACE_MS)
    throw usage(`--grace must be a duration like 30s or 2m, at most 1h, not \`${values.grace}\``)
  const server = serverNamed(values)
  const taskId = values.task ?? `mcp-${crypto.randomUUID()}`
  const gate = gateOf(values.url, taskId)
  // a server may send messages before the first request
  let proxy: Proxy | undefined
  const left = new AbortController()
  const child = startServer(program, environmentForChildren(), (line) => {
    proxy?.fromServer(line)
    return room(process.stdout, left.signal)
  })
  proxy = createProxy({
    gate,
    callIds: callIdsOf(values),
    prefix: values.prefix,
    server,
    passUnpinned: values.unpinned,
    taskId,
    maxWaitMs,
    graceSeconds: Math.round(graceMs / 1_000),
    listWithinMs: LIST_MS,
    progressEveryMs: PROGRESS_MS,
    toServer: (line) => child.write(line),
    toClient: (line) => void process.stdout.write(line),
    note,
  })
  process.exitCode = await stand({ proxy, server: child, left }, program)
  await gate.settled()
}

function note(text: string): void {
  console.error(visible(`countersign: ${text}`))
}

/** @throws CliFailure */
function serverNamed({
  server,
  prefix,
}: {
  readonly server?: string | undefined
  readonly prefix: string
}): string {
  if (server === undefined) return serverOf(prefix)
  if (SERVER_NAME.test(server)) return server
  throw usage(`--server must be up to 64 letters, digits, \`_\` and \`-\`, not \`${server}\``)
}

/**
 * The ids of calls. Without a fixed task, a later process cannot resume a call.
 *
 * @throws CliFailure
 */
function callIdsOf({ task, state }: Asked<typeof MCP>['values']): CallIds {
  const kept = keptCallsIn(state, 'mcp')
  return createCallIds(task === undefined ? undefined : kept)
}

function gateOf(url: string | undefined, taskId: string): Gate {
  try {
    return createGate({ ...reachAsAgent(url), taskId })
  } catch (cause) {
    if (cause instanceof TypeError) throw usage(cause.message)
    throw cause
  }
}

interface Sides {
  readonly proxy: Proxy
  readonly server: ServerProcess
  /** Aborts when the client has exited. */
  readonly left: AbortController
}

/** Runs until one side ends, and then ends the other side. */
function stand({ proxy, server, left }: Sides, command: readonly string[]): Promise<number> {
  const underWay = new Set<Promise<void>>()
  const listen = async (): Promise<void> => {
    for await (const { bytes } of linesOf(process.stdin, LONGEST_LINE_BYTES)) {
      if (bytes.length === 0) continue
      const handled = proxy.fromClient(bytes)
      underWay.add(handled)
      void handled.finally(() => underWay.delete(handled))
    }
  }
  const leave = (): void => {
    left.abort()
    proxy.clientEnded()
    server.stop()
  }
  // other processes may keep the server's input open after the server has exited
  process.stdout.once('error', leave)
  // an invalid line ends the client's side, like the end of its input
  void listen().then(leave, (cause: unknown) => {
    if (cause instanceof LongLine) note(`reading from the client stopped: ${cause.message}`)
    leave()
  })
  const standing = server.ended
    .catch((cause: unknown) => {
      const became = cause instanceof LongLine ? 'was stopped' : 'cannot be run'
      throw new CliFailure(`\`${command[0] ?? ''}\` ${became}: ${(cause as Error).message}`, { cause })
    })
    .finally(() => {
      proxy.serverEnded()
      process.stdin.destroy()
    })
    .then(async (code) => {
      await Promise.all(underWay)
      return code
    })
  // clients close our input or send a signal, then another, and soon SIGKILL, which would leave the server running
  const stop = (): void => {
    if (left.signal.aborted) server.insist()
    else leave()
    void standing.then(endAfterLastWords, endAfterLastWords)
  }
  for (const signal of STOP_SIGNALS) process.on(signal, stop)
  return standing
}
