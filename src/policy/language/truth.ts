/**
 * Three-valued logic (Kleene). UNKNOWN means that a test could not be checked. The rule's verdict determines how
 * UNKNOWN counts.
 */
export const FALSE = 0
export const TRUE = 1
export const UNKNOWN = 2

export type Truth = typeof FALSE | typeof TRUE | typeof UNKNOWN

export function truthOf(value: boolean): Truth {
  return value ? TRUE : FALSE
}

export function not(a: Truth): Truth {
  return a === UNKNOWN ? UNKNOWN : a === TRUE ? FALSE : TRUE
}

export function and(a: Truth, b: Truth): Truth {
  if (a === FALSE || b === FALSE) return FALSE
  return a === TRUE && b === TRUE ? TRUE : UNKNOWN
}

export function or(a: Truth, b: Truth): Truth {
  if (a === TRUE || b === TRUE) return TRUE
  return a === FALSE && b === FALSE ? FALSE : UNKNOWN
}

/** Joins the items' truths with `and`, up to the first FALSE. Returns TRUE for an empty list. */
export function allOf<T, C>(items: readonly T[], truth: (item: T, context: C) => Truth, context: C): Truth {
  let result: Truth = TRUE
  for (const item of items) {
    result = and(result, truth(item, context))
    if (result === FALSE) return FALSE
  }
  return result
}

/** Joins the items' truths with `or`, up to the first TRUE. Returns FALSE for an empty list. */
export function anyOf<T, C>(items: readonly T[], truth: (item: T, context: C) => Truth, context: C): Truth {
  let result: Truth = FALSE
  for (const item of items) {
    result = or(result, truth(item, context))
    if (result === TRUE) return TRUE
  }
  return result
}
