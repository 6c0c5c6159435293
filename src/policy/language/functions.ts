import { isObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { isComparable } from '../../domain/normal-form.ts'
import { mailDomain, normalPath, urlHost, urlOrigin } from './addresses.ts'
import {
  type Applied,
  type AppliedElement,
  MISSING,
  type Reading,
  SEVERAL_UNREADABLE,
  UNREADABLE,
} from './reading.ts'
import {
  type ClauseFunction,
  type EntryFunction,
  type FunctionName,
  givesList,
  type ListFunction,
} from './function-names.ts'
import type { Clause } from './sql/clauses.ts'
import { readShell, type ShellCommand } from './shell/read.ts'
import { readSql } from './sql/read.ts'

/**
 * Applies a function to a value, or to each element of a list. Returns UNREADABLE for an unreadable value, and never
 * throws.
 */
export function applyFunction(name: FunctionName, value: Reading): Applied {
  if (value === MISSING || value === UNREADABLE) return value
  if (!Array.isArray(value)) return applyToText(name, value) ?? UNREADABLE
  const unreadable = givesList(name) ? SEVERAL_UNREADABLE : UNREADABLE
  return (value as readonly JsonValue[]).flatMap<AppliedElement>(
    (item) => applyToText(name, item) ?? unreadable,
  )
}

function applyToText(name: FunctionName, value: JsonValue): Result {
  if (typeof value !== 'string' || !isComparable(value)) return undefined
  return FUNCTIONS[name].apply(value)
}

type Result = string | boolean | readonly JsonValue[] | undefined

/** A pattern, a format, or the form of a function's results, as a test of strings. */
export interface TextForm {
  /** The words that follow "is not" in a message, such as `a valid email`. */
  readonly name: string
  /** True when strings of this form have no capital letters. */
  readonly lowerCase?: true
  fits(text: string): boolean
}

/** All that Countersign knows about one function. Evaluation, check, lint and diff use this row. */
interface Row {
  /** Returns the result for a comparable string; undefined for an unreadable one. */
  apply(text: string): Result
  /** Results that the character-by-character search of `diff` does not find. */
  readonly seeds: readonly string[]
  /** Returns inputs of `diff` that give the result, alone and combined with the strings `raw`. */
  inputs(result: string, raw: readonly string[]): readonly string[]
  /** Inputs that the function cannot read. */
  readonly unreadable: readonly string[]
}

interface TextRow extends Row {
  /** The form of each result. */
  readonly form: TextForm
  /** A pattern of the results. It may be too wide, because the function itself checks every example. */
  readonly pattern: string
}

interface EntryRow extends Row {
  /** The contract of an entry, as `items` of an input_schema. */
  readonly entry: JsonObject
  readonly fewest: number
}

interface ListRow extends TextRow {
  /** The minimum number of entries for a string. */
  readonly fewest: number
}

function statement(apply: Row['apply'], row: Omit<ListRow, 'apply' | 'inputs'>): ListRow {
  return { ...row, apply, inputs: statements }
}

/** Returns a statement alone, and with raw strings after it, in a comment and before it. */
function statements(result: string, raw: readonly string[]): readonly string[] {
  return [
    result,
    `${result} x`,
    ...raw.flatMap((text) => [`${result} x ${text}`, `${result} /* ${text} */`, `${text};${result}`]),
  ]
}

/** One statement with and without each clause. */
const STATEMENTS = [
  'select 1 from t',
  'select 1 from t where a = 1',
  'select 1 from t limit 1',
  'with recursive r as (select 1) select 1 from r',
  'with recursive r as (select 1) select 1 from r where a = 1 limit 1',
  'delete from t',
  'delete from t limit 1',
  'delete from t where a = 1',
]

function clause(name: Clause): Row {
  return {
    apply: (text) => readSql(text).clauses?.has(name),
    seeds: STATEMENTS,
    inputs: statements,
    unreadable: ["'", 'drop x'],
  }
}

const ofTexts = (description: string): JsonObject => ({
  type: 'array',
  items: { type: 'string' },
  description,
})
const SHELL_COMMAND: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['program', 'arguments', 'options', 'reads', 'writes', 'text'],
  properties: {
    program: { type: 'string', minLength: 1, description: 'The program, as the line writes it.' },
    arguments: ofTexts('The words after the program.'),
    options: ofTexts('The words before `--` that begin with `-`, without `=value`.'),
    reads: ofTexts('The files that the command reads by redirection.'),
    writes: ofTexts('The files that the command writes by redirection, except `/dev/null`.'),
    text: { type: 'string', minLength: 1, description: 'The program and its arguments.' },
  },
}

let lastLine: { readonly line: string; readonly commands: Result } | undefined

/** Keeps the last result, because several rules test the same line. */
function readShellOnce(line: string): Result {
  if (lastLine?.line !== line) lastLine = { line, commands: readShell(line) }
  return lastLine.commands
}

