function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/))
}

/** Words of the subset that are never the name of a column or a table. */
const OF_THE_SUBSET = words(`
  select all distinct from where group by having order limit offset fetch union intersect except with
  as on using join inner left right full outer cross natural and or not in is null true false unknown like ilike between
  escape case when then else end cast exists over
`)

/**
 * Words that begin a statement or a clause outside of read-only queries, in any of the dialects that
 * docs/policy-language.md names.
 */
const OF_OTHER_STATEMENTS = words(`
  alter analyse analyze attach backup begin break bulk call checkpoint close cluster commit connect continue copy create
  dbcc deallocate declare delete delimiter deny describe detach disable discard do drop dumpfile enable exec execute explain export
  for go goto grant handler if import insert install into kill lateral listen load lock merge minus move nextval notify only open option
  outfile output pivot pragma prepare print procedure put qualify raiserror readtext receive reconfigure refresh reindex
  rename replace reset restore return returning revert revoke rollback save savepoint set setuser shutdown table
  tablesample throw truncate unload unlisten unlock unpivot update updatetext upsert use vacuum values waitfor while window
  writetext
`)

/** Reserved words that are also function names when a bracket follows immediately. */
const ALSO_FUNCTIONS = words('left right replace if')

/** The types that a cast may have. User-defined types are excluded, because they may run their author's code. */
export const CAST_TYPES = words(`
  int integer bigint smallint tinyint int64 numeric decimal real float float64 double text string varchar nvarchar char nchar
  date time datetime datetime2 timestamp timestamptz boolean bool bit uuid json jsonb interval signed unsigned money
`)

/** The units of an interval. */
export const INTERVAL_UNITS = words(
  'second seconds minute minutes hour hours day days week weeks month months quarter quarters year years',
)

export function mayBeName(word: string): boolean {
  return !OF_THE_SUBSET.has(word) && !OF_OTHER_STATEMENTS.has(word)
}

export function mayBeFunction(word: string): boolean {
  return mayBeName(word) || ALSO_FUNCTIONS.has(word)
}
