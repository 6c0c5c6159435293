import { type Because, hiddenReason, MOST_REASONS, reasonValue } from '../../domain/because.ts'
import { isObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import type { CompiledTest } from '../language/compiled-test.ts'
import type { Facts } from '../language/facts.ts'
import { applyFunction, resultText } from '../language/functions.ts'
import { compileTest, type Test } from '../language/operators.ts'
import { readsMembers } from '../language/test-parts.ts'
import type { EntryMatch } from '../language/entries.ts'
import { payloadName } from '../language/payload-path.ts'
import { type Applied, MISSING, SEVERAL_UNREADABLE, UNREADABLE, walk } from '../language/reading.ts'
import { isSensitive } from '../language/sensitive.ts'
import type { FiredRule } from '../language/snapshot.ts'
import { not, TRUE, type Truth, UNKNOWN } from '../language/truth.ts'
import { NOTHING } from '../schema/when-missing.ts'
import {
  type ConditionNode,
  foldCondition,
  joinTruths,
  type LeafNode,
  truthOfLeaf,
  valueOfLeaf,
} from './conditions.ts'
import { createRun, type Program } from './program.ts'
import type { CompiledLimit, CompiledRule } from './run.ts'
import { remember } from '../language/remember.ts'

/**
 * Adds to each fired rule the values that made it fire, and the risk that it sets. Only rules that fired are read
 * again, with the facts of the decision.
 */
export function withReasons(
  program: Program,
  facts: Omit<Facts, 'tool'>,
  fired: readonly FiredRule[],
): readonly FiredRule[] {
  const known = remember(
    byId,
    program,
    () => new Map([...program.rules, ...program.limits].map((rule) => [rule.ir.id, rule] as const)),
  )
  const run = createRun(program, facts)
  return fired.map((one) => {
    const rule = known.get(one.id)
    if (rule === undefined) return one
    const because = bounded(rule.condition === undefined ? ofLimit(rule, run) : ofRule(rule, one, run), run)
    const { risk } = rule
    return risk === undefined ? { because, ...one } : { because, risk, ...one }
  })
}

const byId = new WeakMap<Program, ReadonlyMap<string, CompiledRule | CompiledLimit>>()

/** The reasons without repetitions, values of the call first. Values of sensitive fields are hidden. */
function bounded(reasons: Iterable<Because>, { tool }: Facts): readonly Because[] {
  const found = new Map<string, Because>()
  for (const one of reasons) {
    const shown = isSensitive(tool.sensitive, one.field) ? hiddenReason(one) : one
    const key = JSON.stringify([shown.field, shown.read])
    if (!found.has(key)) found.set(key, shown)
    if (found.size === MOST_LOOKED_AT) break
  }
  const isOwn = ({ field }: Because): boolean => field.startsWith('payload')
  const all = [...found.values()]
  return [...all.filter(isOwn), ...all.filter((one) => !isOwn(one))].slice(0, MOST_REASONS)
}

/** The maximum number of reasons to collect, so that facts beside the payload do not crowd out its values. */
const MOST_LOOKED_AT = 4 * MOST_REASONS

function ofRule({ condition }: CompiledRule, { unknown }: FiredRule, facts: Facts): Iterable<Because> {
  return ofCondition(condition, unknown ? UNKNOWN : TRUE, facts)
}

function* ofLimit({ sum, per }: CompiledLimit, facts: Facts): Generator<Because> {
  for (const leaf of [sum, per]) {
    const value = leaf && valueOfLeaf(leaf, facts)
    if (leaf === undefined || value === undefined) continue
    const field = leaf.field.name
    if (value === MISSING || value === NOTHING) yield { field, state: 'missing' }
    else yield typeof value === 'symbol' ? { field, state: 'unreadable' } : { field, value: textOf(value) }
  }
}

/** Yields the values that give the condition this truth. */
function* ofCondition(node: ConditionNode, truth: Truth, facts: Facts): Generator<Because> {
  if (node.kind === 'leaf') yield* ofTest(node, truth, facts)
  else if (node.kind === 'not') yield* ofCondition(node.item, not(truth), facts)
  else for (const item of decidingIn(node.items, truth, facts)) yield* ofCondition(item, truth, facts)
}

/**
 * The items with this truth. An exception that did not apply comes before other items that hold. Items that fail are
 * ordered by how many of their tests held, because the call came closest to the first.
 */
function decidingIn(items: readonly ConditionNode[], truth: Truth, facts: Facts): readonly ConditionNode[] {
  const held = (node: ConditionNode): number =>
    node.kind === 'all' ? node.items.findIndex((one) => truthOf(one, facts) !== TRUE) : 0
  const rank = (node: ConditionNode): number => (truth === TRUE ? Number(node.kind === 'not') : held(node))
  const deciding = items.filter((item) => truthOf(item, facts) === truth)
  return deciding.length < 2 ? deciding : deciding.toSorted((a, b) => rank(b) - rank(a))
}

function truthOf(node: ConditionNode, facts: Facts): Truth {
  return foldCondition(node, (leaf) => truthOfLeaf(leaf, facts), joinTruths)
}

function* ofTest(leaf: LeafNode, truth: Truth, facts: Facts): Generator<Because> {
  const value = valueOfLeaf(leaf, facts)
  const entry = entryTestOf(leaf.test, truth)
  const raw = leaf.read(facts)
  if (entry === undefined || !Array.isArray(value) || value.length === 0 || raw === MISSING)
    return yield whole(leaf, value, facts)
  yield* ofEntries(leaf, raw as JsonValue, entry, facts)
}

/** Yields the values that decide about a test of entries, for `explain`. */
export function reasonsOfEntries(leaf: LeafNode, truth: Truth, facts: Facts): readonly Because[] {
  return readsMembers(leaf.test) ? bounded(ofTest(leaf, truth, facts), facts) : []
}

interface EntryTest {
  readonly test: Test
  /** The truth of the entries that decide. */
  readonly truth: Truth
}

/** The test of each entry behind a test of a list; undefined for a test of the whole value. */
function entryTestOf(test: Test, truth: Truth): EntryTest | undefined {
  if (test.op === 'not') return entryTestOf(test.test, not(truth))
  if (test.op === 'none') return { test: test.test, truth: not(truth) }
  if (test.op === 'some' || test.op === 'every') return { test: test.test, truth }
  if (test.op === 'count' && test.where) return { test: test.where, truth: truth === UNKNOWN ? truth : TRUE }
  return test.op === 'contains' ? { test: { op: 'is', values: test.values }, truth } : undefined
}

const compiled = new WeakMap<Test, CompiledTest>()

const compiledOf = (test: Test): CompiledTest => remember(compiled, test, () => compileTest(test))

/** Yields the entries that decide, each with the part of it that the test read. */
function* ofEntries(leaf: LeafNode, raw: JsonValue, entry: EntryTest, facts: Facts): Generator<Because> {
  const list = Array.isArray(raw) ? (raw as readonly JsonValue[]) : undefined
  const of = list?.length
  for (const [i, item] of (list ?? [raw]).entries()) {
    const field = list === undefined ? leaf.field.name : `${leaf.field.name}[${i}]`
    yield* ofEntry(leaf, item, { ...entry, field, of, facts })
  }
}

function* ofEntry(
  { fn }: LeafNode,
  item: JsonValue,
  { test, truth, field, of, facts }: EntryTest & Judging,
): Generator<Because> {
  const check = compiledOf(test)
  const results = fn === undefined ? undefined : applyFunction(fn, [item])
  for (const result of resultsOf(results, item)) {
    if (check(result) !== truth) continue
    if (fn === undefined && readsMembers(test) && isObject(item))
      yield* ofMatch(test, truth, { field, facts, entry: item })
    else
      yield reason({ field, of: of ?? (Array.isArray(results) ? results.length : 1) }, item, {
        result,
        truth,
        fn: fn !== undefined,
      })
  }
}

interface Judging extends Pick<Because, 'field'> {
  /** The number of entries of a list; undefined for a string. */
  readonly of: number | undefined
  readonly facts: Facts
}

interface EntryFacts {
  /** The entry as policies write it: `payload.lines[3]`. */
  readonly field: string
  readonly entry: JsonObject
  readonly facts: Facts
}

/** Yields the members that give a test of one entry this truth. */
function* ofMatch(test: Test, truth: Truth, at: EntryFacts): Generator<Because> {
  if (test.op === 'not') yield* ofMatch(test.test, not(truth), at)
  else if (test.op === 'match') yield* ofMembers(test.match, truth, at)
}

/** An entry is a small call, whose payload is the entry. */
function* ofMembers(node: EntryMatch<Test>, truth: Truth, at: EntryFacts): Generator<Because> {
  const { field, entry, facts } = at
  if (node.kind === 'not') return yield* ofMembers(node.item, not(truth), at)
  if (node.kind !== 'leaf') {
    for (const item of node.items)
      if (compiledOf({ op: 'match', match: item })(entry) === truth) yield* ofMembers(item, truth, at)
    return
  }
  const { path, fn, test } = node
  const name = `${field}${payloadName(path).slice('payload'.length)}`
  const call = { ...facts.call, payload: entry }
  const leaf: LeafNode = {
    kind: 'leaf',
    number: -1,
    read: () => walk(entry, path),
    check: compiledOf(test),
    whenMissing: node.whenMissing,
    field: { name, root: 'payload', path },
    fn,
    test,
  }
  yield* ofTest(leaf, truth, { ...facts, call })
}

function resultsOf(results: Applied | undefined, item: JsonValue): readonly Applied[] {
  if (results === undefined) return [item]
  if (!Array.isArray(results)) return [results]
  return (results as readonly (JsonValue | symbol)[]).map((one) =>
    one === SEVERAL_UNREADABLE ? UNREADABLE : (one as Applied),
  )
}

interface Judged {
  readonly result: Applied
  readonly truth: Truth
  /** True for the result of a function. */
  readonly fn: boolean
}

function reason(
  place: Pick<Because, 'field' | 'of'>,
  item: JsonValue,
  { result, truth, fn }: Judged,
): Because {
  if (truth === UNKNOWN) return { state: 'unreadable', ...place }
  return { value: reasonValue(item), ...place, ...(fn && readOf(result)) }
}

const textOf = (value: Exclude<Applied, symbol>): NonNullable<Because['read']> | null =>
  reasonValue(value as JsonValue)

const readOf = (result: Applied): Pick<Because, 'read'> =>
  typeof result === 'symbol' ? {} : { read: reasonValue(resultText(result as JsonValue)) }

/** The value as a whole, or the reason why the test cannot read it. */
function whole(leaf: LeafNode, value: Applied | typeof NOTHING, facts: Facts): Because {
  const field = leaf.field.name
  const raw = leaf.read(facts)
  const isRead = value !== NOTHING && leaf.check(value) !== UNKNOWN
  if (raw === MISSING || value === NOTHING)
    return { field, state: 'missing', ...(isRead && value !== MISSING && readOf(value)) }
  if (raw === UNREADABLE || !isRead) return { field, state: 'unreadable' }
  const shown = { field, value: reasonValue(raw) }
  if (leaf.test.op === 'count' && Array.isArray(value))
    return { read: value.length, of: value.length, ...shown }
  return leaf.fn !== undefined || raw === null ? { ...readOf(value), ...shown } : shown
}
