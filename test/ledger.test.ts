import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { codeLines, countLines } from '../structure/ledger.mjs'

/** How far a folder may fall below its number before `npm run ledger` lowers it, in lines. */
const SLACK = 150
const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const ledger = JSON.parse(read('structure/ledger.json')) as {
  readonly lines: Readonly<Record<string, number>>
  readonly entered: Readonly<Record<'allowed' | 'held', number>>
}

describe('the ledger of code lines', () => {
  it('no folder has more lines than its number, or many fewer', () => {
    const off = [...countLines()].flatMap(([folder, lines]) => {
      const allowed = ledger.lines[folder] ?? 0
      if (lines > allowed) return `${folder}: ${lines} lines, ${allowed} allowed`
      return allowed - lines > SLACK ? `${folder}: ${lines} lines: \`npm run ledger\` lowers ${allowed}` : []
    })
    expect(off).toEqual([])
  })

  it('every folder with a number exists', () => {
    const folders = countLines()
    expect(Object.keys(ledger.lines).filter((folder) => !folders.has(folder))).toEqual([])
  })

  it('an allowed and a held call enter no more files than their numbers', async () => {
    const script = fileURLToPath(new URL('../bench/files-entered.mjs', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [script, '--json'])
    const entered = JSON.parse(stdout) as typeof ledger.entered
    expect(entered.allowed).toBeLessThanOrEqual(ledger.entered.allowed)
    expect(entered.held).toBeLessThanOrEqual(ledger.entered.held)
  })

  it.each([
    ['a.ts', "import x from 'x'\n\n// one\n/** two\n * three\n */\nconst a = 1 // four\n/* five */\n", 2],
    ['a.tsx', '<p>\n  {/* a\n  b */}\n  text\n</p>\n', 3],
    ['a.css', '/* a\n   b */\np {\n  color: red; /* c */\n}\n', 3],
    ['a.py', '# Generated from b.py by c.py.\n\na = 1\n', 0],
    ['a.py', '"""A\nmodule."""\n\n# b\ndef f():\n    """C."""\n    return """d\ne\n"""\n', 4],
  ])('blanks, comments and docstrings of %s are no code', (path, source, lines) => {
    expect(codeLines(path, source)).toBe(lines)
  })
})
