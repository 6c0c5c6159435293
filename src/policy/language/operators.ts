import type { DiagnosticCode } from '../report/diagnostics.ts'
import {
  compileEntries,
  compileEquality,
  compileText,
  every,
  judge,
  none,
  some,
  textsIn,
  type CompiledTest,
  type JoinEntries,
  type PrepareText,
  type Scalar,
} from './compiled-test.ts'
import { compileEntry, type EntryMatch, type Member } from './entries.ts'
import { beginning, ending, exactly, holding, likeGlob, type Glob } from './glob.ts'
import { isInNetwork, networkEdges, networkProblem } from './networks.ts'
import { compilePattern, patternProblem } from './patterns.ts'
import { MISSING, UNREADABLE, SEVERAL_UNREADABLE, type Applied, type AppliedElement } from './reading.ts'
import { compileGlob } from '../text/text.ts'
import { daysAround, isDate, isFrom, isUntil } from './time.ts'
import { allOf, not, TRUE, truthOf, UNKNOWN, type Truth } from './truth.ts'
import { leavesIn } from './tree.ts'
import { remember } from './remember.ts'

/** The members of a checked test, except its name, by the kind of operand in a rule file. */
interface Operands {
  readonly none: object
  readonly number: { readonly value: number }
  readonly texts: { readonly values: readonly string[] }
  readonly scalars: { readonly values: readonly Scalar[] }
  /** A test of the same value, of each entry of a list, or of the length of a list. */
  readonly test: { readonly test: Test }
  readonly 'entry test': { readonly test: Test }
  /** `where` is a test of each entry. Only the entries that pass count. */
  readonly 'length test': { readonly test: Test; readonly where?: Test }
  readonly tests: { readonly tests: readonly Test[] }
  readonly match: { readonly match: EntryMatch<Test> }
}
export type Operand = keyof Operands

/** One value of the operand, as a rule file has it. */
interface Written {
  readonly number: number
  readonly texts: string
}

/**
 * The points at which a test's answer can change. Two values on the same side of all cuts get the same answer. `diff`
 * and the checks derive their examples from the cuts.
 */
export interface Cuts {
  readonly numbers?: readonly number[]
  /** Strings that serve directly as examples. */
  readonly texts?: readonly string[]
  /** A string passes when one of the globs or one of the patterns matches it. */
  readonly globs?: readonly Glob[]
  readonly patterns?: readonly string[]
  /** Tests of each entry of a list, and of its length. */
  readonly entries?: readonly Test[]
  readonly lengths?: readonly Test[]
  /** Tests of the members of an object. */
  readonly members?: readonly Member<Test>[]
  /** Answers may also change at other points, so `diff` reports `sampled`, never `complete`. */
  readonly opaque?: true
}

/** The type that a test accepts. Any other value is UNKNOWN; `explain` gives the reason, such as `not a number`. */
export type Of = 'anything' | 'scalar' | 'number' | 'text' | 'list' | 'text or list'

export interface OperandProblem {
  readonly code: DiagnosticCode
  readonly message: string
  readonly hint?: string
}

/**
 * All facts about one operator of the language. Check, compile, explain, diff, lint, the editor and the reference use
 * this row.
 */
export interface Operator<O extends Operand = Operand> {
  readonly of: Of
  readonly operand: O
  compile(given: Operands[O]): CompiledTest
  cuts(given: Operands[O]): Cuts
  /** Returns the problem of the number, or of one string of the operand; otherwise undefined. */
  refuses?(written: Written[O & keyof Written], name: string): OperandProblem | undefined
  /** Describes the test in words. The default is its name and its operand. */
  words?(texts: readonly string[]): string
  /** Set for tests of the entries of a list. */
  readonly joinEntries?: JoinEntries
  /** `presence`: no default replaces a missing field. `null`: `missing_means` does not replace null. */
  readonly asks?: 'presence' | 'null'
  /** The name of the opposite operator. */
  readonly inverse?: string
  /** The reason that `explain` gives for a string that the test cannot judge. */
  readonly unreadable?: string
  /** Set when the operand's strings name whole values, such as tools. */
  readonly names?: 'exactly' | 'by glob'
  /** One sentence for the editor and the reference. */
  readonly doc: string
}

