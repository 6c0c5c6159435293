import type { EntryMatch } from '../language/entries.ts'
import type { Test } from '../language/operators.ts'
import type { NodeIr, RuleIr } from '../language/rule.ts'

/** Programs with options or words that write, delete or run something. */
const WIDE: readonly unknown[] = ['git', 'find', 'sort', 'sed', 'awk', 'rg', 'tar']

/** Returns a program that an allow rule names without a closed list of its options or arguments. */
export function openProgram({ verdict, when }: RuleIr): string | undefined {
  return verdict === 'allow' && when ? inNode(when) : undefined
}

function inNode(node: NodeIr): string | undefined {
  if (node.kind === 'not') return undefined
  if (node.kind !== 'leaf') return firstOf(node.items, inNode)
  return node.field.fn === 'shell_commands' ? inTest(node.test) : undefined
}

function inTest(test: Test): string | undefined {
  if ('match' in test) return isClosed(test.match) ? undefined : inMatch(test.match)
  if ('tests' in test) return firstOf(test.tests, inTest)
  return test.op === 'every' || test.op === 'some' ? inTest(test.test) : undefined
}

function inMatch(node: EntryMatch<Test>): string | undefined {
  if (node.kind === 'not' || isClosed(node)) return undefined
  if (node.kind !== 'leaf') return firstOf(node.items, inMatch)
  const { path, test } = node
  if (path[0] !== 'program' || test.op !== 'is') return undefined
  const found = test.values.find((value) => WIDE.includes(String(value).replace(/.*\//s, '')))
  return found === undefined ? undefined : String(found)
}

function firstOf<T>(items: readonly T[], find: (item: T) => string | undefined): string | undefined {
  return items.map(find).find((found) => found !== undefined)
}

/** Returns true when the match holds only for commands whose options or arguments are on a list. */
function isClosed(node: EntryMatch<Test>): boolean {
  if (node.kind === 'not') return false
  if (node.kind !== 'leaf')
    return node.kind === 'all' ? node.items.some(isClosed) : node.items.every(isClosed)
  const [first, ...rest] = node.path
  if (first === 'text') return isList(node.test)
  return (first === 'options' || first === 'arguments') && rest.length === 0 && closes(node.test)
}

function closes(test: Test): boolean {
  if (test.op === 'none') return test.test.op === 'not' && isList(test.test.test)
  if (test.op === 'count') return test.where === undefined && test.test.op === 'is'
  return test.op === 'every' && isList(test.test)
}

const isList = ({ op }: Test): boolean => op === 'is' || op === 'matches'
