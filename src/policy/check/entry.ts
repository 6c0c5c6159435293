import { type EntryMatch, type Member, memberName, memberText } from '../language/entries.ts'
import {
  type FieldProblem,
  fieldText,
  isFieldProblem,
  isMemberText,
  parseMember,
  payloadName,
} from '../language/fields.ts'
import type { Test } from '../language/operators.ts'
import { givesEntries } from '../language/function-names.ts'
import { FUNCTIONS } from '../language/functions.ts'
import { asksPresence } from '../language/test-parts.ts'
import type { FieldIr } from '../language/rule.ts'
import type { ToolContract } from '../language/snapshot.ts'
import { joined } from '../language/tree.ts'
import { hasReadable, type Values } from '../schema/possible.ts'
import { describeKinds } from '../schema/possible-words.ts'
import type { DocEntry, Doc } from '../yaml/parse.ts'
import type { Mark } from '../yaml/source.ts'
import { readMap } from '../yaml/shape.ts'
import { checkLines } from './lines.ts'
import { checkPayloadField, type PathContext } from './path.ts'
import { checkTest, type TestContext } from './test.ts'
import { checkFit, checkFunction } from './types.ts'

interface EntryContext extends TestContext, PathContext {}

/** A list, of which a match reads one entry. */
interface EntryOf {
  readonly list: FieldIr
  /** The contracts that have the list; for the entries of a function, the form of its results. */
  readonly tools: readonly ToolContract[]
  /** The name that `missing_means` uses: `payload.lines[].parts`. */
  readonly every: string
  readonly depth: number
}

/** Lists inside entries of lists are deep enough for orders, plans and pods. */
const MAX_DEPTH = 2

/** Returns the context in which the tests of a field are checked. */
export function contextOf<T extends EntryContext>(context: T, field: FieldIr): T {
  return inside(context, { list: field, tools: context.tools, every: field.name, depth: 1 })
}

function inside<T extends EntryContext>(context: T, of: EntryOf): T {
  return { ...context, tested: undefined, checkEntry: (entry) => checkEntry(context, of, entry) }
}

function checkEntry(context: EntryContext, of: EntryOf, doc: Doc): EntryMatch<Test> | undefined {
  const map = readMap(context.reader, doc, 'a match')
  if (map === undefined) return undefined
  if (of.depth > MAX_DEPTH) {
    const message = `a match reaches ${MAX_DEPTH} levels of lists, not more`
    return context.reader.report('unknown-field', map, message)
  }
  const kind = kindWithoutMembers(context, of)
  if (kind !== undefined) {
    const message = `an entry of \`${fieldText(of.list)}\` is ${kind}, which has no fields`
    return context.reader.report('test-type', map, message, 'test the entry itself')
  }
  return checkLines(context.reader, map, {
    empty: ['an empty match would hold for every entry'],
    inside: (inner) => checkEntry(context, of, inner),
    line: (entry) => checkLine(context, of, entry),
  })
}

function checkLine(context: EntryContext, of: EntryOf, entry: DocEntry): EntryMatch<Test> | undefined {
  const { key, keyMark } = entry
  const member = isMemberText(key) ? parseMember(key) : undefined
  if (member === undefined || isFieldProblem(member))
    return reportNoMember(context, { mark: keyMark }, key, member)
  return checkMember(context, of, { entry, member })
}

function reportNoMember(
  { reader }: EntryContext,
  at: { readonly mark: Mark },
  key: string,
  problem: FieldProblem | undefined,
): undefined {
  const hint =
    problem?.hint ?? `a field of the entry begins with a dot; \`${key}\` is written beside the list`
  const message = problem?.message ?? `\`${key}\` is not a field of the entry`
  reader.report(problem?.code ?? 'unknown-field', at, message, hint)
}

interface Line {
  readonly entry: DocEntry
  readonly member: FieldIr
}

function checkMember(
  context: EntryContext,
  of: EntryOf,
  { entry: { keyMark, value }, member }: Line,
): EntryMatch<Test> | undefined {
  const at = { mark: keyMark }
  const { list, ...below } = placeOf(of, member)
  const { fn } = member
  const field = fn === undefined ? list : { ...list, fn }
  const own = { ...context, tools: below.tools }
  const test = checkTest(inside(own, { list: field, ...below }), value)
  const presence = (test !== undefined && asksPresence(test)) || context.declared.has(below.every)
  checkPayloadField(own, field, { at, presence })
  checkFunction(own, field, at)
  if (test === undefined) return undefined
  checkFit(own, field, value)
  return split(member, test)
}

/** Each part of several tests has its own replacement for a missing member. */
function split({ path, fn }: Pick<Member<Test>, 'path' | 'fn'>, test: Test): EntryMatch<Test> | undefined {
  if (test.op === 'and')
    return joined(
      'all',
      test.tests.map((one) => split({ path, fn }, one)),
    )
  return { kind: 'leaf', path, ...(fn && { fn }), test }
}

/** Returns the member of the first entry as a field. Entries of a function have a form in place of a contract. */
function placeOf({ list, tools, every, depth }: EntryOf, { path }: FieldIr): EntryOf {
  const step = { every: memberName(every, path), depth: depth + 1 }
  if (givesEntries(list.fn)) {
    const form = { name: list.fn, inputSchema: FUNCTIONS[list.fn].entry } as unknown as ToolContract
    return { ...step, tools: [form], list: { root: 'payload', name: memberText({ path }), path } }
  }
  const whole = [...list.path, 0, ...path]
  return { ...step, tools, list: { root: 'payload', name: payloadName(whole), path: whole } }
}

/** Returns what the entries are when no contract declares them as objects. */
function kindWithoutMembers({ fieldValues }: EntryContext, { list, tools }: EntryOf): string | undefined {
  const elements = tools.flatMap((tool) => fieldValues.of(tool, list).lists?.element() ?? [])
  const isScalar = (one: Values): boolean => hasReadable(one) && !one.objects
  return elements[0] && elements.every(isScalar) ? describeKinds(elements[0]) : undefined
}
