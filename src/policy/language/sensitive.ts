/** Returns true for a sensitive field, a field that contains a sensitive field, and a part of a sensitive field. */
export function isSensitive(sensitive: readonly string[], field: string): boolean {
  return sensitive.some((path) => covers(path, field) || covers(field, path))
}

/** Returns true when `inner` is `outer` or a part of `outer`. */
export function covers(outer: string, inner: string): boolean {
  if (!inner.startsWith(outer)) return false
  const next = inner.charAt(outer.length)
  return next === '' || next === '.' || next === '['
}
