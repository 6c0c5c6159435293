import type { JsonObject } from '../../contract/json.ts'
import type { Because } from '../../contract/reasons.ts'
import { segmentsOf } from '../../domain/hidden-characters.ts'
import { cut, shortened } from '../../domain/shorten.ts'

/** Text from an agent for a live region, with hidden characters as code points. */
export const spoken = (text: string): string =>
  segmentsOf(text)
    .map(({ text: run, hidden }) => (hidden === undefined ? run : `[${hidden.code}]`))
    .join('')

/** A place as reviewers know it, without the name of the part that nearly all places share. */
export const placeName = (field: string): string => field.replace(/^payload\./, '')

export const STATES = { missing: 'missing', unreadable: 'could not be read' } as const

const LONGEST = 32

/**
 * A value for one line, shortened by its kind. Other long values keep both ends, and the part that a test read.
 */
export const oneLine = (text: string, read?: Because['read']): string =>
  shortened(text, LONGEST, (long, most) => {
    const end = Array.from(long).slice(-END).join('')
    const start = cut(long, most - END)
    if (typeof read !== 'string' || read === '' || `${start}${end}`.includes(read) || !long.includes(read))
      return `${start}${end}`
    const room = Math.floor((most - read.length) / 2)
    return room < 2 ? cut(read, most) : `${cut(long, room)}${read}…`
  })

const END = 12

const BECAUSE = 'because '
/** The part that holds all warnings of a call. */
export const WARNINGS = 'warnings'

/** The name of a part for a value that made a rule fire. It differs from the part that shows the whole field. */
export const becauseName = (field: string): string => BECAUSE + field

/** The name of a part for a reader. */
export const partName = (name: string): string =>
  placeName(name.startsWith(BECAUSE) ? name.slice(BECAUSE.length) : name)

/** True when the place is the field, or inside it. */
export const isWithin = (place: string, field: string): boolean =>
  place === field || place.startsWith(`${field}.`) || place.startsWith(`${field}[`)

const PLAIN_NAME = /^[A-Za-z_$][\w$-]*$/

/** The place of a value as policies write it: `payload.a[0]["b.c"]`. */
export const payloadPlace = (path: readonly (string | number)[]): string =>
  `payload${path.map(stepText).join('')}`

function stepText(step: string | number): string {
  if (typeof step === 'number') return `[${step}]`
  return PLAIN_NAME.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
}

/**
 * True when the text is the whole value of a field, and no text that looks like a number or is drawn with other blanks.
 */
export function isWhole(payload: object, field: string, text: string): boolean {
  const [, value] =
    Object.entries(payload as JsonObject).find(([name]) => payloadPlace([name]) === field) ?? []
  if (typeof value === 'number') return text === String(value)
  return value === text && Number.isNaN(Number(text)) && !/^\s|\s$|\s\s|[^\S ]/.test(text)
}
