import { fieldsOf } from '../language/history.ts'
import type { Test } from '../language/operators.ts'
import { testsIn } from '../language/test-parts.ts'
import { leavesIn } from '../language/tree.ts'
import type { FieldIr, NodeIr } from '../language/rule.ts'
import { payloadName, fieldText } from '../language/fields.ts'
import { holdsObjects } from '../schema/possible.ts'
import type { Doc } from '../yaml/parse.ts'
import type { MatchContext } from './match.ts'

interface Read {
  readonly nodes: readonly (NodeIr | undefined)[]
  /** The matches that let a call pass: those of an allow rule, and each `unless`. */
  readonly passing: readonly { readonly node: NodeIr | undefined; readonly at: Doc | undefined }[]
}

/**
 * Reports an index into a list of objects where it lets a call pass, because the rule does not see the other entries.
 * A rule that bounds the list is fine.
 */
export function checkIndexes(context: MatchContext, { nodes, passing }: Read): void {
  const bounded = new Set(nodes.flatMap((node) => (node ? boundedIn(node) : [])))
  for (const { node, at } of passing) {
    if (!node || !at) continue
    for (const field of fieldsOf({ when: node })) {
      const list = listOfObjects(context, field)
      if (list === undefined || bounded.has(list)) continue
      const message = `\`${fieldText(field)}\` reads one entry of \`${list}\`, so the rule does not see the others`
      const hint = `test all entries with \`every\`, or bound the list: \`${list}: { count: 1 }\``
      context.reader.report('entry-by-index', keyOf(at, fieldText(field)) ?? at, message, hint)
    }
  }
}

/** Returns the list of objects into which the field has an index. */
export function listOfObjects({ tools, fieldValues }: MatchContext, field: FieldIr): string | undefined {
  if (field.root !== 'payload') return undefined
  const depths = field.path.flatMap((step, depth) => (typeof step === 'number' ? [depth] : []))
  const lists = depths.map((depth) => field.path.slice(0, depth))
  const found = lists.find((path) =>
    tools.some((tool) => {
      const { lists: one } = fieldValues.of(tool, { name: payloadName(path), root: 'payload', path })
      return one !== undefined && holdsObjects(one.element())
    }),
  )
  return found && payloadName(found)
}

/** Returns the lists whose entries or whose number a match tests. */
const boundedIn = (node: NodeIr): readonly string[] =>
  leavesIn(node).flatMap(({ field, test }) => (field.fn === undefined && bounds(test) ? [field.name] : []))

const OF_ENTRIES: readonly Test['op'][] = ['every', 'none']
const AT_MOST: readonly Test['op'][] = ['is', 'under', 'at_most']

/** Returns true for a test of all entries, or of the most entries. */
function bounds(test: Test): boolean {
  if (test.op === 'count')
    return test.where === undefined && [...testsIn(test.test)].some(({ op }) => AT_MOST.includes(op))
  if ('tests' in test) return test.tests.some(bounds)
  return OF_ENTRIES.includes(test.op) || ('test' in test && bounds(test.test))
}

/** Returns the position of the line of a match that names the field; undefined inside a condition with a name. */
function keyOf(doc: Doc, name: string): Pick<Doc, 'mark'> | undefined {
  if (doc.kind === 'list') return doc.items.map((item) => keyOf(item, name)).find((found) => found)
  if (doc.kind !== 'map') return undefined
  const own = doc.entries.find(({ key }) => key === name)
  return own
    ? { mark: own.keyMark }
    : doc.entries.map(({ value }) => keyOf(value, name)).find((found) => found)
}
