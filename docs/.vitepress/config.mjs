/**
 * The documentation site: `npm run docs` serves it, `npm run docs:build` builds it.
 * docs/decisions/0030-documentation-site.md says why.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { defineConfig } from 'vitepress'
import { portable } from '../../src/playground/portable.mjs'
import { diagram } from './mermaid.mjs'
import { anchorOf, files, resolveLink, rewritten, root } from './pages.mjs'
import { sidebar } from './sidebar.mjs'

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const repository = repositoryAddress()

export default defineConfig({
  title: 'Countersign',
  description: 'Approval gateway for AI agents: policy in git, people in the loop, one-time proof, evidence.',
  lang: 'en',
  base: process.env.DOCS_BASE ?? '/',
  srcDir: '..',
  srcExclude: [
    '**/node_modules/**',
    'README.md',
    'clients/**',
    'examples/**',
    'policies/**',
    'test/**',
    'packages/**',
    'grafana/**',
    'src/**',
  ],
  rewrites: Object.fromEntries(files.map((file) => [file, rewritten(file)])),
  outDir: join(root, 'docs/.vitepress/dist'),
  cacheDir: join(root, 'docs/.vitepress/cache'),
  cleanUrls: false,
  metaChunk: true,
  // the index of the search is one file
  vite: {
    // that of the root is the console's
    configFile: false,
    build: { chunkSizeWarningLimit: 4000 },
    plugins: [portable()],
    worker: { format: 'es', plugins: () => [portable()] },
  },
  markdown: {
    anchor: { slugify: anchorOf },
    config: (markdown) => {
      linksOfTheRepository(markdown)
      diagrams(markdown)
      plainBraces(markdown)
    },
  },
  themeConfig: {
    nav: [
      { text: 'Tutorials', link: '/tutorials/first-call' },
      { text: 'How-to', link: '/how-to/' },
      { text: 'Reference', link: '/reference/' },
      { text: 'Playground', link: '/playground' },
      { text: 'Explanation', link: '/explanation/how-proofs-work' },
      {
        text: version,
        items: [
          { text: `Changes in ${version}`, link: '/changelog' },
          { text: 'Contributing', link: '/contributing' },
        ],
      },
    ],
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
    externalLinkIcon: true,
    editLink: { pattern: `${repository}/edit/main/:path`, text: 'Edit this page' },
    footer: { message: 'Apache-2.0' },
  },
})

/** The address of the repository: the setting, or the remote that this copy came from. */
function repositoryAddress() {
  if (process.env.DOCS_REPOSITORY !== undefined) return process.env.DOCS_REPOSITORY
  try {
    const url = execFileSync('git', ['remote', 'get-url', 'origin'], {
      cwd: root,
      encoding: 'utf8',
      stdio: 'pipe',
    }).trim()
    const [, host, path] = /^(?:https:\/\/|(?:ssh:\/\/)?git@)([^/:@]+)[/:](.+?)(?:\.git)?$/.exec(url) ?? []
    if (host !== undefined) return `https://${host}/${path}`
  } catch {
    // a copy without git or without a remote
  }
  return 'https://example.org/countersign'
}

/** Resolves links of one page to another, to a file of the repository, or fails the build. */
function linksOfTheRepository(markdown) {
  markdown.core.ruler.push('repository-links', ({ tokens, env }) => {
    const from = relative(root, env.realPath ?? env.path)
    for (const { children } of tokens)
      for (const token of children ?? []) {
        if (token.type !== 'link_open' || token.attrGet('class') === 'header-anchor') continue
        token.attrSet('href', resolveLink(from, token.attrGet('href') ?? '', repository))
      }
  })
}

function diagrams(markdown) {
  const fence = markdown.renderer.rules.fence
  markdown.renderer.rules.fence = (tokens, index, ...rest) =>
    tokens[index].info.trim() === 'mermaid' ? diagram(tokens[index].content) : fence(tokens, index, ...rest)
}

/** Braces in text and in code are text: Vue would evaluate them. */
function plainBraces(markdown) {
  for (const kind of ['text', 'code_inline']) {
    const render = markdown.renderer.rules[kind]
    markdown.renderer.rules[kind] = (...args) => render(...args).replaceAll('{{', '&#123;&#123;')
  }
}
