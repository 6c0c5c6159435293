import type { ClauseFunction, FunctionName } from '../language/function-names.ts'

/**
 * Patterns for each function's results. A pattern may be too wide, because the function itself checks every example.
 */
export const LANGUAGES: Readonly<Record<Exclude<FunctionName, ClauseFunction>, string>> = {
  domain: '^[a-z0-9-]+(\\.[a-z0-9-]+)+$',
  host: '^(\\[[0-9a-f:]*\\]|[a-z0-9-]+(\\.[a-z0-9-]+)*)$',
  origin: '^(https?|wss?|ftp)://(\\[[0-9a-f:]*\\]|[a-z0-9-]+(\\.[a-z0-9-]+)*)(:[1-9][0-9]*)?$',
  path: '^/([^/]+(/[^/]+)*)?$',
  sql_verbs: '^[a-z_][a-z0-9_]*$',
  sql_functions: '^[a-z_][a-z0-9_]*(\\.[a-z_][a-z0-9_]*)*$',
  sql_tables: '^[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)*$',
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

/** Results that the character-by-character search does not find. */
const SEEDS: Readonly<Record<FunctionName, readonly string[]>> = {
  domain: ['example.com'],
  host: ['example.com', '192.0.2.1', '[2001:db8::1]'],
  origin: ['https://example.com', 'http://example.com', 'https://example.com:8443'],
  path: ['/', '/x'],
  sql_verbs: ['select 1', 'update'],
  sql_functions: ['select 1', 'select f()'],
  sql_tables: ['select 1', 'select 1 from t'],
  sql_has_where: STATEMENTS,
  sql_has_limit: STATEMENTS,
  sql_has_recursive: STATEMENTS,
}

/**
 * Returns inputs that the function turns into these results, each alone and combined with `raw`, and inputs that it
 * cannot read.
 */
export function inputsOf(
  fn: FunctionName,
  results: readonly string[],
  raw: readonly string[],
): readonly string[] {
  const wanted = [...results, ...SEEDS[fn]]
  const unreadable = few(raw).map((text) => `${text} '`)
  return [...wanted.flatMap((result) => INPUTS[fn](result, raw)), ...UNREADABLE[fn], ...unreadable]
}

type Inputs = (result: string, raw: readonly string[]) => readonly string[]

/** The maximum number of raw strings to combine with each result. */
const MAX_COMPANIONS = 24

const INPUTS: Readonly<Record<FunctionName, Inputs>> = {
  domain: (result, raw) => [
    `a@${result}`,
    ...few(raw).map((text) => `${text.replace(/@.*/s, '')}@${result}`),
  ],
  host: (result, raw) => [
    ...['https', 'http', 'ftp'].map((scheme) => `${scheme}://${result}/`),
    ...few(raw).flatMap((text) => [`https://${result}/${text}`, `http://${result}/${text}`]),
  ],
  path: (result, raw) => [
    result,
    `${result}/`,
    `/.${result}`,
    ...few(raw).map((text) => `/${text.replaceAll('/', '')}/..${result}`),
  ],
  origin: (result, raw) => [result, ...few(raw).map((text) => `${result}/${text}`)],
  sql_verbs: statements,
  sql_functions: statements,
  sql_tables: statements,
  sql_has_where: statements,
  sql_has_limit: statements,
  sql_has_recursive: statements,
}

/** Returns a statement alone, and with raw strings after it, in a comment and before it. */
function statements(result: string, raw: readonly string[]): readonly string[] {
  return [
    result,
    `${result} x`,
    ...few(raw).flatMap((text) => [`${result} x ${text}`, `${result} /* ${text} */`, `${text};${result}`]),
  ]
}

const UNREADABLE: Readonly<Record<FunctionName, readonly string[]>> = {
  domain: ['nobody'],
  host: ['nowhere', 'https://user@example.com/', 'http://user@example.com/'],
  origin: ['nowhere', 'https://user@example.com/', 'http://user@example.com/'],
  path: ['relative', '/\\'],
  sql_verbs: ["'", "select '"],
  sql_functions: ["'", "select '", 'drop x'],
  sql_tables: ["'", "select '", 'drop x'],
  sql_has_where: ["'", 'drop x'],
  sql_has_limit: ["'", 'drop x'],
  sql_has_recursive: ["'", 'drop x'],
}

function few(raw: readonly string[]): readonly string[] {
  return raw.slice(0, MAX_COMPANIONS)
}
