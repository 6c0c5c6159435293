import type { JsonObject } from '../../contract/json.ts'
import { hintForField } from './field-hint.ts'
import { parseSummary, type SummaryTemplate } from '../summary/template.ts'
import type { Doc } from '../yaml/parse.ts'
import { readText, type Reader } from '../yaml/shape.ts'

/** A valid `summary`, with its position. */
export interface CheckedSummary {
  readonly text: string
  readonly template: SummaryTemplate
  readonly at: Doc
}

export function readSummary(
  reader: Reader,
  at: Doc,
  schemas: readonly JsonObject[],
): CheckedSummary | undefined {
  const text = readText(reader, at, '`summary`')
  if (text === undefined) return undefined
  const parsed = parseSummary(text)
  if (parsed.ok) return { text, template: parsed.template, at }
  const { problem } = parsed
  if (problem.kind === 'summary') reader.report('bad-summary', at, problem.message, problem.hint)
  else
    reader.report(problem.problem.code, at, problem.problem.message, hintForField(problem.problem, schemas))
  return undefined
}
