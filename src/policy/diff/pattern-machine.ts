import { RE2JS } from 're2js'
import type { Machine, State } from './machines.ts'

/**
 * Builds the automaton of a `matches` test, or of a `pattern` in a contract, from the compiled program of RE2JS, which
 * also decides calls. The program is not a public interface. For a program with an unexpected shape, returns undefined,
 * and `diff` reports an incomplete difference.
 */
export function patternMachine(source: string): Machine | undefined {
  const program = programOf(source)
  if (program === undefined) return undefined
  const { start, inst } = program
  const matched: State = [MATCHED]
  const cares = inst.reduce((all, { op, arg }) => (op === EMPTY_WIDTH ? all | arg : all), 0)
  return {
    start: [BEGIN],
    step(state, character) {
      if (state[0] === MATCHED) return matched
      const [before = BEGIN, ...waiting] = state
      const runes = reach(inst, [...waiting, start], emptyWidths(before, character))
      if (runes === undefined) return matched
      const next = runes.flatMap((at) => (inst[at]?.matchRune(character) === true ? [inst[at].out] : []))
      return [kindSeen(character, cares), ...[...new Set(next)].sort((a, b) => a - b)]
    },
    boundaries: [...inst.flatMap(boundariesOf), ...WORD_BOUNDARIES],
  }
}

interface Instruction {
  readonly op: number
  readonly out: number
  readonly arg: number
  readonly runes: ArrayLike<number>
  matchRune(character: number): boolean
}
interface Program {
  readonly start: number
  readonly inst: readonly Instruction[]
}

const ALT = 1
const ALT_MATCH = 2
const CAPTURE = 3
const EMPTY_WIDTH = 4
const MATCH = 6
const NOP = 7
const RUNE = 8
const RUNE_ANY_NOT_NL = 11

function programOf(source: string): Program | undefined {
  const { prog } = RE2JS.compile(source).re2Input as { readonly prog?: Partial<Program> }
  if (typeof prog?.start !== 'number' || !Array.isArray(prog.inst)) return undefined
  const inst = prog.inst as readonly Instruction[]
  const known = inst.every(
    (one) => one.op >= ALT && one.op <= RUNE_ANY_NOT_NL && one.runes !== undefined && 'matchRune' in one,
  )
  return known ? { start: prog.start, inst } : undefined
}

/** Returns the instructions that expect a character next; undefined when the pattern has matched. */
function reach(
  inst: readonly Instruction[],
  from: readonly number[],
  widths: number,
): readonly number[] | undefined {
  const seen = new Set<number>()
  const waiting: number[] = []
  const open = [...from]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const one = inst[at]
    if (seen.has(at) || one === undefined) continue
    seen.add(at)
    if (one.op === MATCH) return undefined
    if (one.op >= RUNE) waiting.push(at)
    else open.push(...nextOf(one, widths))
  }
  return waiting
}

function nextOf({ op, out, arg }: Instruction, widths: number): readonly number[] {
  if (op === ALT || op === ALT_MATCH) return [out, arg]
  if (op === CAPTURE || op === NOP) return [out]
  return op === EMPTY_WIDTH && (arg & ~widths) === 0 ? [out] : []
}

/** The possible first members of a state: the match, or the kind of the previous character. */
const MATCHED = -1
const BEGIN = -2
const NEWLINE = -3
const WORD = -4
const OTHER = -5
const LINE_FEED = 10
const WORD_BOUNDARIES = [0x30, 0x3a, 0x41, 0x5b, 0x5f, 0x60, 0x61, 0x7b, LINE_FEED, LINE_FEED + 1]

function kindOf(character: number): number {
  if (character === LINE_FEED) return NEWLINE
  return /\w/.test(String.fromCodePoint(character)) ? WORD : OTHER
}

/**
 * Returns the kind of a character for later conditions, or OTHER when no condition in the pattern depends on the kind.
 */
function kindSeen(character: number, cares: number): number {
  const kind = kindOf(character)
  if (kind === WORD) return (cares & (WORD_BOUNDARY | NO_WORD_BOUNDARY)) === 0 ? OTHER : WORD
  return kind === NEWLINE && (cares & BEGIN_LINE) === 0 ? OTHER : kind
}

/** The library's flags for conditions between two characters. */
const BEGIN_LINE = 1
const END_LINE = 2
const BEGIN_TEXT = 4
const WORD_BOUNDARY = 16
const NO_WORD_BOUNDARY = 32

/** Returns the conditions that are true between two characters. */
function emptyWidths(before: number, character: number): number {
  const beginLine = before === BEGIN || before === NEWLINE ? BEGIN_LINE : 0
  const endLine = character === LINE_FEED ? END_LINE : 0
  const beginText = before === BEGIN ? BEGIN_TEXT : 0
  const boundary = (before === WORD) !== (kindOf(character) === WORD) ? WORD_BOUNDARY : NO_WORD_BOUNDARY
  return beginLine | endLine | beginText | boundary
}

function boundariesOf({ op, runes }: Instruction): readonly number[] {
  if (op < RUNE) return []
  const list = Array.from(runes)
  if (list.length !== 1) return list.map((rune, i) => (i % 2 === 0 ? rune : rune + 1))
  const text = String.fromCodePoint(list[0] ?? 0)
  const cases = [text, text.toLowerCase(), text.toUpperCase()].map((one) => one.codePointAt(0) ?? 0)
  return cases.flatMap((rune) => [rune, rune + 1])
}
