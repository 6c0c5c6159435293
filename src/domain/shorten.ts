/*
 * Values on one line. Each kind of text keeps the part that decides where it leads. A URL and the address of a
 * repository (`git@host:path`) keep the end of their host and of their path, and a mail address its domain. A path
 * keeps its file name, and a key its end.
 */

/** Shortens text to a number of characters. */
export type Shorten = (text: string, most: number) => string

interface Kind {
  readonly is: RegExp
  readonly shorten: Shorten
}

const KINDS: readonly Kind[] = [
  { is: /^(?:[a-z][a-z0-9+.-]*:)?[/\\]{2,}[^/?#\\\s]|^[\w.-]+@[\w.-]+:[^\s@]+$/i, shorten: url },
  { is: /\w@[\w-]+\.[^]*\w@[\w-]+\./, shorten: hosts },
  {
    is: /@[^@\s:/\\()]+$/,
    shorten: (text, most) => aroundEnd(text, text.slice(text.lastIndexOf('@')), most),
  },
  // a file name
  { is: /^(?:[~.\w-]{0,40}[/\\])[^\n]*$/, shorten: (text, most) => aroundEnd(text, lastStep(text), most) },
  // a key, a digest or an id
  {
    is: /^(?=\S*\d)(?=\S*[A-Za-z])[\w+/=.:-]{24,}$/,
    shorten: (text, most) => aroundEnd(text, text.slice(-KEY_END), most),
  },
]

const KEY_END = 8

/** Shortens text by its kind, or else by `other`, which keeps the beginning. */
export function shortened(text: string, most: number, other: Shorten = cut): string {
  if (text.length <= most) return text
  return (KINDS.find(({ is }) => is.test(text))?.shorten ?? other)(text, most)
}

/** Shortens text to its beginning and an ellipsis. Never splits a character. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text
  const characters = Array.from(text.slice(0, 2 * most + 2))
  return characters.length <= most && text.length <= 2 * most + 2
    ? text
    : `${characters.slice(0, most - 1).join('')}…`
}

/** Shortens text to an ellipsis and its end. Never splits a character. */
export function cutBefore(text: string, most: number): string {
  if (text.length <= most) return text
  const characters = Array.from(text.slice(-2 * most - 2))
  return characters.length <= most && text.length <= 2 * most + 2
    ? text
    : `…${characters.slice(1 - most).join('')}`
}

/** Text that differs from a similar one, from shortly before the difference. */
export function fromDifference(text: string, other: string): string {
  let at = 0
  while (at < text.length && text[at] === other[at]) at++
  const start = Math.min(at, text.length - 1) - BEFORE
  return start <= BEFORE ? text : `…${text.slice(start).replace(/^[\udc00-\udfff]/, '')}`
}

const BEFORE = 12

/** The end, with as much of the beginning as fits. */
function aroundEnd(text: string, end: string, most: number): string {
  const room = most - Array.from(end).length
  return room < 2 ? cutBefore(end, most) : `${cut(text.slice(0, -end.length || undefined), room)}${end}`
}

/** `ceo@acme…@evil.example…@acme.com`: the beginning, and each mail host. Any of them may be the one that counts. */
function hosts(text: string, most: number): string {
  const [rest = ''] = / and [\d,]+ more$/.exec(text) ?? []
  const found = [...new Set(text.match(/@[\w-]+\.[\w.-]+/g))].join('…')
  const room = most - rest.length
  if (room < LEAST_HOST) return cut(found, most)
  const before = room - found.length
  const whole = found.includes('…') ? found : `…${found}`
  const kept = before < 2 ? cut(whole, room).replace('……', '…') : `${cut(text, before)}${found}`
  return `${kept}${rest}`
}

const LEAST_HOST = 8

const lastStep = (path: string): string => /[/\\][^/\\]*[/\\]?$/.exec(path)?.[0] ?? path

/** `https://bank.example…counts/4711`. A long host keeps its end: `…check.evil.example…/x`. */
function url(text: string, most: number): string {
  const [origin = '', authority = ''] =
    /^(?:[^:/\\]*:)?[/\\]{2,}([^/?#\\\s]*)/.exec(text) ?? /^([^:]*)/.exec(text) ?? []
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  const scheme = origin.slice(0, origin.length - authority.length)
  const shown = host === authority ? origin : `${scheme}…@${host}`
  const rest = text.slice(origin.length)
  const path = Math.min(Array.from(rest).length, Math.max(PATH_END, most - shown.length))
  if (shown.length + path <= most) return `${shown}${cutBefore(rest, path)}`
  return `${cutBefore(host, most - path)}${cutBefore(rest, path)}`
}

/** The least room for the end of a path, in characters. */
const PATH_END = 8