function presence(wanted: boolean, inverse: string, doc: string): Operator<'none'> {
  return {
    of: 'anything',
    operand: 'none',
    asks: 'presence',
    inverse,
    doc,
    // Null is UNKNOWN, because some tools treat null as a missing argument and others do not.
    compile: () => (value) =>
      value === UNREADABLE || value === null ? UNKNOWN : truthOf((value !== MISSING) === wanted),
    cuts: () => ({}),
  }
}

function number(doc: string, holds: (value: number, limit: number) => boolean): Operator<'number'> {
  return {
    of: 'number',
    operand: 'number',
    doc,
    compile:
      ({ value: limit }) =>
      (value) =>
        typeof value === 'number' && Number.isFinite(value) ? truthOf(holds(value, limit)) : UNKNOWN,
    cuts: ({ value }) => ({ numbers: [value] }),
  }
}

/**
 * Creates a string operator, which is true when it is true for one string of its operand. Without `cuts`, the operator
 * is opaque.
 */
function text(
  doc: string,
  prepare: PrepareText,
  { cuts = () => ({ opaque: true }), ...rest }: TextOptions = {},
): Operator<'texts'> {
  return {
    of: 'text',
    operand: 'texts',
    doc,
    refuses: (wanted, name) => (wanted === '' ? emptyText(name) : undefined),
    ...rest,
    compile: ({ values }) => compileText(values.map(prepare)),
    cuts: ({ values }) => cuts(values),
  }
}

interface TextOptions extends Pick<Operator<'texts'>, 'refuses' | 'names' | 'unreadable'> {
  readonly cuts?: (texts: readonly string[]) => Cuts
}

function emptyText(name: string, holds = 'every text'): OperandProblem {
  return { code: 'bad-value', message: `\`${name}\` of an empty text holds for ${holds}` }
}

const globs =
  (make: (text: string) => Glob) =>
  (texts: readonly string[]): Cuts => ({ globs: texts.map(make) })

function list(doc: string, joinEntries: JoinEntries): Operator<'entry test'> {
  return {
    of: 'list',
    operand: 'entry test',
    doc,
    joinEntries,
    compile: ({ test }) => compileEntries(compileTest(test), joinEntries),
    cuts: ({ test }) => ({ entries: [test] }),
  }
}

const isNull: Operator<'none'> = {
  of: 'anything',
  operand: 'none',
  asks: 'null',
  doc: 'Null; written `{ is: null }`.',
  words: () => 'is null',
  compile: () => (value) => (value === UNREADABLE || value === MISSING ? UNKNOWN : truthOf(value === null)),
  cuts: () => ({}),
}

const is: Operator<'scalars'> = {
  of: 'scalar',
  operand: 'scalars',
  names: 'exactly',
  doc: 'Equal to one of them.',
  words: (texts) => (texts.length === 1 ? `is ${texts[0]}` : `is one of ${texts.join(', ')}`),
  compile: ({ values }) => compileEquality(values),
  cuts({ values }) {
    const texts = textsIn(values)
    return { numbers: values.filter((value) => typeof value === 'number'), texts, globs: texts.map(exactly) }
  },
}

const contains: Operator<'scalars'> = {
  of: 'text or list',
  operand: 'scalars',
  names: 'exactly',
  doc: 'A substring of a text, a member of a list.',
  joinEntries: some,
  compile({ values }) {
    const texts = textsIn(values)
    const member = compileEntries(compileEquality(values), some)
    return (value) => {
      if (typeof value !== 'string') return member(value)
      if (texts.length === 0) return UNKNOWN
      return judge(value, (one) => texts.some((part) => one.includes(part)))
    }
  },
  cuts: ({ values }) => ({ globs: textsIn(values).map(holding), entries: [{ op: 'is', values }] }),
}

