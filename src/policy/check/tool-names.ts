import type { FieldIr } from '../language/rule.ts'
import { OPERATORS, WRITTEN_NAMES } from '../language/operators.ts'
import { didYouMean } from '../text/nearest.ts'
import type { Doc, DocEntry } from '../yaml/parse.ts'
import type { Reader } from '../yaml/shape.ts'
import { compileGlob, showForeign } from '../text/text.ts'

/** A tool name that may lack a contract without an error, because the tool was removed or will be added later. */
export interface ToolUse {
  readonly name: string
  /** True when `*` in the name matches any characters. */
  readonly isGlob: boolean
  readonly at: Doc
}

/** Returns the tools that directory.yaml lets agents use. Accepts only a checked document. */
export function toolsOfAgents(directory: Doc): readonly ToolUse[] {
  return entriesOf(memberOf(directory, 'tenants'))
    .flatMap((tenant) => entriesOf(memberOf(tenant.value, 'agents')))
    .flatMap((agent) => textsIn(memberOf(agent.value, 'tools'), true))
}

/** Returns the tools that a test of `agent.tools` or `task.tools` looks for; empty for any other field. */
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

/** Returns the names in a string or a list of strings. Skips a `$list`, because other fields may share it. */
function textsIn(doc: Doc | undefined, isGlob: boolean): readonly ToolUse[] {
  if (doc?.kind === 'list') return doc.items.flatMap((item) => textsIn(item, isGlob))
  return doc?.kind === 'text' && !doc.value.startsWith('$') ? [{ name: doc.value, isGlob, at: doc }] : []
}

const entriesOf = (doc: Doc | undefined): readonly DocEntry[] => (doc?.kind === 'map' ? doc.entries : [])
const memberOf = (doc: Doc, key: string): Doc | undefined =>
  entriesOf(doc).find((entry) => entry.key === key)?.value

/** Reports the tools without a contract. If no known name is similar, `hint` states the effect. */
export type ReportTools = (reader: Reader, uses: readonly ToolUse[], hint: string) => void

/** Creates the report function, which looks up each name once. */
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

/** Returns true when a tool matches the glob. `*` alone always matches. */
function isMatched(glob: string, names: readonly string[]): boolean {
  return /^\*+$/.test(glob) || names.some(compileGlob(glob))
}
