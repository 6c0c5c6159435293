import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { OPERATORS, WRITTEN_NAMES } from '../../../src/policy/language/operators.ts'

const PAGE = fileURLToPath(new URL('../../../docs/policy-language.md', import.meta.url))
const HEAD = ['| operator | of | holds for |', '|---|---|---|']

describe('docs/policy-language.md', () => {
  it('lists every operator as the table of operators has it', async () => {
    const lines = readFileSync(PAGE, 'utf8').split('\n')
    const start = lines.indexOf('| operator | of | holds for |')
    const length = lines.slice(start).indexOf('')
    const rows = WRITTEN_NAMES.map(
      (name) => `| \`${name}\` | ${OPERATORS[name].of} | ${OPERATORS[name].doc} |`,
    )
    await expect(lines.toSpliced(start, length, ...HEAD, ...rows).join('\n')).toMatchFileSnapshot(PAGE)
  })
})
