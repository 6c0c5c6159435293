import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../../../src/contract/json.ts'
import { isFieldProblem, fieldText, parseField } from '../../../src/policy/language/fields.ts'
import { applyFunction } from '../../../src/policy/language/functions.ts'
import { when } from '../cases.ts'
import { bundle, diagnose } from '../support.ts'
import { SEVERAL_UNREADABLE, UNREADABLE } from '../../../src/policy/language/reading.ts'

const codesOf = async (changes: Record<string, string>): Promise<readonly string[]> =>
  (await diagnose(bundle(changes)))
    .map(({ code }) => code)
    .filter((code) => code !== 'untested-rule')
    .sort()
const tables = (sql: JsonValue) => applyFunction('sql_tables', sql)
const has = (clause: 'where' | 'limit' | 'recursive', sql: JsonValue) =>
  applyFunction(`sql_has_${clause}`, sql)

/** Queries, each with its tables. */
const QUERIES: readonly (readonly [string, readonly string[]])[] = [
  ['select 1', []],
  ['select * from orders', ['orders']],
  ['SELECT * FROM Orders AS o;', ['Orders']],
  ['select * from prod.customers', ['prod.customers']],
  ['select * from prod . /* x */ dbo.users', ['prod.dbo.users']],
  ['select * from [hr db].[pay roll].salaries', ['hr db.pay roll.salaries']],
  ['select * from `prod-eu`.`customer-data`.users', ['prod-eu.customer-data.users']],
  ['select * from `prod-eu.customer-data.users`', ['prod-eu.customer-data.users']],
  ['select * from "select"."from" t', ['select.from']],
  ['select * from srv.prod.dbo.users', ['srv.prod.dbo.users']],
  ['select a.b from x a, y.z b join w c on a.i = c.i', ['x', 'y.z', 'w']],
  ['select (select max(b) from prod.u) from t where a in (select a from s.v)', ['prod.u', 't', 's.v']],
  ['select * from ((a join b on 1 = 1) join (select * from c) d on 1 = 1)', ['a', 'b', 'c']],
  ['select 1 from a union all select 2 from b', ['a', 'b']],
  // a name of WITH is no table where it is visible, and one elsewhere
  ['with m as (select * from t) select * from m', ['t']],
  ['with m as (select * from m) select * from m', ['m']],
  ['with m as (select * from n), n as (select * from m) select * from n', ['n']],
  ['with recursive r as (select 1 union all select * from r) select * from r', []],
  ['select * from (with m as (select 1) select * from m) x join m on 1 = 1', ['m']],
  ['with m as (select 1) select * from x.m', ['x.m']],
  ['with m as (select 1) select * from M', ['M']],
  ['with m as (select 1) select * from "m"', ['m']],
  // words beside a table are not tables
  ["select extract(year from at) from t where b = 'from u'", ['t']],
  ['select t.* from t -- from u', ['t']],
]

const NO_QUERIES = [
  'delete from t where a = 1',
  'select * into u from t',
  'select * from t; select * from u',
  'select * from only t',
  'select * from f(1)',
  'select * from srv.prod..users',
  'select * from @t',
  'select * from a.b.c.d.e',
  "select * from 't'",
  'select * from t for update',
  '',
]

describe('sql_tables', () => {
  it.each(QUERIES)('of %s', (sql, expected) => {
    expect(tables(sql)).toEqual(expected)
  })

  it.each(NO_QUERIES)('is unknown for %j', (sql) => {
    expect(tables(sql)).toBe(UNREADABLE)
  })

  it('is unknown for values that are not text, and marks such entries of a list', () => {
    for (const value of [null, 7, true, {}]) expect(tables(value)).toBe(UNREADABLE)
    expect(tables(['select 1 from t', null, 'drop'])).toEqual(['t', SEVERAL_UNREADABLE, SEVERAL_UNREADABLE])
  })
})

