/** True when a field is, contains, or is part of a sensitive one. Every item of a sensitive list is sensitive. */
export function isSensitive(sensitive: readonly string[], field: string): boolean {
  return sensitive.some((path) => covers(path, field) || covers(field, path))
}

/** True when the second field is the first, or part of it. */
export function covers(outer: string, inner: string): boolean {
  if (!inner.startsWith(outer)) return false
  const next = inner.charAt(outer.length)
  return next === '' || next === '.' || next === '['
}
