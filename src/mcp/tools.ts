import type { JsonObject, JsonValue } from '../contract/json.ts'
import { attempt } from '../sdk/attempt.ts'
import { type Client, NotExecuted, type ResolvedTool } from '../sdk/index.ts'
import { createListing, type Listed } from './listing.ts'
import { type Id, isObject, objectIn } from './message.ts'

/**
 * Which contract a call of the server's tool is judged by (docs/agent-side.md): the one that says so in its `source`, never one that only has
 * the same name. A tool that is not as its contract was made for runs no more.
 */
export interface Tools {
  /** The gateway's name of the tool. `meta` is that of the call. @throws NotExecuted */
  contractOf(name: string, about: About): Promise<string>
  /** The client asks for the list of tools. */
  asked(id: Id, params: JsonValue | undefined): void
  /** The answer as the client may read it, when `id` is of such a question; the same object where nothing is to be said. */
  answered(id: Id, result: JsonObject): Promise<JsonObject> | undefined
  outdated(): void
}

export interface About {
  readonly signal: AbortSignal
  readonly meta: JsonValue | undefined
}

export interface ToolsParts {
  readonly client: Client
  readonly taskId: string
  /** Whose tools they are, as contracts name it. */
  readonly server: string
  readonly prefix: string
  readonly note: (text: string) => void
  /** Asks the server itself. Rejects when there is no answer, or an error. */
  readonly ask: (method: string, params: JsonObject) => Promise<JsonObject>
}

/** Contracts that were read so long ago are read again. */
const FRESH_MS = 5_000
const MOST_PAGES = 1_000

export function createTools(parts: ToolsParts): Tools {
  const state: State = {
    ...parts,
    listing: createListing(),
    questions: new Map(),
    told: new Set(),
    contracts: undefined,
  }
  return {
    contractOf: (name, about) => contractOf(state, name, about),
    asked: (id, params) => void state.questions.set(id, typeof objectIn(params)['cursor'] !== 'string'),
    answered: (id, result) => {
      const isFirst = state.questions.get(id)
      if (isFirst === undefined) return undefined
      state.questions.delete(id)
      state.listing.learn(result, isFirst)
      return marked(state, result)
    },
    outdated: () => state.listing.outdated(),
  }
}

interface State extends ToolsParts {
  readonly listing: ReturnType<typeof createListing>
  /** The client's open questions for the list, and whether each asks for its beginning. */
  readonly questions: Map<Id, boolean>
  /** Tools that were said to differ, with their digest: each is said once. */
  readonly told: Set<string>
  contracts: { readonly at: number; readonly tools: readonly ResolvedTool[] } | undefined
}

async function contractOf(state: State, name: string, about: About): Promise<string> {
  const contract = await contractFor(state, name, about.signal)
  const spelled = state.prefix + name
  if (contract?.source?.digest !== undefined && !state.listing.isWhole()) await list(state, about)
  const why = contract && objectionTo(state, name, contract)
  if (why !== undefined) {
    tell(state, name, why)
    throw new NotExecuted('unknown_tool', why)
  }
  // without a contract the gateway refuses, in its own words
  return contract?.name ?? spelled
}

/** @throws NotExecuted where the contract of that name is for another tool, or two are for this one */
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
      throw new NotExecuted('unknown_tool', `two contracts are for \`${name}\` of server \`${state.server}\``)
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
  return new NotExecuted(
    'unknown_tool',
    `the contract of this name is for \`${source.name}\` of server \`${source.server}\`, not for \`${name}\` of server \`${server}\`: import the tool, or name the server with --server`,
  )
}

/** All that this agent may use. @throws NotExecuted */
async function contracts(
  state: State,
  isFresh: boolean,
  signal: AbortSignal | undefined,
): Promise<readonly ResolvedTool[]> {
  const now = performance.now()
  if (!isFresh && state.contracts !== undefined && now - state.contracts.at < FRESH_MS)
    return state.contracts.tools
  const { tools } = await attempt(() => state.client.resolve([], { signal }), { signal })
  state.contracts = { at: now, tools }
  return tools
}

