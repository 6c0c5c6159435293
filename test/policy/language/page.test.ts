import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type Fact, FACT_NAMES, FACTS, isNeverScope } from '../../../src/policy/language/facts.ts'
import { OPERATORS, WRITTEN_NAMES } from '../../../src/policy/language/operators.ts'

const PAGE = fileURLToPath(new URL('../../../docs/policy-language.md', import.meta.url))

describe('docs/policy-language.md', () => {
  it('lists every operator and every fact as their tables have them', async () => {
    const operators = WRITTEN_NAMES.map(
      (name) => `| \`${name}\` | ${OPERATORS[name].of} | ${OPERATORS[name].doc} |`,
    )
    const facts = FACT_NAMES.map(
      (name) =>
        `| \`${name}\` | ${valueOf(FACTS[name])} | ${isNeverScope(name) ? 'no' : 'yes'} | ${FACTS[name].doc} |`,
    )
    const page = readFileSync(PAGE, 'utf8')
    const filled = withRows(withRows(page, '| operator | of | holds for |', operators), FACT_HEAD, facts)
    await expect(filled).toMatchFileSnapshot(PAGE)
  })
})

const FACT_HEAD = '| fact | value | `per` of a limit | holds |'

/** Replaces the rows of the table with this head. */
function withRows(page: string, head: string, rows: readonly string[]): string {
  const lines = page.split('\n')
  const start = lines.indexOf(head) + 2
  expect(start).toBeGreaterThan(1)
  return lines.toSpliced(start, lines.slice(start).indexOf(''), ...rows).join('\n')
}

function valueOf({ schema, optional }: Fact): string {
  const { type, enum: among, format } = schema
  const plain = Array.isArray(among)
    ? among.join(', ')
    : type === 'array'
      ? 'list of texts'
      : type === 'integer'
        ? 'number'
        : format === 'date'
          ? 'date'
          : 'text'
  return optional ? `${plain}, or missing` : plain
}
