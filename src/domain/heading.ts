import type { HeadingView } from '../contract/heading.ts'
import { codeOf, segmentsOf } from './hidden-characters.ts'

/**
 * What a call does, in one line: made by the gateway of the contract's template and the payload. Texts of segments are as they came; `line` is safe to
 * print.
 */
export type Heading = HeadingView
/** Words of the policy or the tool's name, or, with `field`, a value of the payload. */
export type HeadingSegment = HeadingView['segments'][number]

export function headingOf(segments: HeadingSegment[], template?: string): Heading {
  const line = segments.map(({ text }) => visible(text)).join('')
  return { line, segments, ...(template === undefined ? {} : { template }) }
}

/** On one line, with nothing in it that a reader cannot see. */
function visible(text: string): string {
  return segmentsOf(text)
    .map(({ text: run, hidden }) =>
      hidden === undefined ? run.replaceAll(/[\n\t]/g, spelled) : `[${hidden.code}]`,
    )
    .join('')
}

const spelled = (character: string): string => `[${codeOf(character)}]`

/** What stands in the place of a value that must not be shown. */
export const HIDDEN_VALUE = '[hidden]'

/** The heading with the fields hidden that `isHidden` names: a policy may call a field sensitive after the call was made. */
export function hideFields(heading: Heading, isHidden: (field: string) => boolean): Heading {
  const segments = heading.segments.map((one): HeadingSegment => {
    const { field, sensitive, missing } = one
    const stays = field === undefined || sensitive === true || missing === true || !isHidden(field)
    return stays ? one : { text: HIDDEN_VALUE, field, sensitive: true }
  })
  return headingOf(segments, heading.template)
}
