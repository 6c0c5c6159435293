/** True for a sensitive field, a field that contains one, and a part of one. */
export function isSensitive(sensitive: readonly string[], field: string): boolean {
  return sensitive.some((path) => covers(path, field) || covers(field, path))
}

/** True when `inner` is `outer` or a part of it. */
export function covers(outer: string, inner: string): boolean {
  if (!inner.startsWith(outer)) return false
  const next = inner.charAt(outer.length)
  return next === '' || next === '.' || next === '['
}
