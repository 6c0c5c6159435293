import type { FieldIr } from '../language/rule.ts'
import { OPERATORS, WRITTEN_NAMES } from '../language/operators.ts'
import { didYouMean } from '../language/nearest.ts'
import type { Doc, DocEntry } from '../yaml/parse.ts'
import type { Reader } from '../yaml/shape.ts'
import { compileGlob, showForeign } from '../language/text.ts'

/** A tool that a file names where one without a contract is no error: it may be gone, or yet to come. */
export interface ToolUse {
  readonly name: string
  /** `*` in the name stands for any characters. */
  readonly isGlob: boolean
  readonly at: Doc
}

/** What agents may use, by directory.yaml. Only for a document that was checked. */
export function toolsOfAgents(directory: Doc): readonly ToolUse[] {
  return entriesOf(memberOf(directory, 'tenants'))
    .flatMap((tenant) => entriesOf(memberOf(tenant.value, 'agents')))
    .flatMap((agent) => textsIn(memberOf(agent.value, 'tools'), true))
}

/** The tools that a test of `agent.tools` or `task.tools` looks for; none for any other field. */
export function toolsInHistory({ root, fn }: FieldIr, test: Doc): readonly ToolUse[] {
  return fn === undefined && (root === 'agent.tools' || root === 'task.tools') ? toolsInTest(test) : []
}

function toolsInTest(test: Doc): readonly ToolUse[] {
  if (test.kind === 'text' && (test.value === 'missing' || test.value === 'present')) return []
  if (test.kind !== 'map') return textsIn(test, false)
  return test.entries.flatMap(({ key, value }) => {
    const op = WRITTEN_NAMES.find((name) => name === key)
    if (op === undefined) return []
    const { operand, names } = OPERATORS[op]
    if (operand === 'test' || operand === 'entry test') return toolsInTest(value)
    return names === undefined ? [] : textsIn(value, names === 'by glob')
  })
}

/** Text or a list of texts; a `$list` may serve other fields too. */
function textsIn(doc: Doc | undefined, isGlob: boolean): readonly ToolUse[] {
  if (doc?.kind === 'list') return doc.items.flatMap((item) => textsIn(item, isGlob))
  return doc?.kind === 'text' && !doc.value.startsWith('$') ? [{ name: doc.value, isGlob, at: doc }] : []
}

const entriesOf = (doc: Doc | undefined): readonly DocEntry[] => (doc?.kind === 'map' ? doc.entries : [])
const memberOf = (doc: Doc, key: string): Doc | undefined =>
  entriesOf(doc).find((entry) => entry.key === key)?.value

/** Reports the tools that have no contract; `hint` says what then comes of it, where nothing is near. */
export type ReportTools = (reader: Reader, uses: readonly ToolUse[], hint: string) => void

/** Each name is looked up once, however often it is used. */
export function createToolReport(names: readonly string[]): ReportTools {
  const known = new Set(names)
  const missing = new Map<string, { readonly near: string | undefined } | undefined>()

  function lookUp({ name, isGlob }: ToolUse): { readonly near: string | undefined } | undefined {
    const key = `${isGlob} ${name}`
    if (missing.has(key)) return missing.get(key)
    const found = known.has(name) || (isGlob && isMatched(name, names))
    const near = name.includes('*') ? undefined : didYouMean(name, names)
    const result = found ? undefined : { near }
    missing.set(key, result)
    return result
  }

  return (reader, uses, hint) => {
    for (const use of uses) {
      const result = lookUp(use)
      if (!result) continue
      const starred = use.name.includes('*')
      const message =
        starred && use.isGlob
          ? `no tool with a contract matches \`${use.name}\``
          : `no tool contract named \`${showForeign(use.name)}\``
      const asGlob = starred && !use.isGlob ? `write \`{ like: ${use.name} }\` for a glob` : undefined
      reader.report('tool-without-contract', use.at, message, result.near ?? asGlob ?? hint)
    }
  }
}

/** `*` alone is meant for whatever there is. */
function isMatched(glob: string, names: readonly string[]): boolean {
  return /^\*+$/.test(glob) || names.some(compileGlob(glob))
}
