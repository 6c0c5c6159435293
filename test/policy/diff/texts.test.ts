import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { globMachine } from '../../../src/policy/diff/machines.ts'
import { likeGlob } from '../../../src/policy/language/glob.ts'
import { patternMachine } from '../../../src/policy/diff/pattern-machine.ts'
import { textsOfLength } from '../../../src/policy/diff/long-texts.ts'
import { searchTexts } from '../../../src/policy/diff/texts.ts'
import { compilePattern } from '../../../src/policy/language/patterns.ts'
import { compileGlob } from '../../../src/policy/text/text.ts'
import { runs } from '../../runs.ts'

const PATTERNS = [
  '^a+$',
  '\\bab\\b',
  '[^a-c]',
  '(?i)ab$',
  '^(a|b){2}$',
  '^.b',
  '\\d',
  '(?m)^b$',
  '\\Bb',
  '^(?:[^\\n]*\\n){3}',
  'a|^$',
  '[[:alpha:]]{2,}',
]
const GLOBS = ['a*', '*a*b*', '*ab', 'a*a', 'ab', '*', 'a**b', '*aab*']
const near = fc
  .array(fc.constantFrom('a', 'b', 'A', 'B', ' ', '1', '\n', 'é', 'c', '-'), { maxLength: 7 })
  .map((parts) => parts.join(''))

/** True if one of the examples gets the same answer from every test as the text. */
function covers(
  texts: readonly string[],
  tests: readonly ((text: string) => boolean)[],
  text: string,
): boolean {
  return texts.some((example) => tests.every((test) => test(example) === test(text)))
}

describe('the examples of texts', () => {
  it('the examples of texts cover every combination of pattern matches that a text can have', () => {
    const patterns = fc.uniqueArray(fc.constantFrom(...PATTERNS), { minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(patterns, fc.array(near, { minLength: 20, maxLength: 20 }), (sources, drawn) => {
        const machines = sources.map((source) => patternMachine(source)).filter((one) => one !== undefined)
        expect(machines).toHaveLength(sources.length)
        const { texts, complete } = searchTexts(machines)
        expect(complete).toBe(true)
        const tests = sources.map((source) => {
          const compiled = compilePattern(source)
          if (!compiled.ok) throw new Error(compiled.problem)
          return (text: string) => compiled.pattern.test(text)
        })
        for (const text of drawn) expect(covers(texts, tests, text)).toBe(true)
      }),
      { numRuns: runs(500) },
    )
  })

  it('the examples of texts cover every combination of glob matches that a text can have', () => {
    const globs = fc.uniqueArray(fc.constantFrom(...GLOBS), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(globs, fc.array(near, { minLength: 20, maxLength: 20 }), (sources, drawn) => {
        const { texts, complete } = searchTexts([globMachine(sources.map(likeGlob))])
        expect(complete).toBe(true)
        const tests = sources.map(compileGlob)
        for (const text of drawn) expect(covers(texts, tests, text)).toBe(true)
      }),
      { numRuns: runs(500) },
    )
  })

  it('the examples of texts are incomplete when there are too many combinations', () => {
    const machine = patternMachine('^(?:[^\\n]*\\n){20}')
    expect(machine && searchTexts([machine], 10)).toMatchObject({ complete: false })
  })

  it('the examples of texts have a given length, in every possible combination of matches', () => {
    const some = fc.record({
      globs: fc.uniqueArray(fc.constantFrom(...GLOBS), { maxLength: 3 }),
      sources: fc.uniqueArray(fc.constantFrom(...PATTERNS), { maxLength: 2 }),
      drawn: fc.array(near, { minLength: 20, maxLength: 20 }),
    })
    fc.assert(
      fc.property(some, ({ globs, sources, drawn }) => {
        const machines = sources.map(patternMachine).filter((one) => one !== undefined)
        const all = [globMachine(globs.map(likeGlob)), ...machines]
        const tests = [
          ...globs.map(compileGlob),
          ...sources.map((source) => {
            const compiled = compilePattern(source)
            if (!compiled.ok) throw new Error(compiled.problem)
            return (text: string) => compiled.pattern.test(text)
          }),
        ]
        for (const text of drawn) {
          const { texts, complete } = textsOfLength(all, text.length)
          expect(complete).toBe(true)
          expect(new Set(texts.map((one) => Array.from(one).length))).toEqual(new Set([text.length]))
          expect(covers(texts, tests, text)).toBe(true)
        }
      }),
      { numRuns: runs(300) },
    )
  })

  it('may be long, and stop when they are too long together', () => {
    const long = textsOfLength([globMachine([likeGlob('feature/*')])], 10_001)
    expect(long.complete).toBe(true)
    expect(long.texts.map((text) => [text.length, text.startsWith('feature/')])).toContainEqual([
      10_001,
      true,
    ])
    const many = globMachine([likeGlob('*a*b*c*d*e*f*g*')])
    expect(textsOfLength([many], 4_000_001)).toEqual({ texts: [], complete: false })
  })
})
