import { type JsonObject, type JsonValue, isObject } from '../contract/json.ts'
import { type Client, type NotExecuted, type ResolvedTool, StillPending, UnknownTool } from '@countersign/sdk'
import { messageOf, orAborted, withRetry } from '@countersign/sdk/runtime'
import { createListing, type List, type Listed, type Listing, type Tools } from './listing.ts'
import { type Id, objectIn } from './message.ts'

/**
 * Finds the contract that judges a call of a server's tool (docs/agent-side.md). The contract's `source` names the
 * tool. Without a `source`, the contract's name does. The proxy reads the server's whole list of tools first. A tool
 * that differs from the description in its contract does not run.
 */
export interface Contracts {
  /**
   * Returns the gateway's name of the tool. Asks the server for its list when the list in force is incomplete.
   *
   * @throws NotExecuted
   */
  contractOf(name: string, about: About): Promise<string>
  /** Records a `tools/list` request of the client. */
  asked(id: Id, params: JsonValue | undefined): void
  /**
   * Returns the result for the client when `id` belongs to such a request, otherwise undefined. The result is the same
   * object unless a tool is refused.
   */
  answered(id: Id, result: JsonObject): Promise<JsonObject> | undefined
  /** Voids the list, because the server reports that its tools changed. */
  outdated(): void
}

export interface About {
  readonly signal: AbortSignal
  /** The `_meta` of the call. */
  readonly meta: JsonValue | undefined
}

export interface ContractsParts {
  readonly client: Client
  readonly taskId: string
  /** The server's name in contracts. */
  readonly server: string
  readonly prefix: string
  /** Maximum time in which the server must list all its tools, ms. */
  readonly listWithinMs: number
  readonly note: (text: string) => void
  /** Sends a request of the proxy. Rejects when the server answers with an error, or misses the deadline. */
  readonly ask: (method: string, params: JsonObject, deadline: AbortSignal) => Promise<JsonObject>
}

/** Age of the contracts at which they are read again, ms. */
const FRESH_MS = 5_000
const MOST_PAGES = 1_000
/** Maximum number of lists that changes on the server may void before the proxy gives up. */
const MOST_LISTS = 3

export function createContracts(parts: ContractsParts): Contracts {
  const state: State = {
    ...parts,
    listing: createListing(),
    questions: new Map(),
    cursors: new Map(),
    reported: new Set(),
    known: undefined,
    underWay: undefined,
  }
  return {
    contractOf: (name, about) => contractOf(state, name, about),
    asked: (id, params) => void state.questions.set(id, listAskedFor(state, params)),
    answered: (id, result) => {
      const list = state.questions.get(id)
      if (list === undefined) return undefined
      state.questions.delete(id)
      const cursor = list.learn(result)
      if (cursor !== undefined) state.cursors.set(cursor, list)
      return marked(state, list, result)
    },
    outdated: () => state.listing.outdated(),
  }
}

interface State extends ContractsParts {
  readonly listing: Listing
  /** The client's open requests for a page, and the list to which each belongs. */
  readonly questions: Map<Id, List>
  /** The list that each cursor continues. */
  readonly cursors: Map<string, List>
  /** The reported tools, each with its digest. */
  readonly reported: Set<string>
  known: { readonly at: number; readonly tools: readonly ResolvedTool[] } | undefined
  /** The proxy's own request for the list, until the server has answered. */
  underWay: Promise<void> | undefined
}

/**
 * Returns the list that a request of the client begins or continues. A list that begins with an unknown cursor is never
 * in force.
 */
function listAskedFor({ listing, cursors }: State, params: JsonValue | undefined): List {
  const { cursor } = objectIn(params)
  if (typeof cursor === 'string') return cursors.get(cursor) ?? createListing().begin()
  cursors.clear()
  return listing.begin()
}

async function contractOf(state: State, name: string, about: About): Promise<string> {
  const tools = await wholeList(state, name, about)
  const contract = await contractFor(state, name, about.signal)
  if (contract === undefined)
    throw new UnknownTool(`the gateway does not let this agent use ${state.prefix}${name}`)
  const why = objectionTo(name, contract, tools)
  if (why === undefined) return contract.name
  report(state, { name, digest: tools.of(name)?.digest, why })
  throw new UnknownTool(why)
}

/**
 * Returns the complete list, which is needed to choose a contract.
 *
 * @throws NotExecuted
 */
async function wholeList(state: State, name: string, about: About): Promise<Tools> {
  for (let lists = 0; lists < MOST_LISTS; lists++) {
    const known = state.listing.whole()
    if (known !== undefined) return known
    state.underWay ??= list(state, about).finally(() => (state.underWay = undefined))
    // all waiting calls share the request, so no single call may cancel it
    const failed = await orAborted(
      state.underWay.then(() => undefined, asError),
      about,
    )
    if (failed !== undefined) throw notListed(state, name, failed)
  }
  throw notListed(state, name, new Late('the list changes each time it is requested'))
}

/** The error for a server that does not answer in time. A later request for the list may succeed. */
class Late extends Error {}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(messageOf(error)))

function notListed({ server, note }: State, name: string, failed: Error): NotExecuted {
  const why = `the MCP server \`${server}\` did not list its tools: ${failed.message}`
  note(`${why}; the call of \`${name}\` is refused`)
  const advice = `Without the list, no contract can be trusted to be the contract of \`${name}\`: the operator of the server must make it answer \`tools/list\``
  return new (failed instanceof Late ? StillPending : UnknownTool)(`${why}. ${advice}`)
}

