import { lossText } from '../../evidence/loss-check.ts'
import { PROPERTIES, type Property, type Verdict } from '../../evidence/verify.ts'
import { onOneLine } from '../terminal/visible-text.ts'

/** The inputs of the verification. */
export interface Brought {
  readonly checkpoints: number
  readonly receipts: number
  /** The accepted age, as given. */
  readonly within: string | undefined
  /** ms since 1970. */
  readonly now: number
}

const WIDTH = Math.max(...PROPERTIES.map((one) => one.length))

/** The text for a property that does not fail, because it holds or because no input was given to check it. */
interface Said {
  readonly holds: boolean
  readonly lines: readonly string[]
}

const LABELS = { holds: '  holds    ', fails: '  FAILS    ', unknown: '  unknown  ' } as const
const INDENT = ' '.repeat(LABELS.holds.length + WIDTH + 2)

/** The verdict on evidence for an auditor: one property after the other, and the limits of the proof. */
export function verdictText(verdict: Verdict, brought: Brought): string {
  const said = saidOf(verdict, brought)
  const lines = PROPERTIES.flatMap((property) => {
    const faults = verdict.faults
      .filter((fault) => fault.property === property)
      .map(({ text }) => shown(text))
    const label = faults.length > 0 ? LABELS.fails : said[property].holds ? LABELS.holds : LABELS.unknown
    const texts = faults.length > 0 ? faults : said[property].lines
    return texts.map((text, i) => `${i === 0 ? `${label}${property.padEnd(WIDTH)}  ` : INDENT}${text}`)
  })
  const more = verdict.omitted === 0 ? [] : [`  ... and ${verdict.omitted} more that fail`]
  const limits = limitsOf(verdict).map((text) => `  - ${text}`)
  return [...lines, ...more, '', 'This does not prove:', ...limits].join('\n')
}

const LONGEST_FAULT = 400

/** A fault on one line, because it may quote text from the file. */
function shown(fault: string): string {
  return onOneLine(fault.length > LONGEST_FAULT ? `${fault.slice(0, LONGEST_FAULT)}...` : fault)
}

const holds = (...lines: string[]): Said => ({ holds: true, lines })
const unknown = (...lines: string[]): Said => ({ holds: false, lines })

function saidOf(verdict: Verdict, brought: Brought): Readonly<Record<Property, Said>> {
  const { checkpoints } = brought
  return {
    signature:
      checkpoints === 0
        ? unknown('No checkpoint was given.')
        : holds(`${counted(checkpoints, 'checkpoint')}, signed by this key.`),
    integrity: holds(
      `${counted(verdict.records, 'record')}, each RFC 8785 JSON that matches its hash.`,
      ...disclosed(verdict.disclosures),
    ),
    inclusion: inclusion(verdict, brought),
    consistency: consistency(verdict, brought),
    completeness: completeness(verdict),
    freshness: freshness(verdict, brought),
  }
}

/** The disclosures of the export, compared with the commitments. */
function disclosed({ commitments, given, erased, expired }: Verdict['disclosures']): string[] {
  if (commitments === 0) return []
  const gone = [
    ...(erased === 0 ? [] : [`${counted(erased, 'record')} had members erased`]),
    ...(expired === 0 ? [] : [`of ${counted(expired, 'record')} they were deleted when their time was over`]),
  ]
  if (given === 0 && gone.length === 0)
    return [`The export has no disclosures to compare with its ${counted(commitments, 'commitment')}.`]
  const rest = gone.length === 0 ? '' : `; ${gone.join('; ')}`
  return [`${given} of ${counted(commitments, 'commitment')} came with disclosures, which match${rest}.`]
}

function inclusion({ signed }: Verdict, { receipts }: Brought): Said {
  const lines = [
    ...(signed === undefined ? [] : [`The first ${signed.size} match the newest checkpoint.`]),
    ...(receipts === 0 ? [] : [`${counted(receipts, 'receipt')}, each for the record that it names.`]),
  ]
  return lines.length === 0 ? unknown('No checkpoint or receipt covers these records.') : holds(...lines)
}

function consistency({ faults }: Verdict, { checkpoints }: Brought): Said {
  if (checkpoints < 2) return unknown('Give earlier checkpoints too, to show that records were only added.')
  const fit = faults.every(({ property }) => property !== 'signature' && property !== 'inclusion')
  return fit
    ? holds('All checkpoints belong to this one history.')
    : unknown('Some checkpoints or receipts do not match, so this cannot be decided.')
}

function completeness({
  whole,
  lost,
  story: { allowed, rejected, threads, redeemed, displays },
}: Verdict): Said {
  if (!whole && lost.length > 0)
    return unknown(...lost.map(lossText), 'No other record is missing. What depends on them was not checked.')
  if (!whole) return unknown('Some records could not be read, and records after them were not checked.')
  const opened = Object.values(threads).reduce((sum, count) => sum + count, 0)
  const open = threads.pending_review + threads.changes_requested
  return holds(
    'No number is missing, and every record follows from earlier ones:',
    `${counted(allowed, 'call')} allowed and ${rejected} rejected at once; ${counted(opened, 'thread')}, of which ${threads.approved} approved (${redeemed} redeemed, each once), ${threads.rejected} rejected, ${open} open.`,
    ...displayed(displays),
  )
}

/** The number of votes whose display could be compared. */
function displayed({ checked, unchecked }: Verdict['story']['displays']): string[] {
  if (checked + unchecked === 0) return []
  const rest = unchecked === 0 ? '' : `; ${counted(unchecked, 'vote')} came without theirs`
  return [`${counted(checked, 'vote')} came with the places that were displayed, which match${rest}.`]
}

function freshness({ signed }: Verdict, { now, within }: Brought): Said {
  if (signed === undefined) return unknown('Without a checkpoint, the age is unknown.')
  const age = `The newest checkpoint was signed at ${signed.at}, ${ageOf(now - Date.parse(signed.at))}.`
  return within === undefined ? unknown(age, 'Set the accepted age with --within.') : holds(age)
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

function ageOf(ms: number): string {
  if (ms < -MINUTE_MS) return 'which is ahead of the clock of this machine'
  if (ms < MINUTE_MS) return 'less than a minute ago'
  const [unit, name] = ms < 2 * HOUR_MS ? ([MINUTE_MS, 'minute'] as const) : ([HOUR_MS, 'hour'] as const)
  return `${counted(Math.floor(ms / unit), name)} ago`
}

/** Conclusions that an auditor must not draw (docs/evidence.md). */
function limitsOf({ unsigned, signed }: Verdict): string[] {
  const tail =
    signed === undefined
      ? 'records without a receipt'
      : `the last ${counted(unsigned, 'record')}, except those with receipts`
  return [
    ...(unsigned === 0 ? [] : [`${tail}: no checkpoint covers them`]),
    'that a record is true, or that nothing happened outside the gateway',
    'that no independent record was left out before it was signed, such as a call that was allowed at once',
    'exact times: they come from the clock of the store',
    'groups of reviewers and owners of agents: they are in git, in the bundle that each decision names',
  ]
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`
