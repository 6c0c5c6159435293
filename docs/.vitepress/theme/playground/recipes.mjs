/** The recipes of the cookbook and the starter policies: each a bundle, loaded when it is opened. */
const texts = import.meta.glob(
  [
    '../../../../examples/policies/*/{directory,routing}.yaml',
    '../../../../examples/policies/*/{rules,tools}/*.yaml',
    '../../../../policies/{directory,routing}.yaml',
    '../../../../policies/{rules,tools}/*.yaml',
  ],
  { query: '?raw', import: 'default' },
)

const STARTER = 'starter'

const found = Object.entries(texts).map(([path, load]) => {
  const [, recipe = STARTER, file = ''] =
    /\/policies\/(?:([^/]+)\/)?((?:rules\/|tools\/)?[^/]+)$/.exec(path) ?? []
  const isStarter = recipe === 'rules' || recipe === 'tools'
  return isStarter ? { recipe: STARTER, file: `${recipe}/${file}`, load } : { recipe, file, load }
})

export const recipes = [...new Set(found.map(({ recipe }) => recipe))].sort()

/** The files of a recipe, rules first. */
export async function openRecipe(name) {
  const own = found.filter(({ recipe }) => recipe === name)
  const files = await Promise.all(own.map(async ({ file, load }) => ({ path: file, text: await load() })))
  const rank = ({ path }) =>
    ['rules/', 'tools/'].findIndex((folder) => path.startsWith(folder)) + 3 * !/\//.test(path)
  return files.sort((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : 1))
}
