import type { BundleFile } from './messages.ts'

declare global {
  interface ImportMeta {
    /** A function of Vite that returns the texts of the files by their paths. */
    glob(
      patterns: readonly string[],
      options: { readonly query: '?raw'; readonly import: 'default'; readonly eager: true },
    ): Readonly<Record<string, string>>
  }
}

/** The policies that `countersign init` writes. */
const STARTER = 'starter'

const texts = import.meta.glob(
  [
    '../../examples/policies/*/{directory,routing}.yaml',
    '../../examples/policies/*/{rules,tools}/*.yaml',
    '../../policies/{directory,routing}.yaml',
    '../../policies/{rules,tools}/*.yaml',
  ],
  { query: '?raw', import: 'default', eager: true },
)

/** The recipes of the cookbook and the starter policies: the files of each by its name, rules first. */
export const RECIPES: ReadonlyMap<string, readonly BundleFile[]> = recipesOf(texts)

export function recipesOf(
  byPath: Readonly<Record<string, string>>,
): ReadonlyMap<string, readonly BundleFile[]> {
  const recipes = new Map<string, BundleFile[]>()
  for (const [path, text] of Object.entries(byPath)) {
    const [, recipe = STARTER, file = ''] =
      /(?:\/examples\/policies\/([^/]+)|\/policies)\/((?:rules\/|tools\/)?[^/]+)$/.exec(path) ?? []
    recipes.set(recipe, [...(recipes.get(recipe) ?? []), { path: file, text }])
  }
  for (const files of recipes.values())
    files.sort((a, b) => rankOf(a) - rankOf(b) || (a.path < b.path ? -1 : 1))
  return new Map([...recipes].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The order of files: rules, then tools, then the files outside of the folders. */
function rankOf({ path }: BundleFile): number {
  if (path.startsWith('rules/')) return 0
  return path.startsWith('tools/') ? 1 : 2
}
