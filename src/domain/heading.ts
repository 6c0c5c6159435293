import type { HeadingView } from '../contract/heading.ts'
import type { Because } from './because.ts'
import { codeOf, segmentsOf } from './hidden-characters.ts'
import { inOrder } from './letter-order.ts'

/**
 * The heading of a call, made from the contract's template and the payload. Segments contain raw text; the result of
 * `line` is safe to print.
 */
export type Heading = HeadingView
/** Words of the policy, the tool's name or, with `field`, a value of the payload. */
export type HeadingSegment = HeadingView['segments'][number]

export function headingOf(segments: HeadingSegment[], template?: string): Heading {
  const line = inOrder(segments.map(({ text }) => visible(text)).join(''))
  return { line, segments, ...(template === undefined ? {} : { template }) }
}

/** The text on one line, without invisible characters. */
function visible(text: string): string {
  return segmentsOf(text)
    .map(({ text: run, hidden }) =>
      hidden === undefined ? run.replaceAll(/[\n\t]/g, spelled) : `[${hidden.code}]`,
    )
    .join('')
}

const spelled = (character: string): string => `[${codeOf(character)}]`

/** The value as the summary writes it, such as `€250.00` for 25000; undefined where it writes the exact value. */
export const formattedIn = ({ segments }: HeadingView, { field, value }: Because): string | undefined =>
  segments.find((one) => one.field === field && one.exact === String(value))?.text

/** Replaces a value that must not be shown. */
export const HIDDEN_VALUE = '[hidden]'

/**
 * Hides the fields of the heading that `isHidden` selects, because a policy may mark a field as sensitive after the
 * call.
 */
export function hideFields(heading: Heading, isHidden: (field: string) => boolean): Heading {
  const segments = heading.segments.map((one): HeadingSegment => {
    const { field, sensitive, missing } = one
    const stays = field === undefined || sensitive === true || missing === true || !isHidden(field)
    return stays ? one : { text: HIDDEN_VALUE, field, sensitive: true }
  })
  return headingOf(segments, heading.template)
}