/** Requests all pages from the server. Rejects when a page does not arrive in time. */
async function list({ ask, listing, listWithinMs }: State, { meta }: About): Promise<void> {
  const { progressToken: _, ...own } = objectIn(meta)
  const common = Object.keys(own).length > 0 ? { _meta: own } : {}
  const late = new AbortController()
  const timer = setTimeout(
    () => late.abort(new Late(`no answer within ${listWithinMs / 1_000} s`)),
    listWithinMs,
  )
  try {
    const pages = listing.begin()
    let cursor: string | undefined
    for (let count = 0; count < MOST_PAGES; count++) {
      const params = { ...common, ...(cursor === undefined ? {} : { cursor }) }
      cursor = pages.learn(await ask('tools/list', params, late.signal))
      if (cursor === undefined) return
    }
    throw new Error(`the list has more than ${MOST_PAGES} pages`)
  } finally {
    clearTimeout(timer)
  }
}

/** @throws NotExecuted when the contract of that name belongs to another tool, or two contracts belong to this tool */
async function contractFor(
  state: State,
  name: string,
  signal: AbortSignal,
): Promise<ResolvedTool | undefined> {
  for (const isFresh of [false, true]) {
    const tools = await contracts(state, isFresh, signal)
    const [found, ...others] = tools.filter(
      ({ source }) => source?.server === state.server && source.name === name,
    )
    if (others.length > 0)
      throw new UnknownTool(`two contracts name \`${name}\` of server \`${state.server}\` as their source`)
    if (found !== undefined) return found
    const spelled = tools.find((one) => one.name === state.prefix + name)
    if (spelled !== undefined && spelled.source === undefined) return spelled
    if (spelled?.source !== undefined && isFresh) throw ofAnother(state, name, spelled.source)
  }
  return undefined
}

function ofAnother(
  { server }: State,
  name: string,
  source: NonNullable<ResolvedTool['source']>,
): NotExecuted {
  return new UnknownTool(
    `the contract is for \`${source.name}\` of server \`${source.server}\`, not for \`${name}\` of server \`${server}\`. Import the tool, or name the server with --server`,
  )
}

/**
 * Reads all contracts of this agent.
 *
 * @throws NotExecuted
 */
async function contracts(
  state: State,
  isFresh: boolean,
  signal: AbortSignal | undefined,
): Promise<readonly ResolvedTool[]> {
  const now = performance.now()
  if (!isFresh && state.known !== undefined && now - state.known.at < FRESH_MS) return state.known.tools
  const { tools } = await withRetry(() => state.client.resolve([], { signal }), { signal })
  state.known = { at: now, tools }
  return tools
}

/** Returns the reason why the contract must not judge a call of the tool; undefined when it may judge the call. */
function objectionTo(name: string, { source }: ResolvedTool, tools: Tools): string | undefined {
  const listed = tools.of(name)
  if (listed === undefined) return `the server does not list \`${name}\``
  if (source?.digest === undefined) return sinceFirst(name, listed)
  return listed.digest === source.digest
    ? undefined
    : `the server's tool \`${name}\` differs from the tool for which its contract was made: read the difference and accept it with \`countersign add tool --update\``
}

/**
 * Returns the reason why a tool without a digest in its contract is refused; undefined when the tool equals its first
 * listing.
 */
function sinceFirst(name: string, { digest, first }: Listed): string | undefined {
  return digest !== undefined && digest === first
    ? undefined
    : `the server's tool \`${name}\` has changed since this proxy started: check it, and start the proxy again`
}

/**
 * Returns the page. The reason replaces the description of each refused tool, because a model must not read a changed
 * description.
 */
async function marked(state: State, page: Tools, result: JsonObject): Promise<JsonObject> {
  const known = await contracts(state, false, undefined).catch(() => [])
  let changed = false
  if (!Array.isArray(result['tools'])) return result
  const tools = (result['tools'] as readonly JsonValue[]).map((tool): JsonValue => {
    const name = isObject(tool) ? tool['name'] : undefined
    const why = typeof name === 'string' ? whyRefused(state, page, name, known) : undefined
    if (typeof name !== 'string' || why === undefined) return tool
    changed = true
    report(state, { name, digest: page.of(name)?.digest, why })
    return { name, description: `Refused: ${why}.`, inputSchema: { type: 'object' } }
  })
  return changed ? ({ ...result, tools } as JsonObject) : result
}

function whyRefused(
  state: State,
  page: Tools,
  name: string,
  known: readonly ResolvedTool[],
): string | undefined {
  const { server, prefix } = state
  const contract =
    known.find(({ source }) => source?.server === server && source.name === name) ??
    known.find((one) => one.name === prefix + name && one.source === undefined)
  if (contract !== undefined) return objectionTo(name, contract, page)
  const listed = page.of(name)
  return listed && sinceFirst(name, listed)
}

interface Refused {
  readonly name: string
  readonly digest: string | undefined
  readonly why: string
}

/** Reports a refused tool on standard error and in evidence, once for each description. */
function report(state: State, { name, digest, why }: Refused): void {
  const key = JSON.stringify([name, digest])
  if (state.reported.has(key)) return
  state.reported.add(key)
  const said = `${why}; calls to it are refused`
  state.note(said)
  const payload = { server: state.server, tool: name, ...(digest === undefined ? {} : { digest }) }
  const event = { event_type: 'mcp.tool.refused', event_summary: said, payload }
  void withRetry(() => state.client.record(state.taskId, event)).catch((error: unknown) =>
    state.note(`the gateway did not record the refusal: ${messageOf(error)}`),
  )
}
