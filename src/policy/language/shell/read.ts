import { MAX_SHELL_CHARACTERS } from '../../text/bounds.ts'
import { RESERVED, RUNS_ARGUMENTS, RUNS_WITH } from './programs.ts'
import { shellTokens, type Token, type Word } from './words.ts'

/** One simple command of a line. */
export type ShellCommand = {
  readonly program: string
  readonly arguments: readonly string[]
  /** The arguments before `--` that begin with `-`, without `=value`. */
  readonly options: readonly string[]
  /** The files of redirections, except `/dev/null`. */
  readonly reads: readonly string[]
  readonly writes: readonly string[]
  /** The program and its arguments, with a blank between them. */
  readonly text: string
}

/**
 * Returns the commands of a line, in order. Undefined for a line outside the subset that all shells read alike
 * (docs/policy-language.md), and for a line with a program that runs its arguments.
 */
export function readShell(line: string): readonly ShellCommand[] | undefined {
  const tokens = line.length > MAX_SHELL_CHARACTERS ? undefined : shellTokens(line)
  if (tokens === undefined) return undefined
  const commands: ShellCommand[] = []
  let own: Token[] = []
  for (const [i, token] of tokens.entries()) {
    if (token.kind !== 'separator') {
      own.push(token)
      continue
    }
    const command = commandOf(own)
    if (command === undefined) return undefined
    commands.push(command)
    own = []
    if (i === tokens.length - 1) return token.ends ? commands : undefined
  }
  const last = commandOf(own)
  return last && [...commands, last]
}

function commandOf(tokens: readonly Token[]): ShellCommand | undefined {
  const parts = partsOf(tokens)
  const [first, ...rest] = parts?.words ?? []
  if (!parts || !first || !isProgram(first)) return undefined
  const end = rest.findIndex(({ text }) => text === '--')
  const before = end < 0 ? rest : rest.slice(0, end)
  const texts = rest.map(({ text }) => text)
  if (before.some(({ mayBeOptions }) => mayBeOptions) || runsArguments(first.text, texts)) return undefined
  return {
    program: first.text,
    arguments: texts,
    options: before.flatMap(({ text }) => (/^-./s.test(text) ? text.replace(/=.*/s, '') : [])),
    reads: parts.reads,
    writes: parts.writes,
    text: [first.text, ...texts].join(' '),
  }
}

interface Parts extends Pick<ShellCommand, 'reads' | 'writes'> {
  readonly words: readonly Word[]
}

/** Separates the words of a command from its redirections, which may be anywhere. */
function partsOf(tokens: readonly Token[]): Parts | undefined {
  const parts = { words: [] as Word[], reads: [] as string[], writes: [] as string[] }
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]
    if (token?.kind === 'word') parts.words.push(token)
    if (token?.kind !== 'redirection' || token.copies) continue
    const file = fileOf(tokens[++i])
    if (file === undefined) return undefined
    if (file !== '/dev/null') parts[token.writes ? 'writes' : 'reads'].push(file)
  }
  return parts
}

/** Returns the name of a file, unless the shell may put another in its place. Some shells connect to `/dev/tcp`. */
function fileOf(token: Token | undefined): string | undefined {
  if (token?.kind !== 'word' || token.expands || token.text === '') return undefined
  return /^\/dev\/(?!null$)/.test(token.text) ? undefined : token.text
}

/** Returns false for a quoted name, which may hide an alias, for an assignment, and for words of the grammar. */
function isProgram({ text, quoted, expands }: Word): boolean {
  return !quoted && !expands && !/^-|[=*?[\]~{}#^%+@:,]/.test(text) && !RESERVED.has(text)
}

function runsArguments(program: string, words: readonly string[]): boolean {
  // Some file systems ignore the case of a name.
  const name = program.slice(program.lastIndexOf('/') + 1).toLowerCase()
  const option = RUNS_WITH.get(name)
  return RUNS_ARGUMENTS.has(name) || (option !== undefined && words.some((word) => option.test(word)))
}