const count: Operator<'length test'> = {
  of: 'list',
  operand: 'length test',
  doc: 'The number of entries; with `where`, of those that pass a test.',
  compile({ test, where }) {
    const inner = compileTest(test)
    const passes = where && compileTest(where)
    return (value) => {
      if (!Array.isArray(value)) return UNKNOWN
      const items = value as readonly AppliedElement[]
      if (items.includes(SEVERAL_UNREADABLE)) return UNKNOWN
      if (passes === undefined) return inner(items.length)
      return inAnyNumber((items as readonly Applied[]).map(passes), inner)
    }
  },
  cuts: ({ test, where }) =>
    where === undefined ? { lengths: [test] } : { lengths: [test], entries: [where], opaque: true },
}

/** Tests each number of entries that may pass. Different answers make UNKNOWN. */
function inAnyNumber(truths: readonly Truth[], test: CompiledTest): Truth {
  const least = truths.filter((truth) => truth === TRUE).length
  const most = least + truths.filter((truth) => truth === UNKNOWN).length
  const answer = test(least)
  for (let length = least + 1; length <= most; length++) if (test(length) !== answer) return UNKNOWN
  return answer
}

const opposite: Operator<'test'> = {
  of: 'anything',
  operand: 'test',
  doc: 'The opposite; unknown stays unknown.',
  compile({ test }) {
    const inner = compileTest(test)
    return (value) => not(inner(value))
  },
  cuts: ({ test }) => cutsOf(test),
}

/** The operator for several tests in one mapping. Rule files have no name for it. */
const and: Operator<'tests'> = {
  of: 'anything',
  operand: 'tests',
  doc: 'All of them hold.',
  compile({ tests }) {
    const all = tests.map((test) => compileTest(test))
    const ask = (test: CompiledTest, value: Applied): Truth => test(value)
    return (value) => allOf(all, ask, value)
  },
  cuts: ({ tests }) => joinCuts(tests.map(cutsOf)),
}

function joinCuts(all: readonly Cuts[]): Cuts {
  return {
    numbers: all.flatMap(({ numbers = [] }) => numbers),
    texts: all.flatMap(({ texts = [] }) => texts),
    globs: all.flatMap((one) => one.globs ?? []),
    patterns: all.flatMap(({ patterns = [] }) => patterns),
    entries: all.flatMap(({ entries = [] }) => entries),
    lengths: all.flatMap(({ lengths = [] }) => lengths),
    members: all.flatMap(({ members = [] }) => members),
    ...(all.some(({ opaque }) => opaque) && { opaque: true }),
  }
}

/** The operator for a match about one entry. Rule files have no name for it. */
const match: Operator<'match'> = {
  of: 'anything',
  operand: 'match',
  doc: 'The match holds for the entry.',
  compile: ({ match: node }) => compileEntry(node, compileTest),
  cuts: ({ match: node }) => ({ members: leavesIn(node) }),
}

const searchPattern: PrepareText = (wanted) => {
  const compiled = compilePattern(wanted)
  if (!compiled.ok) throw new Error(`pattern passed the check and does not compile: ${compiled.problem}`)
  return (value) => compiled.pattern.test(value)
}

const refusesGlob: Operator<'texts'>['refuses'] = (wanted, name) =>
  wanted === '' ? { ...emptyText(name, 'the empty text only'), hint: "write `{ is: '' }`" } : undefined

const refusesNetwork: Operator<'texts'>['refuses'] = (wanted) => {
  const message = networkProblem(wanted)
  const hint = 'write its first address and the length of its prefix, such as `10.0.0.0/8`'
  return message === undefined ? undefined : { code: 'bad-value', message, hint }
}

