export interface Token {
  readonly kind: 'word' | 'name' | 'text' | 'number' | 'parameter' | 'symbol'
  /** A word in lower case; everything else as it is written. */
  readonly text: string
}

/** Forbids words or values that touch: `E'x'`, `1or` and `a[1]` differ in meaning between dialects. */
const APART = `(?![\\w'"\`[$#@]|[^\\x00-\\x7f])`
/** A visible character or a blank; the class is left open. */
const SEEN = String.raw`[^\p{C}\p{Zl}\p{Zp}`

/** The form of each kind of token; the first that fits counts. */
const FORMS: readonly (readonly [Token['kind'] | 'silent', string])[] = [
  ['silent', String.raw`[ \t\n\r]+`],
  ['word', `[A-Za-z_][A-Za-z0-9_]*${APART}`],
  ['symbol', String.raw`<=|>=|<>|!=|\|\||::|->>|->|-(?!-)|/(?!\*)|[+*%=<>(),;]|\.(?!\d)`],
  ['number', String.raw`(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+\-]?\d+)?(?!\.)${APART}`],
  // Three quotes in a row open a longer text in one dialect, a backslash escapes in another.
  ['text', String.raw`'(?:${SEEN}'\\]+(?:''${SEEN}'\\]+)*)?'${APART}`],
  ['name', `"[A-Za-z_][A-Za-z0-9_]*(?: [A-Za-z0-9_]+)*"${APART}`],
  ['name', `\`[A-Za-z_][A-Za-z0-9_]*(?:[\\-.][A-Za-z0-9_]+)*\`${APART}`],
  ['name', String.raw`\[[A-Za-z_][A-Za-z0-9_]*(?: [A-Za-z0-9_]+)*\]${APART}`],
  ['parameter', String.raw`(?:\$\d+|\?)(?![?|&])${APART}`],
  // One dialect takes `--` for arithmetic unless a blank follows; a lone carriage return ends the line for another.
  ['silent', String.raw`--(?=[ \t\r\n]|$)(?:${SEEN}]|\t)*(?:\r?\n|$)`],
  // `/*!` and `/*+` are executed; `/*` inside nests for some.
  ['silent', String.raw`/\*(?![!+]|M!)(?:${SEEN}*/]|[\t\r\n]|\*(?!/)|/(?!\*))*\*/`],
]
const ANY_FORM = new RegExp(FORMS.map(([, form]) => `(${form})`).join('|'), 'uy')

/** Clients split a text at such a line, even in comments and quotes, and run the rest by itself. */
const BATCH_LINE = /^[ \t]*(?:go\b|\/[ \t]*\r?$)/im

/** Returns the tokens of a text, without comments; undefined when dialects disagree on a token. */
export function sqlTokens(sql: string): readonly Token[] | undefined {
  if (BATCH_LINE.test(sql)) return undefined
  const tokens: Token[] = []
  ANY_FORM.lastIndex = 0
  while (ANY_FORM.lastIndex < sql.length) {
    const found = ANY_FORM.exec(sql)
    if (found === null) return undefined
    const [text] = found
    const kind = FORMS[found.indexOf(text, 1) - 1]?.[0] ?? 'silent'
    if (kind !== 'silent') tokens.push({ kind, text: kind === 'word' ? text.toLowerCase() : text })
  }
  return tokens
}
