/** Functions that turn one string into a list. */
export const LIST_FUNCTIONS = ['sql_verbs', 'sql_functions'] as const
export type ListFunction = (typeof LIST_FUNCTIONS)[number]
export const FUNCTION_NAMES = ['domain', 'host', 'origin', 'path', ...LIST_FUNCTIONS] as const
export type FunctionName = (typeof FUNCTION_NAMES)[number]

export function givesList(name: FunctionName | undefined): name is ListFunction {
  return LIST_FUNCTIONS.some((one) => one === name)
}
