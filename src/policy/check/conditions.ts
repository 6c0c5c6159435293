import type { NodeIr } from '../language/rule.ts'
import { MAX_YAML_NODES } from '../text/bounds.ts'
import { didYouMean } from '../text/nearest.ts'
import type { Doc, DocEntry } from '../yaml/parse.ts'
import { checkName, readMap, readText, RULE_ID, type NamePattern, type Reader } from '../yaml/shape.ts'
import { showForeign } from '../text/text.ts'
import { remember } from '../language/remember.ts'

const CONDITION_NAME: NamePattern = { ...RULE_ID, what: 'name of a condition' }

/** The conditions with a name of one rule file. The check puts a condition's match where a match names it. */
export interface Conditions {
  /** Returns the match of the condition that `doc` names. `user` is the rule or condition that names it. */
  readonly use: (doc: Doc, user: string) => NodeIr | undefined
  /** Reports the findings inside conditions, with the users of each, and the conditions without a user. */
  readonly report: () => void
}

interface Condition {
  readonly entry: DocEntry
  readonly users: Set<string>
  readonly findings: Parameters<Reader['report']>[]
  state: 'new' | 'open' | { readonly match: NodeIr | undefined }
  /** The number of conditions on the longest way from this one into those that it contains. */
  height: number
}

/** The most conditions that contain one another, because each may itself be as deep as a file. */
const MAX_HEIGHT = 8

/** The check of the conditions of one file. */
interface Reading {
  readonly reader: Reader
  readonly check: CheckCondition
  readonly known: ReadonlyMap<string, Condition>
  /** The conditions whose matches are checked at the moment, each inside the one before. */
  readonly open: Condition[]
  readonly sizes: Map<NodeIr, number>
  /** The number of lines that the uses of conditions save. */
  lines: number
}

/** Checks the match of a condition, with a reader for its findings. */
type CheckCondition = (reader: Reader, match: Doc, name: string) => NodeIr | undefined

/** Reads the conditions of a rule file. Each condition is checked once. */
export function readConditions(reader: Reader, doc: Doc | undefined, check: CheckCondition): Conditions {
  const known = new Map<string, Condition>()
  for (const entry of (doc && readMap(reader, doc, '`conditions`')?.entries) ?? [])
    if (checkName(reader, { mark: entry.keyMark }, entry.key, CONDITION_NAME))
      known.set(entry.key, { entry, users: new Set(), findings: [], state: 'new', height: 1 })
  const reading: Reading = { reader, check, known, open: [], sizes: new Map(), lines: 0 }
  return {
    use: (at, user) => use(reading, at, user),
    report() {
      for (const condition of known.values()) reportCondition(reading, condition)
    },
  }
}

function use(reading: Reading, at: Doc, user: string): NodeIr | undefined {
  const { reader, known } = reading
  const name = readText(reader, at, '`condition`')
  if (name === undefined) return undefined
  const condition = known.get(name)
  condition?.users.add(user)
  if (condition) return putIn(reading, at, condition)
  const hint = didYouMean(name, known.keys()) ?? 'write it under `conditions:` of this file'
  const message = `no condition named \`${showForeign(name)}\``
  return reader.report('unknown-condition', at, message, hint)
}

function putIn(reading: Reading, at: Doc, condition: Condition): NodeIr | undefined {
  const { reader, open, sizes } = reading
  const refuse = (message: string): undefined => reader.report('bad-value', at, message)
  if (condition.state === 'open') {
    const message = `condition \`${condition.entry.key}\` contains itself`
    return reader.report('condition-cycle', at, message)
  }
  const isFull = open.length >= MAX_HEIGHT
  const match = isFull ? undefined : matchOf(reading, condition)
  const user = open.at(-1)
  if (user) user.height = Math.max(user.height, condition.height + 1)
  if (isFull || (user?.height ?? 1) > MAX_HEIGHT)
    return refuse(`more than ${MAX_HEIGHT} conditions contain one another`)
  reading.lines += match === undefined ? 0 : sizeOf(match, sizes)
  if (reading.lines <= MAX_YAML_NODES) return match
  return refuse(`the conditions of this file stand for more than ${MAX_YAML_NODES} lines`)
}

function matchOf({ reader, check, open }: Reading, condition: Condition): NodeIr | undefined {
  if (typeof condition.state === 'object') return condition.state.match
  condition.state = 'open'
  open.push(condition)
  const { entry, findings } = condition
  const own: Reader = { ...reader, report: (...finding) => void findings.push(finding) }
  const match = check(own, entry.value, entry.key)
  condition.state = { match }
  open.pop()
  return match
}

/** Counts the lines of a match with its conditions, so that short conditions never become a huge rule. */
function sizeOf(node: NodeIr, sizes: Map<NodeIr, number>): number {
  if (node.kind === 'leaf') return 1
  const items = node.kind === 'not' ? [node.item] : node.items
  return remember(sizes, node, () => items.reduce((sum, item) => sum + sizeOf(item, sizes), 1))
}

function reportCondition(reading: Reading, condition: Condition): void {
  const { reader } = reading
  const { entry, users, findings } = condition
  matchOf(reading, condition)
  const name = `condition \`${entry.key}\``
  const where = `(in ${name}, used by ${[...users].join(', ') || 'nothing'})`
  for (const [code, at, message, hint] of findings) reader.report(code, at, `${message} ${where}`, hint)
  if (users.size === 0) reader.report('unused-condition', { mark: entry.keyMark }, `no rule uses ${name}`)
}