/** Returns a result of a function as people read it. */
export function resultText(result: JsonValue): JsonValue {
  if (!isObject(result) || typeof result['text'] !== 'string') return result
  const { text, reads, writes } = result as unknown as ShellCommand
  return [text, ...reads.map((file) => `< ${file}`), ...writes.map((file) => `> ${file}`)].join(' ')
}

const HOSTLESS = ['nowhere', 'https://user@example.com/', 'http://user@example.com/']

/**
 * The functions of the language, one row each. Each address function checks the form of a result by applying itself
 * again, which does not change its own results.
 */
export const FUNCTIONS: {
  readonly [F in FunctionName]: F extends ListFunction
    ? ListRow
    : F extends EntryFunction
      ? EntryRow
      : F extends ClauseFunction
        ? Row
        : TextRow
} = {
  domain: {
    apply: mailDomain,
    form: {
      name: 'a domain in lower case',
      fits: (text) => mailDomain(`a@${text}`) === text,
      lowerCase: true,
    },
    pattern: '^[a-z0-9-]+(\\.[a-z0-9-]+)+$',
    seeds: ['example.com'],
    inputs: (result, raw) => [`a@${result}`, ...raw.map((text) => `${text.replace(/@.*/s, '')}@${result}`)],
    unreadable: ['nobody'],
  },
  host: {
    apply: urlHost,
    form: {
      name: 'a host in lower case',
      fits: (text) => urlHost(`https://${text}/`) === text,
      lowerCase: true,
    },
    pattern: '^(\\[[0-9a-f:]*\\]|[a-z0-9-]+(\\.[a-z0-9-]+)*)$',
    seeds: ['example.com', '192.0.2.1', '[2001:db8::1]'],
    inputs: (result, raw) => [
      ...['https', 'http', 'ftp'].map((scheme) => `${scheme}://${result}/`),
      ...raw.flatMap((text) => [`https://${result}/${text}`, `http://${result}/${text}`]),
    ],
    unreadable: HOSTLESS,
  },
  origin: {
    apply: urlOrigin,
    form: {
      name: 'scheme, host and port in lower case',
      fits: (text) => urlOrigin(text) === text,
      lowerCase: true,
    },
    pattern: '^(https?|wss?|ftp)://(\\[[0-9a-f:]*\\]|[a-z0-9-]+(\\.[a-z0-9-]+)*)(:[1-9][0-9]*)?$',
    seeds: ['https://example.com', 'http://example.com', 'https://example.com:8443'],
    inputs: (result, raw) => [result, ...raw.map((text) => `${result}/${text}`)],
    unreadable: HOSTLESS,
  },
  path: {
    apply: normalPath,
    form: {
      name: 'an absolute path without a slash at its end',
      fits: (text) => normalPath(text) === text,
    },
    pattern: '^/([^/]+(/[^/]+)*)?$',
    seeds: ['/', '/x'],
    inputs: (result, raw) => [
      result,
      `${result}/`,
      `/.${result}`,
      ...raw.map((text) => `/${text.replaceAll('/', '')}/..${result}`),
    ],
    unreadable: ['relative', '/\\'],
  },
  sql_verbs: statement((text) => readSql(text).verbs, {
    form: {
      name: 'one SQL verb in lower case',
      fits: (text) => /^[a-z_][a-z0-9_]*$/.test(text),
      lowerCase: true,
    },
    pattern: '^[a-z_][a-z0-9_]*$',
    fewest: 1,
    seeds: ['select 1', 'update'],
    unreadable: ["'", "select '"],
  }),
  sql_functions: statement((text) => readSql(text).functions, {
    form: {
      name: 'the name of a function in lower case',
      fits: (text) => /^[a-z_][a-z0-9_]*(?:\.[a-z_][a-z0-9_]*)*$/.test(text),
      lowerCase: true,
    },
    pattern: '^[a-z_][a-z0-9_]*(\\.[a-z_][a-z0-9_]*)*$',
    fewest: 0,
    seeds: ['select 1', 'select f()'],
    unreadable: ["'", "select '", 'drop x'],
  }),
  sql_tables: statement((text) => readSql(text).tables, {
    form: {
      name: 'the name of a table, as SQL writes it without quotes',
      fits: (text) => /^[A-Za-z_][\w .-]*$/.test(text),
    },
    pattern: '^[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)*$',
    fewest: 0,
    seeds: ['select 1', 'select 1 from t'],
    unreadable: ["'", "select '", 'drop x'],
  }),
  shell_commands: {
    apply: readShellOnce,
    entry: SHELL_COMMAND,
    fewest: 1,
    seeds: ['ls', 'ls -x', 'ls > x'],
    inputs: (result) => [result],
    unreadable: ['ls $(id)', "'"],
  },
  sql_has_where: clause('where'),
  sql_has_limit: clause('limit'),
  sql_has_recursive: clause('recursive'),
}
