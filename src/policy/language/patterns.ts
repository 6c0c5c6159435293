import { RE2JS } from 're2js'
import type { DiagnosticCode } from '../report/diagnostics.ts'
import { MAX_PATTERN_CHARACTERS, MAX_PATTERN_PROGRAM } from '../text/bounds.ts'

/** A regular expression whose search takes time linear in the length of the text. */
export interface Pattern {
  test(text: string): boolean
}

export type CompiledPattern =
  | { readonly ok: true; readonly pattern: Pattern; /** Instructions. */ readonly size: number }
  | { readonly ok: false; readonly problem: string }

/** Patterns by their source: check, tests and gateway compile the same ones. Emptied before it grows too large. */
const known = new Map<string, CompiledPattern & { ok: true }>()
let knownSize = 0
/** Instructions that a process keeps: 5 MB in large patterns, 30 MB in thousands of small ones. */
const MOST_KNOWN = 50_000

/**
 * Compiles a pattern for unanchored search. Refuses look-around, back-references and counted repetitions that would
 * produce a huge program. Uses RE2, because the built-in RegExp can take exponential time.
 */
export function compilePattern(source: string): CompiledPattern {
  const before = known.get(source)
  if (before !== undefined) return before
  const compiled = compileSource(source)
  if (compiled.ok) keep(source, compiled)
  return compiled
}

function keep(source: string, compiled: CompiledPattern & { ok: true }): void {
  if (knownSize + compiled.size > MOST_KNOWN) {
    known.clear()
    knownSize = 0
  }
  known.set(source, compiled)
  knownSize += compiled.size
}

function compileSource(source: string): CompiledPattern {
  if (source === '') return refused('an empty pattern matches everything')
  if (source.length > MAX_PATTERN_CHARACTERS)
    return refused(`longer than ${MAX_PATTERN_CHARACTERS} characters`)
  try {
    const compiled = RE2JS.compile(source)
    const size = compiled.programSize()
    if (size > MAX_PATTERN_PROGRAM) return refused('its repetitions make it too large')
    return { ok: true, pattern: compiled, size }
  } catch (error) {
    return refused(describe(error))
  }
}

function refused(problem: string): CompiledPattern {
  return { ok: false, problem }
}

function describe(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  const inner = text.replace(/^error parsing regexp: /, '')
  return /\(\?<?[=!]/.test(inner) ? 'look-around cannot be matched in linear time' : inner
}

const ASCII = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)).join('')
/** Test strings; a useful pattern does not match all of them. The last string is longer than any counted repetition. */
const ANY_TEXTS = ['', ' ', 'x', 'X', '0', '/', `${ASCII}é漢😀`.repeat(10)]

/** Returns true for a pattern that matches every string, such as `ls|` and `x*`. */
export function fitsEveryText(pattern: Pattern): boolean {
  return ANY_TEXTS.every((text) => pattern.test(text))
}

/**
 * Returns true for a pattern with a dot that very likely means a literal dot, as in `api.acme`. The pattern is not
 * anchored at both ends, and the dot is not quantified.
 */
export function hasBareDot(source: string): boolean {
  if (/^(?:\(\?\w+\))?\^/.test(source) && source.endsWith('$')) return false
  const literal = source.replaceAll(/\\./gs, '').replaceAll(/\[[^\]]*\]/g, '')
  return /\w\.\w/.test(literal)
}

/** Returns the error or the likely mistake in a rule's pattern, or undefined. */
export function patternProblem(
  source: string,
): { readonly code: DiagnosticCode; readonly message: string; readonly hint: string } | undefined {
  const compiled = compilePattern(source)
  if (!compiled.ok)
    return {
      code: 'bad-pattern',
      message: `this pattern cannot be used: ${compiled.problem}`,
      hint: '`like` with `*` is simpler and never slow',
    }
  if (fitsEveryText(compiled.pattern))
    return {
      code: 'loose-pattern',
      message: 'this pattern fits every text',
      hint: '`present` asks for any value; `^` and `$` around a pattern ask for the whole text',
    }
  if (!hasBareDot(source)) return undefined
  return {
    code: 'loose-pattern',
    message: 'an unescaped dot matches any character',
    hint: 'write `\\.` for a dot',
  }
}
