export interface Token {
  readonly kind: 'word' | 'name' | 'text' | 'number' | 'parameter' | 'symbol'
  /** A word in lower case; any other token as it is written. */
  readonly text: string
  /** A word as it is written. */
  readonly written?: string
}

/** Refuses adjacent words or values, because `E'x'`, `1or` and `a[1]` differ in meaning between dialects. */
const APART = `(?![\\w'"\`[$#@]|[^\\x00-\\x7f])`
/** A visible character or a blank. The character class has no closing bracket, so that a form can extend it. */
const SEEN = String.raw`[^\p{C}\p{Zl}\p{Zp}`

/** The form of each kind of token. The first form that matches applies. */
const FORMS: readonly (readonly [Token['kind'] | 'silent', string])[] = [
  ['silent', String.raw`[ \t\n\r]+`],
  ['word', `[A-Za-z_][A-Za-z0-9_]*${APART}`],
  ['symbol', String.raw`<=|>=|<>|!=|\|\||::|->>|->|-(?!-)|/(?!\*)|[+*%=<>(),;]|\.(?!\d)`],
  ['number', String.raw`(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+\-]?\d+)?(?!\.)${APART}`],
  // In one dialect, three quotes in a row open a longer text. In another dialect, a backslash escapes.
  ['text', String.raw`'(?:${SEEN}'\\]+(?:''${SEEN}'\\]+)*)?'${APART}`],
  ['name', `"[A-Za-z_][A-Za-z0-9_]*(?: [A-Za-z0-9_]+)*"${APART}`],
  ['name', `\`[A-Za-z_][A-Za-z0-9_]*(?:[\\-.][A-Za-z0-9_]+)*\`${APART}`],
  ['name', String.raw`\[[A-Za-z_][A-Za-z0-9_]*(?: [A-Za-z0-9_]+)*\]${APART}`],
  ['parameter', String.raw`(?:\$\d+|\?)(?![?|&])${APART}`],
  // In one dialect, `--` is arithmetic unless a blank follows. In another dialect, a lone carriage return ends the
  // line.
  ['silent', String.raw`--(?=[ \t\r\n]|$)(?:${SEEN}]|\t)*(?:\r?\n|$)`],
  // Dialects execute `/*!` and `/*+`. In some dialects, `/*` inside a comment nests.
  ['silent', String.raw`/\*(?![!+]|M!)(?:${SEEN}*/]|[\t\r\n]|\*(?!/)|/(?!\*))*\*/`],
]
const ANY_FORM = new RegExp(FORMS.map(([, form]) => `(${form})`).join('|'), 'uy')

/** A line at which clients split a string, even in comments and quotes. The clients run the rest separately. */
const BATCH_LINE = /^[ \t]*(?:go\b|\/[ \t]*\r?$)/im

/** Returns the tokens of an SQL text, without comments; undefined when dialects disagree about a token. */
export function sqlTokens(sql: string): readonly Token[] | undefined {
  if (BATCH_LINE.test(sql)) return undefined
  const tokens: Token[] = []
  ANY_FORM.lastIndex = 0
  while (ANY_FORM.lastIndex < sql.length) {
    const found = ANY_FORM.exec(sql)
    if (found === null) return undefined
    const [text] = found
    const kind = FORMS[found.indexOf(text, 1) - 1]?.[0] ?? 'silent'
    if (kind !== 'silent')
      tokens.push(kind === 'word' ? { kind, text: text.toLowerCase(), written: text } : { kind, text })
  }
  return tokens
}
