import { expect, it } from 'vitest'
import { compilePattern } from '../../../src/policy/language/patterns.ts'

const patternOf = (source: string) => {
  const compiled = compilePattern(source)
  if (!compiled.ok) throw new Error(compiled.problem)
  return compiled.pattern
}

it('compiles a pattern once, and forgets it before many large ones fill the memory', () => {
  const first = patternOf('^once$')
  expect(patternOf('^once$')).toBe(first)
  for (let number = 0; number < 200; number++) patternOf(`^[a-z]{400}${number}$`)
  expect(patternOf('^once$')).not.toBe(first)
  expect([patternOf('^once$').test('once'), patternOf('^once$').test('twice')]).toEqual([true, false])
})
