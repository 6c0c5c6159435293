import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { otherToolOf } from '../../src/mcp/old-names.ts'
import { runs } from '../runs.ts'

describe('a contract without a source', () => {
  it.each([
    ['run', ['run', '_run'], '_run'],
    ['run', ['run', 'run!'], 'run!'],
    ['run', ['run', '  run'], '  run'],
    ['run_2', ['run_2', 'run', '_run'], 'run'],
    ['run_2', ['run_2', 'run', 'Run'], 'run'],
    ['run_10', ['run_10', 'run', 'Run'], 'run'],
    ['a_b_2', ['a_b_2', 'a b', 'a/b'], 'a b'],
    ['tool', ['tool', '!'], '!'],
  ])('%s may belong to another tool among %j', (name, names, other) => {
    expect(otherToolOf(name, names, '')).toBe(other)
  })

  it.each([
    ['run', ['run', 'Run', 'run_2', 'runs']],
    ['run_2', ['run_2', 'run']],
    ['run_1', ['run_1', 'run', 'Run']],
    ['a/b', ['a/b', 'a_b']],
  ])('%s belongs to its own tool among %j', (name, names) => {
    expect(otherToolOf(name, names, '')).toBeUndefined()
  })

  it('is compared with its prefix', () => {
    expect(otherToolOf('run', ['run', '_run'], 'files.')).toBeUndefined()
    expect(otherToolOf('a_b', ['a_b', 'a b'], 'files.')).toBe('a b')
  })

  it('never judges a tool for which the old import may have meant another one', () => {
    const name = fc.string({
      unit: fc.constantFrom('a', 'A', '_', '/', '!', '2'),
      minLength: 1,
      maxLength: 5,
    })
    const lists = fc.uniqueArray(name, { minLength: 2, maxLength: 6 })
    fc.assert(
      fc.property(lists, fc.constantFrom('', 'p.'), (names, prefix) => {
        for (const [tool, contract] of oldImport(names, prefix)) {
          const called = names.find((other) => prefix + other === contract)
          if (called === undefined || called === tool) continue
          expect(otherToolOf(called, names, prefix)).toBeDefined()
        }
      }),
      { numRuns: runs(2_000) },
    )
  })
})

/** The names that `countersign import mcp` gave the tools of a list, before contracts had a source. */
function oldImport(names: readonly string[], prefix: string): Map<string, string> {
  const taken = new Set<string>()
  const fileOf = (name: string): string => name.replaceAll(/[:/]/g, '_').toLowerCase()
  const called = new Map<string, string>()
  for (const tool of names) {
    const plain = `${prefix}${tool}`.replaceAll(/[^A-Za-z0-9_.:/-]+/g, '_').slice(0, 120)
    const base = plain.replace(/^[^A-Za-z0-9]+/, '').replace(/[^A-Za-z0-9]+$/, '') || 'tool'
    let name = base
    for (let n = 2; taken.has(fileOf(name)); n++) name = `${base}_${n}`
    taken.add(fileOf(name))
    called.set(tool, name)
  }
  return called
}
