import { checkPayloadField, type PathContext } from './path.ts'
import type { CheckedTool } from './tool.ts'
import type { FieldValues } from '../schema/possible-fields.ts'
import type { FieldIr } from '../language/rule.ts'
import { READS } from '../summary/formats.ts'
import { needsDecimals } from '../summary/money.ts'
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

function checkPart(context: PathContext, part: SummaryField, at: Doc): void {
  const { field, format, currency } = part
  const inContract = (one: FieldIr): boolean => {
    checkPayloadField(context, one, { at, presence: false })
    return context.tools.every((tool) => canBePresent(context.fieldValues.of(tool, one)))
  }
  if (inContract(field) && format) checkReads(context, field, { at, ...READS[format], name: format })
  if (typeof currency === 'object' && inContract(currency))
    checkReads(context, currency, { at, ...CURRENCY, name: 'money' })
  reportUnstated(context, part, at)
}

/** Warns of a currency that the contract admits, and that tools count in several ways, without stated decimals. */
function reportUnstated({ reader, tools, fieldValues }: PathContext, part: SummaryField, at: Doc): void {
  const { currency, decimals } = part
  if (currency === undefined || typeof decimals === 'number') return
  const codes =
    typeof currency === 'string'
      ? [currency]
      : tools.flatMap((tool) => fieldValues.of(tool, currency).texts?.among ?? anyOf(decimals))
  const open = codes.find((code) => needsDecimals(code) && decimals?.[code.toUpperCase()] === undefined)
  if (open === undefined) return
  const message = `payment systems count ${open} in more than one way, and the summary states no decimals`
  const hint = `write \`|money:FIELD:0\`, or \`|money:FIELD:${open.toUpperCase()}=0\``
  reader.report('money-decimals', at, message, hint)
}

/** A currency that a contract without a list admits. A summary that states some decimals needs no warning. */
const anyOf = (decimals: SummaryField['decimals']): string[] => (decimals === undefined ? ['IDR'] : [])

const CURRENCY: (typeof READS)['money'] = { what: 'text', fits: ({ texts }) => texts !== undefined }

function checkReads(
  { reader, tools, fieldValues }: PathContext,
  field: FieldIr,
  { at, name, what, fits }: (typeof READS)['money'] & { readonly at: Doc; readonly name: string },
): void {
  if (tools.every((tool) => fits(fieldValues.of(tool, field)))) return
  reader.report('bad-summary', at, `\`${field.name}\` is never ${what}, which \`${name}\` needs`)
}
