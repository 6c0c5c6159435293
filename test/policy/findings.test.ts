import { readdirSync, readFileSync } from 'node:fs'
import { describe } from 'vitest'
import { parse } from 'yaml'
import { type Case, RICH, runCases } from './cases.ts'
import { CONTRACT, DIRECTORY, ROUTING } from './support.ts'

/*
 * Findings as data: each file of findings/ is a list of cases. A case names its subject and the files that differ from
 * a fine bundle. It names one finding of the check: its place, code and message, then ` | ` and the hint.
 */
interface Finding {
  readonly about: string
  /** `rich`: the contract with one of everything (cases.ts). */
  readonly contract?: 'rich'
  /** The text of a file; null without the file; or one change of the file in the fine bundle. */
  readonly files?: Readonly<Record<string, string | null | { readonly from: string; readonly to: string }>>
  readonly finds: string
}

const FINE: Readonly<Record<string, string>> = {
  'routing.yaml': ROUTING,
  'directory.yaml': DIRECTORY,
  'tools/pay.yaml': CONTRACT,
}

const caseOf = ({ about, contract, files = {}, finds }: Finding): Case => {
  const changed = Object.entries(files).map(([path, file]) => {
    if (file === null || typeof file === 'string') return [path, file ?? undefined]
    return [path, FINE[path]?.replace(file.from, () => file.to)]
  })
  const rich = contract === 'rich' ? { 'tools/pay.yaml': RICH } : {}
  return [about, { ...rich, ...(Object.fromEntries(changed) as Case[1]) }, finds]
}

const FOLDER = new URL('findings/', import.meta.url)

describe.each(readdirSync(FOLDER))('%s', (name) => {
  const findings = parse(readFileSync(new URL(name, FOLDER), 'utf8')) as readonly Finding[]
  runCases(findings.map(caseOf))
})
