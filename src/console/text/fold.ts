/** The beginning of a long text, with a count of the rest. The text is folded, never cut. */
export interface Folded {
  readonly shown: string
  /** The count of the rest, such as `412 more lines`; absent when the whole text is shown. */
  readonly rest?: string
}

const LINES = 14
const CHARACTERS = 1_200
/** The factor by which a string may exceed the limit and still be shown whole. */
const SLACK = 1.25

export function fold(text: string): Folded {
  const lines = text.split('\n')
  if (lines.length > LINES * SLACK) {
    const shown = lines.slice(0, LINES).join('\n')
    if (shown.length <= CHARACTERS) return { shown, rest: more(lines.length - LINES, 'line') }
  }
  if (text.length <= CHARACTERS * SLACK) return { shown: text }
  const shown = whole(text.slice(0, CHARACTERS))
  return { shown, rest: more(Array.from(text.slice(shown.length)).length, 'character') }
}

/** The text without half a surrogate pair at its end. */
const whole = (text: string): string => (/[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text)

export const more = (count: number, what: string): string =>
  `${count.toLocaleString('en')} more ${what}${count === 1 ? '' : 's'}`
