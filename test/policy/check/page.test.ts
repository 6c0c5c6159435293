import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { CASE_KEYS } from '../../../src/policy/check/case.ts'
import { AGENT_KEYS, REVIEWER_KEYS } from '../../../src/policy/check/directory-keys.ts'
import { DIRECTORY_KEYS } from '../../../src/policy/check/directory.ts'
import { LEVEL_KEYS, REVIEWERS_KEYS } from '../../../src/policy/check/level.ts'
import { LIMIT_KEYS } from '../../../src/policy/check/limit.ts'
import { ROUTING_KEYS } from '../../../src/policy/check/routing.ts'
import { RULE_KEYS } from '../../../src/policy/check/rule.ts'
import { RULE_FILE_KEYS } from '../../../src/policy/check/rules.ts'
import { TOOL_KEYS } from '../../../src/policy/check/tool.ts'

/** The keys of the files of a bundle, as their rows have them. */
const PAGE = fileURLToPath(new URL('../../../docs/reference/policy-keys.md', import.meta.url))
const TABLES = {
  'routing.yaml': ROUTING_KEYS,
  'A level of routing.yaml': LEVEL_KEYS,
  'directory.yaml': DIRECTORY_KEYS,
  'An agent of directory.yaml': AGENT_KEYS,
  'A reviewer of directory.yaml': REVIEWER_KEYS,
  'A contract in tools/': TOOL_KEYS,
  'A file in rules/': RULE_FILE_KEYS,
  'A rule': RULE_KEYS,
  'The reviewers of a rule': REVIEWERS_KEYS,
  'A limit': LIMIT_KEYS,
  'A test': CASE_KEYS,
}

interface Row {
  readonly doc: string
  readonly required?: true
}

it('docs/reference/policy-keys.md has a line for each key of the files of a bundle', async () => {
  const sections = Object.entries(TABLES).map(([title, { rows }]) => {
    const lines = Object.entries<Row>(rows).map(([key, { doc, required = false }]) => {
      expect(doc, `${title}: ${key}`).not.toBe('')
      return `| \`${key}\` |${required ? ' yes' : ''} | ${doc.replaceAll('|', '\\|')} |`
    })
    return [`## ${title}`, '', '| key | needed | what it says |', '|---|---|---|', ...lines, ''].join('\n')
  })
  const [intro] = readFileSync(PAGE, 'utf8').split(/^## /m)
  await expect(`${intro}${sections.join('\n')}`).toMatchFileSnapshot(PAGE)
})
