import type { Doc, DocMap } from '../yaml/parse.ts'

/** Returns the schema that a local reference (`#/$defs/NAME`) names. */
export function resolveRef(root: DocMap, ref: string): Doc | undefined {
  const match = /^#\/(\$defs|definitions)\/([^/~%]+)$/.exec(ref)
  const defs = match && root.entries.find((entry) => entry.key === match[1])?.value
  return defs?.kind === 'map' ? defs.entries.find((entry) => entry.key === match?.[2])?.value : undefined
}
