import type { HeadingView } from '../../contract/heading.ts'
import type { Because } from '../../contract/reasons.ts'
import { segmentsOf } from '../../domain/hidden-characters.ts'

/** Text from an agent for a live region, with hidden characters as code points. */
export const spoken = (text: string): string =>
  segmentsOf(text)
    .map(({ text: run, hidden }) => (hidden === undefined ? run : `[${hidden.code}]`))
    .join('')

/** A place as reviewers know it, without the name of the part that nearly all places share. */
export const placeName = (field: string): string => field.replace(/^payload\./, '')

export const STATES = { missing: 'missing', unreadable: 'could not be read' } as const

const LONGEST = 32

/** A value for one line. A mail address keeps its domain, and other long values keep both ends. */
export function shortened(text: string): string {
  const characters = Array.from(text)
  if (characters.length <= LONGEST) return text
  const at = text.lastIndexOf('@')
  const end = at > 0 && text.length - at < LONGEST - 4 ? Array.from(text.slice(at)) : characters.slice(-12)
  return [...characters.slice(0, LONGEST - 1 - end.length), '…', ...end].join('')
}

/** The value as the summary writes it, such as `€250.00` for 25000; undefined where it writes the exact value. */
export const formattedIn = (heading: HeadingView, { field, value }: Because): string | undefined =>
  heading.segments.find((one) => one.field === field && one.exact === String(value))?.text

const BECAUSE = 'because '
/** The part that holds all warnings of a call. */
export const WARNINGS = 'warnings'

/** The name of a part for a value that made a rule fire. It differs from the part that shows the whole field. */
export const becauseName = (field: string): string => BECAUSE + field

/** The name of a part for a reader. */
export const partName = (name: string): string =>
  placeName(name.startsWith(BECAUSE) ? name.slice(BECAUSE.length) : name)

const PLAIN_NAME = /^[A-Za-z_$][\w$-]*$/

/** The place of a value as policies write it: `payload.a[0]["b.c"]`. */
export const payloadPlace = (path: readonly (string | number)[]): string =>
  `payload${path.map(stepText).join('')}`

function stepText(step: string | number): string {
  if (typeof step === 'number') return `[${step}]`
  return PLAIN_NAME.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
}