/** Statements with their answers for WHERE and LIMIT; undefined when the statement is not understood. */
const STATEMENTS: readonly (readonly [string, boolean | undefined, boolean | undefined])[] = [
  ['select * from t', false, false],
  ['select * from t where a = 1', true, false],
  ['select * from t limit 5', false, true],
  ['select * from t where a = 1 fetch first 5 rows only', true, true],
  ['select * from t offset 5', false, false],
  ['select * from (select * from t where a = 1 limit 1) x', false, false],
  ['select a from t where a = 1 union select a from u', false, false],
  ['select a from t where a = 1 union select a from u where a = 2', true, false],
  ['delete from users', false, false],
  ['delete from users where id = 1', true, false],
  ['DELETE FROM users WHERE id in (select id from old);', true, false],
  ['delete from users using (select * from old where a = 1) o', false, false],
  ['delete from users -- where', false, false],
  ['delete from users /* where */', false, false],
  ['delete from "where"', false, false],
  ['delete from users where', undefined, undefined],
  ["delete from users returning 'where'", false, false],
  ['delete from users where id = 1 returning id', true, false],
  ['delete from users order by id limit 10', false, true],
  ['update users set a = 1', false, false],
  ["update users set a = 'where x = 1'", false, false],
  ['update users set a = 1 where id = 1', true, false],
  ['update users u set a = o.a, b = (select 1 where 1 = 1) from o where u.id = o.id', true, false],
  ['update users set a = (select b from t where c = 1)', false, false],
  ['delete from users update t set a = 1 where id = 2', undefined, undefined],
  ['delete from users; delete from t where id = 2', undefined, undefined],
  ['delete from users select 1 where 1 = 1', undefined, undefined],
  ['with x as (delete from users returning id) select * from x where id = 1', undefined, undefined],
  ['merge into t using s on t.a = s.a when matched then delete', undefined, undefined],
  ['drop table t', undefined, undefined],
  ['delete from users /*! where */ ', undefined, undefined],
  ['', undefined, undefined],
]

describe('sql_has', () => {
  it.each(STATEMENTS)('of %s', (sql, where, limit) => {
    expect([has('where', sql), has('limit', sql)]).toEqual([where ?? UNREADABLE, limit ?? UNREADABLE])
  })

  it('finds RECURSIVE at any depth, and only as the keyword', () => {
    const inside = 'select * from (with recursive r as (select 1) select * from r) x'
    expect(has('recursive', inside)).toBe(true)
    expect(has('recursive', 'select "recursive" from t -- with recursive')).toBe(false)
    expect(has('recursive', 'delete from t')).toBe(false)
  })

  it.each([
    ['with r as (select 1 as n union all select n + 1 from r) select n from r', true],
    ['with r as (select 1 as n union all select n + 1 from R) select n from r', true],
    ['with [r] as (select 1 as n union all select n + 1 from "r") select n from r', true],
    [
      'with r(n) as (select 1 union all select n + 1 from (select n from r where n < 9) x) select n from r',
      true,
    ],
    ['with r as (select 1 union all select n from t join r on 1 = 1) select n from r', true],
    ['select * from (with r as (select 1 union all select 1 from r) select * from r) x', true],
    ['with r as (with s as (select 1 union all select 1 from r) select * from s) select 1 from r', true],
    ['with r as (select 1), s as (select * from r) select * from r join s on 1 = 1', false],
    ['with r as (select r from t as r) select r from r', false],
    ['with r as (select * from x.r) select * from r', false],
  ])('finds a query that names itself, because some databases then recurse: %s', (sql, is) => {
    expect(has('recursive', sql)).toBe(is)
  })

  it('is unknown for values that are not text', () => {
    for (const value of [null, 7, true, {}]) expect(has('where', value)).toBe(UNREADABLE)
    expect(has('where', ['select 1', 1])).toEqual([false, UNREADABLE])
  })

  it.each([
    'sql_has(payload.query, where)',
    'sql_has(payload["a, limit"], recursive)',
    'sql_has(payload.q[0], limit)',
  ])('is written as it is read: %s', (text) => {
    const field = parseField(text)
    expect(isFieldProblem(field) ? field.message : fieldText(field)).toBe(text)
  })

  it.each([
    ['sql_has(payload.query)', '`sql_has` names no clause'],
    ['sql_has(payload.query, wher)', '`sql_has` knows no clause `wher`'],
    ['sql_has(payload.query, WHERE)', '`sql_has` knows no clause `WHERE`'],
    ['sql_has_where(payload.query)', 'unknown function `sql_has_where`'],
    ['sql_tables(payload.query, where)', '`payload.query, where` is not a field'],
    ['sql_has(query, where)', '`query` is not a field'],
  ])('refuses %s', (text, message) => {
    expect(parseField(text)).toMatchObject({ message })
  })
})

describe('a rule that asks the SQL reader', () => {
  const check = (match: string) => codesOf({ ...when(match) })
  it.each([
    ['{ "sql_has(payload.note, where)": true, sql_functions(payload.note): { none: f } }', []],
    ['{ "sql_has(payload.note, where)": "yes" }', ['literal-type']],
    ['{ "sql_has(payload.note, where)": { over: 1 } }', ['test-type']],
    ['{ "sql_has(payload.note, where)": { is: null } }', ['test-type']],
    ['{ "sql_has(payload.amount, where)": true }', ['test-type']],
    ['{ "sql_has(payload.to, where)": { every: true } }', ['functions-unchecked']],
    ['{ sql_tables(payload.note): orders }', ['test-type']],
    ['{ sql_tables(payload.note): { every: orders } }', ['functions-unchecked']],
    ['{ sql_tables(payload.note): { every: "a;b" } }', ['literal-form']],
  ])('%s', async (match, codes) => {
    expect(await check(match)).toEqual(codes)
  })
})
