/** A word of a line. */
export interface Word {
  readonly kind: 'word'
  /** The text without quotes, as a program receives it, except for what the shell expands. */
  readonly text: string
  readonly quoted: boolean
  /** True when the shell may put other text in place of the word, such as the names of files. */
  readonly expands: boolean
  /** True when the word may become options, because a file may have the name of one. */
  readonly mayBeOptions: boolean
}

export type Token =
  | Word
  /** `ends` is true when a line may end here. */
  | { readonly kind: 'separator'; readonly ends: boolean }
  /** The next word is a file; with `copies`, no word follows. */
  | { readonly kind: 'redirection'; readonly writes: boolean; readonly copies: boolean }

const BLANKS = /[ \t]+/y
const SEPARATOR = /(?:&&|\|\|?(?![|&])|;(?![;&])|\n)[ \t]*/y
const LINE_FEEDS = /[ \t\n]*/y
/** `2>&1`, `>&2`, `>>`, `<`. Other descriptors and other copies are unknown. */
const REDIRECTION = /2?(?:>(&[12](?=[ \t\n;|&<>]|$))|(>>?|<))/y
/** A word without quotes that no shell interprets. Most words are such words. */
const SIMPLE = /(?!=)[A-Za-z0-9_.,/:@%+=-]+(?=[ \t\n;|&]|$)/y
/** A part of a word. Some plain characters mean something in some places. In double quotes, `$?` is a number. */
const PIECE = /([\p{L}\p{N}_.,/:=@%+^~*?[\]{}#-]+)|'([^']*)'|"((?:[^"$`\\!]|\$\?)*)"/uy
const AFTER_WORD = /(?=[ \t\n;|&<>]|$)/y
const BEFORE_REDIRECTION = /(?=[<>])/y
const VISIBLE = /^[\x20-\x7e\n\t]*$/
/** Line ends other than the line feed, invisible characters, and blanks that only some shells read as blanks. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/u

/** Splits a line into tokens. Undefined for a line outside the subset that all shells read alike. */
export function shellTokens(line: string): readonly Token[] | undefined {
  if (!VISIBLE.test(line) && HIDDEN.test(line.replaceAll(/[\n\t]/g, ''))) return undefined
  const scan = createScan(line)
  const tokens: Token[] = []
  while ((scan.skip(BLANKS), !scan.isAtEnd())) {
    const token = readToken(scan)
    if (token === undefined) return undefined
    tokens.push(token)
  }
  return tokens
}

interface Scan {
  /** Reads what the pattern matches here; undefined when it matches nothing. */
  read(pattern: RegExp): RegExpExecArray | undefined
  skip(pattern: RegExp): void
  isAtEnd(): boolean
}

function createScan(line: string): Scan {
  let at = 0
  const read = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(line)
    if (found) at = pattern.lastIndex
    return found ?? undefined
  }
  return { read, skip: (pattern) => void read(pattern), isAtEnd: () => at === line.length }
}

function readToken(scan: Scan): Token | undefined {
  const simple = scan.read(SIMPLE)?.[0]
  if (simple !== undefined)
    return { kind: 'word', text: simple, quoted: false, expands: false, mayBeOptions: false }
  const separator = scan.read(SEPARATOR)?.[0]
  if (separator !== undefined) {
    if (separator.startsWith('\n')) scan.skip(LINE_FEEDS)
    return { kind: 'separator', ends: separator.startsWith('\n') || separator.startsWith(';') }
  }
  const redirection = scan.read(REDIRECTION)
  if (redirection === undefined) return readWord(scan)
  const [, copy, way] = redirection
  return { kind: 'redirection', writes: way !== '<', copies: copy !== undefined }
}

function readWord(scan: Scan): Word | undefined {
  const { text, bare, mayBeOptions } = readPieces(scan)
  if (bare === '' || !scan.read(AFTER_WORD) || isUnclear(bare)) return undefined
  if (/^[0-9]+$/.test(bare) && scan.read(BEFORE_REDIRECTION)) return undefined
  const expands = /^[~=]|[:=]~|[*?[\]]/.test(bare)
  return { kind: 'word', text, quoted: bare.includes(QUOTED), expands, mayBeOptions }
}

/** `bare` has a sign for each quoted part, so that patterns see only what the shell interprets. */
function readPieces(scan: Scan): Pick<Word, 'text' | 'mayBeOptions'> & { readonly bare: string } {
  let text = ''
  let bare = ''
  let mayBeOptions = false
  for (let piece = scan.read(PIECE); piece !== undefined; piece = scan.read(PIECE)) {
    const [, plain, single, double] = piece
    const glob = plain?.search(/[*?[\]]/) ?? -1
    if (glob >= 0) mayBeOptions ||= /^(?:-.*)?$/s.test(text + plain?.slice(0, glob))
    text += plain ?? single ?? double ?? ''
    bare += plain ?? QUOTED
  }
  return { text, bare, mayBeOptions }
}

const QUOTED = '\u0001'

/** Returns true for a comment, for what some shells read as history or a pipe, and for braces that may expand. */
function isUnclear(bare: string): boolean {
  return /^[#^]/.test(bare) || (bare !== '{}' && /[{}]/.test(bare.replaceAll(/@\{[\w-]+\}/g, '')))
}
