import { headingOf } from '../../domain/heading.ts'
import type { BundleIr, FieldIr, RuleFileIr, RuleIr, ToolIr } from '../language/rule.ts'
import { fieldsOf, fieldsOfLimit } from '../language/history.ts'
import type { Snapshot, ToolContract } from '../language/snapshot.ts'
import { renderDefault, renderSummary } from './summary.ts'
import { parseSummary, type SummaryTemplate } from './template.ts'
import { remember } from '../language/remember.ts'

/** The parts of the headings of one tool's calls. */
interface ToolHeadings {
  readonly contract: ToolContract
  readonly template: SummaryTemplate | undefined
  /** The payload fields of each rule and limit, by its id, in reading order. */
  readonly fields: ReadonlyMap<string, readonly FieldIr[]>
}

/** Creates the headings of a bundle's calls. Prepares each tool on its first call. */
export function createHeadings(
  ir: BundleIr,
  tools: ReadonlyMap<string, ToolIr>,
): Pick<Snapshot, 'headingOf' | 'templateOf'> {
  const made = new Map<string, ToolHeadings>()
  const of = (name: string): ToolHeadings | undefined => {
    const tool = tools.get(name)
    return tool && remember(made, name, () => headingsOf(ir, tool))
  }
  return {
    headingOf({ tool, payload }, { by, places }, tag) {
      const headings = of(tool)
      if (!headings) return headingOf([{ text: tool }])
      const call = { contract: headings.contract, payload, places, tag }
      return headings.template
        ? renderSummary(headings.template, call)
        : renderDefault(readBy(headings, by), call)
    },
    templateOf: (tool) => of(tool)?.template?.digest,
  }
}

function headingsOf(ir: BundleIr, { contract, ruleFiles }: ToolIr): ToolHeadings {
  const parsed = contract.summary === undefined ? undefined : parseSummary(contract.summary)
  const files = ruleFiles.flatMap((at) => ir.ruleFiles[at] ?? [])
  return {
    contract,
    template: parsed?.ok === true ? parsed.template : undefined,
    fields: new Map(files.flatMap(payloadFieldsOf).map(({ id, fields }) => [id, fields])),
  }
}

/** Returns the payload fields that each rule and limit of a file reads. */
export function payloadFieldsOf({
  rules,
  limits,
}: RuleFileIr): { readonly id: string; readonly fields: readonly FieldIr[] }[] {
  return [
    ...rules.map((rule: RuleIr) => ({ id: rule.id, fields: fieldsOf(rule) })),
    ...limits.map((limit) => ({ id: limit.id, fields: fieldsOfLimit(limit) })),
  ].map(({ id, fields }) => ({ id, fields: fields.filter(({ root }) => root === 'payload') }))
}

function readBy({ fields }: ToolHeadings, by: readonly string[]): readonly FieldIr[] {
  const found = new Map(by.flatMap((id) => fields.get(id) ?? []).map((field) => [field.name, field]))
  return [...found.values()]
}
