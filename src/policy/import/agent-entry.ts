import { isMap, isScalar, isSeq, type Pair, parseDocument, type YAMLMap, type YAMLSeq } from 'yaml'
import { compileGlob } from '../text/text.ts'
import { PARSE_OPTIONS } from '../yaml/parse.ts'

/** A tool that an agent may use. The agent need not exist yet. */
export interface Permission {
  readonly tenant: string
  readonly agent: string
  readonly tool: string
  /** The owners of a new agent. */
  readonly owners: readonly string[]
  /** Lets the owners of a new agent vote on its calls, for a tenant without other reviewers. */
  readonly ownersMayVote: boolean
}

/** Returns directory.yaml with the permission; undefined when its tenant has no `agents:` to extend. */
export function withPermission(text: string, permission: Permission): string | undefined {
  const { contents } = parseDocument(text, PARSE_OPTIONS)
  const tenants = isMap(contents) ? contents.get('tenants', true) : undefined
  const tenant = isMap(tenants) ? tenants.get(permission.tenant, true) : undefined
  const agents = isMap(tenant) ? pairOf(tenant, 'agents') : undefined
  if (agents === undefined || !isMap(agents.value)) return undefined
  const agent = agents.value.get(permission.agent, true)
  if (isMap(agent)) return withTool(text, agent, permission.tool)
  return withAgent(text, { key: agents.key, value: agents.value }, permission)
}

const pairOf = (map: YAMLMap, key: string): Pair | undefined =>
  map.items.find((item) => (isScalar(item.key) ? item.key.value : item.key) === key)

/** Adds the tool to an agent that cannot use it yet. An agent without `tools` may use every tool. */
function withTool(text: string, agent: YAMLMap, tool: string): string | undefined {
  const tools = agent.get('tools', true)
  if (tools === undefined) return text
  if (!isSeq(tools)) return undefined
  const globs = tools.items.map((item) => (isScalar(item) ? String(item.value) : ''))
  if (globs.some((glob) => compileGlob(glob)(tool))) return text
  return withItem(text, tools, plain(tool))
}

function withItem(text: string, list: YAMLSeq, item: string): string {
  const [start, end] = [list.range?.[0] ?? 0, list.range?.[1] ?? 0]
  if (list.flow === true) return beforeBracket(text, end, `${list.items.length === 0 ? '' : ', '}${item}`)
  const last = list.items.at(-1)
  const at = isScalar(last) ? (last.range?.[1] ?? end) : end
  return inserted(text, at, `\n${' '.repeat(columnOf(text, start))}- ${item}`)
}

/** The key `agents:` and its value, with their positions in the text. */
interface Agents {
  readonly key: unknown
  readonly value: YAMLMap
}

function withAgent(text: string, { key, value }: Agents, permission: Permission): string {
  const { agent, tool, owners, ownersMayVote } = permission
  const voting = ownersMayVote ? ', prevent_self_review: false' : ''
  const entry = `${plain(agent)}: { owners: [${owners.map(plain).join(', ')}], tools: [${plain(tool)}]${voting} }`
  const [start = 0, end = 0] = value.range ?? []
  if (value.flow === true && value.items.length > 0) return beforeBracket(text, end, `, ${entry}`)
  if (value.flow === true) {
    const indent = ' '.repeat(columnOf(text, isScalar(key) ? (key.range?.[0] ?? 0) : 0) + 2)
    return `${text.slice(0, start).trimEnd()}\n${indent}${entry}${text.slice(end)}`
  }
  // the range of a block map ends at the beginning of the next line
  const before = text.slice(0, end).trimEnd()
  const lineEnd = text.indexOf('\n', before.length)
  return inserted(
    text,
    lineEnd === -1 ? text.length : lineEnd,
    `\n${' '.repeat(columnOf(text, start))}${entry}`,
  )
}

const inserted = (text: string, at: number, more: string): string =>
  `${text.slice(0, at)}${more}${text.slice(at)}`

/** Inserts before the closing bracket, which is the last character before `end`. */
const beforeBracket = (text: string, end: number, more: string): string =>
  inserted(text, text.slice(0, end - 1).trimEnd().length, more)

const columnOf = (text: string, at: number): number => at - (text.lastIndexOf('\n', at - 1) + 1)

/** Returns a name as YAML text, quoted unless YAML reads it as text without quotes. */
const plain = (name: string): string =>
  /^[A-Za-z][\w.-]*$/.test(name) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(name)
    ? name
    : JSON.stringify(name)
