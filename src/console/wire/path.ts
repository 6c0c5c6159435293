import type { OPERATIONS } from '../../contract/operations/operations.ts'

type Table = typeof OPERATIONS
type PathsOf<Method> = {
  [Id in keyof Table]: Table[Id]['method'] extends Method ? Table[Id]['path'] : never
}[keyof Table]

/** A path of the contract with any text in place of each parameter, without the leading `/api/`. */
type Filled<Path extends string> = Path extends `${infer Before}{${string}}${infer After}`
  ? `${Before}${string}${Filled<After>}`
  : Path

type Below<Path extends string> = Path extends `/api/${infer Rest}` ? Rest : never

/**
 * The paths that the gateway serves for a method. The paths exist only as types, because the table would double the
 * size of the script.
 */
export type PathFor<Method extends 'GET' | 'POST' | 'DELETE'> = Below<Filled<PathsOf<Method>>>

/** A path with or without a query. */
export type Address<Method extends 'GET' | 'POST' | 'DELETE' = 'GET'> =
  | PathFor<Method>
  | `${PathFor<Method>}?${string}`
