import { checkPayloadField, type PathContext } from './path.ts'
import type { CheckedTool } from './tool.ts'
import type { FieldValues } from '../schema/possible-fields.ts'
import type { FieldIr } from '../language/rule.ts'
import { READS } from '../summary/formats.ts'
import type { SummaryField } from '../summary/template.ts'
import { canBePresent } from '../schema/possible.ts'
import type { Doc } from '../yaml/parse.ts'

/** Checks that the contract has every field of the summary, with a type that the field's format can read. */
export function checkSummaryFields(
  { reader, contract, summary }: CheckedTool,
  fieldValues: FieldValues,
): void {
  if (!summary) return
  const context = { reader, tools: [contract], declared: new Set<string>(), fieldValues }
  for (const part of summary.template.parts) if ('field' in part) checkPart(context, part, summary.at)
}

function checkPart(context: PathContext, { field, format, currency }: SummaryField, at: Doc): void {
  const inContract = (one: FieldIr): boolean => {
    checkPayloadField(context, one, { at, presence: false })
    return context.tools.every((tool) => canBePresent(context.fieldValues.of(tool, one)))
  }
  if (inContract(field) && format) checkReads(context, field, { at, ...READS[format], name: format })
  if (typeof currency === 'object' && inContract(currency))
    checkReads(context, currency, { at, ...CURRENCY, name: 'money' })
}

const CURRENCY: (typeof READS)['money'] = { what: 'text', fits: ({ texts }) => texts !== undefined }

function checkReads(
  { reader, tools, fieldValues }: PathContext,
  field: FieldIr,
  { at, name, what, fits }: (typeof READS)['money'] & { readonly at: Doc; readonly name: string },
): void {
  if (tools.every((tool) => fits(fieldValues.of(tool, field)))) return
  reader.report('bad-summary', at, `\`${field.name}\` is never ${what}, which \`${name}\` needs`)
}
