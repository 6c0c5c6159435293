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

/** The text on a property that does not fail: it holds, or no input was given to check it. */
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
  return [...lines, ...more, '', 'Not proved by this:', ...limits].join('\n')
}

const LONGEST_FAULT = 400

/** A fault on one line: it may quote text of the file. */
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
      `${counted(verdict.records, 'record')}, each RFC 8785 JSON with the hash that stands beside it.`,
    ),
    inclusion: inclusion(verdict, brought),
    consistency: consistency(verdict, brought),
    completeness: completeness(verdict),
    freshness: freshness(verdict, brought),
  }
}

function inclusion({ signed }: Verdict, { receipts }: Brought): Said {
  const lines = [
    ...(signed === undefined ? [] : [`The first ${signed.size} are those that were signed.`]),
    ...(receipts === 0 ? [] : [`${counted(receipts, 'receipt')}, each of the record that it names.`]),
  ]
  return lines.length === 0 ? unknown('Nothing that is signed speaks of these records.') : holds(...lines)
}

function consistency({ faults }: Verdict, { checkpoints }: Brought): Said {
  if (checkpoints < 2)
    return unknown('Bring earlier checkpoints, too, to see that this history was only added to.')
  const fit = faults.every(({ property }) => property !== 'signature' && property !== 'inclusion')
  return fit
    ? holds('All checkpoints are of this one history.')
    : unknown('Not everything that was brought fits: of which history that is, nobody says.')
}

function completeness({ whole, story: { allowed, rejected, threads, redeemed } }: Verdict): Said {
  if (!whole)
    return unknown('Not every record could be read, and what comes after one of those was not looked at.')
  const opened = Object.values(threads).reduce((sum, count) => sum + count, 0)
  const open = threads.pending_review + threads.changes_requested
  return holds(
    'No number is missing, and everything follows from what stands before it:',
    `${counted(allowed, 'call')} allowed and ${rejected} rejected at once; ${counted(opened, 'thread')}, of which ${threads.approved} approved (${redeemed} redeemed, each once), ${threads.rejected} rejected, ${open} open.`,
  )
}

function freshness({ signed }: Verdict, { now, within }: Brought): Said {
  if (signed === undefined) return unknown('Nobody says how new it is.')
  const age = `The newest checkpoint was signed at ${signed.at}, ${ageOf(now - Date.parse(signed.at))}.`
  return within === undefined ? unknown(age, 'Name the most that you accept by --within.') : holds(age)
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

function ageOf(ms: number): string {
  if (ms < -MINUTE_MS) return 'which is ahead of the clock of this machine'
  if (ms < MINUTE_MS) return 'less than a minute ago'
  const [unit, name] = ms < 2 * HOUR_MS ? ([MINUTE_MS, 'minute'] as const) : ([HOUR_MS, 'hour'] as const)
  return `${counted(Math.floor(ms / unit), name)} ago`
}

/** The conclusions that an auditor must not draw (docs/evidence.md). */
function limitsOf({ unsigned, signed }: Verdict): string[] {
  const tail =
    signed === undefined
      ? 'records without a receipt'
      : `the last ${counted(unsigned, 'record')}, but for receipts`
  return [
    ...(unsigned === 0 ? [] : [`${tail}: nobody has signed them`]),
    'that a record tells the truth, or that nothing happened beside the gateway',
    'that no record was left out before it was signed which nothing else follows from, like a call that was allowed at once',
    'when exactly something happened: times are those of the clock of the store',
    'who was in which group, and who owned the agent: that is in git, under the bundle that the decisions name',
  ]
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`
