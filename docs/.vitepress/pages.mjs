/**
 * Pages of the site: every Markdown file below docs/, and the pages of the repository that belong to them.
 * A page keeps its place in the repository, so that it reads on GitHub as well.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))

const OUTSIDE_DOCS = ['SECURITY.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'deploy/README.md', 'bench/README.md']

const below = (folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.startsWith('.vitepress'))
    .map((name) => `${folder}/${name}`.replaceAll('\\', '/'))

/** Files of the repository that are pages. */
export const files = [...below('docs'), ...OUTSIDE_DOCS]

/** The path of a page on the site, without `.html`: `docs/python/README.md` is `python/`. */
export function pathOf(file) {
  const path = file.replace(/^docs\//, '').replace(/\.md$/, '')
  return path
    .replace(/(^|\/)README$/, '$1')
    .replace(/^(SECURITY|CONTRIBUTING|CHANGELOG)$/, (name) => name.toLowerCase())
}

/** The file of VitePress' rewritten tree. */
export const rewritten = (file) => `${pathOf(file).replace(/(^|\/)$/, '$1index')}.md`

/** Anchors of a file's headings, as GitHub and the site make them. */
export function anchorOf(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')
}

const anchors = new Map()
function anchorsOf(file) {
  const known = anchors.get(file)
  if (known !== undefined) return known
  const text = readFileSync(join(root, file), 'utf8').replaceAll(/^```.*?^```/gms, '')
  const found = new Set([...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading)))
  for (const [, id] of text.matchAll(/<a (?:id|name)="([^"]+)">/g)) found.add(id)
  anchors.set(file, found)
  return found
}

/**
 * Resolves a link of a page.
 *
 * @returns the link on the site, or the address of a file in the repository
 * @throws when neither the file nor the heading exists: the build fails
 */
export function resolveLink(from, href, repository) {
  if (/^[a-z][a-z+.-]*:|^\/\//i.test(href)) return href
  const [path, anchor] = href.split('#')
  const file = path === '' ? from : normalize(join(dirname(from), decodeURI(path))).replace(/\/$/, '')
  if (!existsSync(join(root, file))) throw new Error(`dead link in ${from}: ${href}`)
  const page = files.includes(file)
    ? file
    : files.includes(`${file}/README.md`)
      ? `${file}/README.md`
      : undefined
  if (page === undefined) {
    const kind = statSync(join(root, file)).isDirectory() ? 'tree' : 'blob'
    return `${repository}/${kind}/main/${file}${anchor === undefined ? '' : `#${anchor}`}`
  }
  // `#recipe=NAME` is what the playground opens
  const isHeading = anchor !== undefined && anchor !== '' && !anchor.includes('=')
  if (isHeading && !anchorsOf(page).has(anchor)) throw new Error(`dead link in ${from}: ${href}`)
  return `/${pathOf(page)}${anchor === undefined ? '' : `#${anchor}`}`
}