/** Why a call of the tool must not be judged by the contract; undefined when it may. */
function objectionTo({ listing }: State, name: string, { source }: ResolvedTool): string | undefined {
  const listed = listing.of(name)
  if (source?.digest === undefined) return listed && sinceListed(name, listed, [...listing.names()])
  if (!listing.isWhole())
    return `the server does not say what \`${name}\` is: it may differ from its contract`
  if (listed === undefined) return `the server does not list \`${name}\``
  return listed.digest === source.digest
    ? undefined
    : `the server's tool \`${name}\` differs from the one that its contract was made for: read the difference and accept it with \`countersign import mcp --update\``
}

/** Of a contract without a digest, only what the server says itself can be compared. */
function sinceListed(name: string, { digest, first }: Listed, names: readonly string[]): string | undefined {
  if (digest === undefined || digest !== first)
    return `the server's tool \`${name}\` is another one than when this proxy started: look at it, and start the proxy again`
  const twin = names.find((other) => other !== name && oldName(other) === name)
  return (
    twin &&
    `the contract may have been made for \`${twin}\`, which was once called \`${name}\` too: import the tools again with \`countersign import mcp --update\``
  )
}

/** What \`import\` called a tool before contracts had a source. */
function oldName(name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_.:/-]+/g, '_').slice(0, 120)
  return plain.replace(/^[^A-Za-z0-9]+/, '').replace(/[^A-Za-z0-9]+$/, '') || 'tool'
}

/** Asks the server for all pages. What it does not say is not known, and its tools do not run. */
async function list({ ask, listing, note }: State, { meta }: About): Promise<void> {
  const { progressToken: _, ...own } = objectIn(meta)
  const common = Object.keys(own).length > 0 ? { _meta: own } : {}
  let cursor: string | undefined
  try {
    for (let pages = 0; pages < MOST_PAGES; pages++) {
      const page = await ask('tools/list', { ...common, ...(cursor === undefined ? {} : { cursor }) })
      listing.learn(page, cursor === undefined)
      const { nextCursor } = page
      if (typeof nextCursor !== 'string') return
      cursor = nextCursor
    }
  } catch (error) {
    note(`the server does not list its tools: ${(error as Error).message}`)
  }
}

/** The list with a word on each tool that runs no more: its new description is nothing that a model should read. */
async function marked(state: State, result: JsonObject): Promise<JsonObject> {
  const known = await contracts(state, false, undefined).catch(() => [])
  let changed = false
  const tools = (result['tools'] as readonly JsonValue[] | undefined)?.map((tool) => {
    const why = isObject(tool) ? whyRefused(state, tool, known) : undefined
    if (!isObject(tool) || why === undefined) return tool
    changed = true
    const { name } = tool
    tell(state, typeof name === 'string' ? name : JSON.stringify(name), why)
    return {
      name,
      description: `Refused: ${why}.`,
      inputSchema: { type: 'object' },
    }
  })
  return changed ? ({ ...result, tools } as JsonObject) : result
}

/** While the list is not whole, what it lacks is not known. */
function whyRefused(state: State, tool: JsonObject, known: readonly ResolvedTool[]): string | undefined {
  const { name } = tool
  if (typeof name !== 'string') return undefined
  const { server, prefix, listing } = state
  const contract =
    known.find(({ source }) => source?.server === server && source.name === name) ??
    known.find((one) => one.name === prefix + name && one.source === undefined)
  const listed = listing.of(name)
  if (contract?.source?.digest === undefined)
    return listed && sinceListed(name, listed, contract === undefined ? [] : [...listing.names()])
  return listed?.digest === contract.source.digest
    ? undefined
    : objectionTo({ ...state, listing: { ...listing, isWhole: () => true } }, name, contract)
}

/** Once, on standard error and in evidence. */
function tell(state: State, name: string, why: string): void {
  const found = state.listing.of(name)?.digest ?? ''
  const key = JSON.stringify([name, found])
  if (state.told.has(key)) return
  state.told.add(key)
  state.note(`${why}; calls to it are refused`)
  const payload = { server: state.server, tool: name, ...(found === '' ? {} : { digest: found }) }
  const event = { event_type: 'mcp.tool.refused', event_summary: `${why}; calls to it are refused`, payload }
  void attempt(() => state.client.record(state.taskId, event)).catch((error: unknown) =>
    state.note(`the gateway did not record it: ${(error as Error).message}`),
  )
}