const DATES: TextOptions = {
  cuts: (dates) => ({ texts: dates.flatMap(daysAround), opaque: true }),
  refuses(wanted) {
    const message = `\`${wanted}\` is not a date`
    return isDate(wanted) ? undefined : { code: 'bad-value', message, hint: 'write it as 2027-01-31' }
  },
  unreadable: 'not a date',
}

/** The operators of the language, one row each. `cuts` may be `opaque` when no better cuts are known. */
const ROWS = {
  missing: presence(false, 'present', 'The field is not there.'),
  present: presence(true, 'missing', 'The field is there.'),
  null: isNull,
  is,
  contains,
  over: number('Above the number.', (value, limit) => value > limit),
  at_least: number('The number or above.', (value, limit) => value >= limit),
  under: number('Below the number.', (value, limit) => value < limit),
  at_most: number('The number or below.', (value, limit) => value <= limit),
  starts_with: text('Begins with one of them.', (part) => (value) => value.startsWith(part), {
    cuts: globs(beginning),
  }),
  ends_with: text('Ends with one of them.', (part) => (value) => value.endsWith(part), {
    cuts: globs(ending),
  }),
  like: text('Fits one of them as a whole; `*` is any run of characters.', compileGlob, {
    cuts: globs(likeGlob),
    refuses: refusesGlob,
    names: 'by glob',
  }),
  matches: text(
    'One of them, a regular expression (RE2), is found anywhere; anchor it with ^ and $.',
    searchPattern,
    {
      cuts: (patterns) => ({ patterns }),
      refuses: (wanted, name) => (wanted === '' ? emptyText(name) : patternProblem(wanted)),
    },
  ),
  in_network: text('One IP address in one of these networks, such as `10.0.0.0/8`.', isInNetwork, {
    cuts: (networks) => ({ texts: networks.flatMap(networkEdges), opaque: true }),
    refuses: refusesNetwork,
    unreadable: 'not an IP address',
  }),
  from: text('A date: this day or a later one.', isFrom, DATES),
  until: text('A date: this day or an earlier one.', isUntil, DATES),
  not: opposite,
  some: list('At least one entry passes.', some),
  every: list('All entries pass; of an empty list unknown.', every),
  none: list('No entry passes.', none),
  count,
  and,
  match,
}

export type OperatorName = keyof typeof ROWS
type OperandOf<K extends OperatorName> = (typeof ROWS)[K]['operand']

/** A checked test, as plain data. */
export type Test = { readonly [K in OperatorName]: TestBy<K> }[OperatorName]
export type TestBy<K extends OperatorName> = { readonly op: K } & Operands[OperandOf<K>]
/** The names of the operators with one kind of operand. */
export type NameWith<O extends Operand> = {
  [K in OperatorName]: OperandOf<K> extends O ? K : never
}[OperatorName]

export const OPERATORS: { readonly [K in OperatorName]: Operator<OperandOf<K>> } = ROWS

export function compileTest<K extends OperatorName>(test: TestBy<K>): CompiledTest {
  const row: Operator<OperandOf<K>> = OPERATORS[test.op]
  return row.compile(test)
}

const knownCuts = new WeakMap<object, Cuts>()

/** Returns the same object for the same test, so that the tests inside it are compiled once. */
export function cutsOf<K extends OperatorName>(test: TestBy<K>): Cuts {
  const row: Operator<OperandOf<K>> = OPERATORS[test.op]
  return remember(knownCuts, test, () => row.cuts(test))
}

/** Returns the names of the operators with one kind of operand, in the order of the table. */
export function namesWith<O extends Operand>(operand: O): readonly NameWith<O>[] {
  return NAMES.filter((name): name is NameWith<O> => OPERATORS[name].operand === operand)
}

const NAMES = Object.keys(OPERATORS) as readonly OperatorName[]

const NAMELESS: readonly Operand[] = ['none', 'tests', 'match']

/** The operators that have an operand in a rule file. */
export const WRITTEN_NAMES: readonly OperatorName[] = NAMES.filter(
  (name) => !NAMELESS.includes(OPERATORS[name].operand),
)
