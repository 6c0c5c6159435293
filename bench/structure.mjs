/**
 * Draws the folders of src into docs/images/structure.svg: `npm run structure`. A box shows the contents of its folder,
 * from the folder's README, and its imports. A line connects a folder to an import unless a longer path also
 * reaches this import. test/architecture.test.ts fails if the picture is outdated.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const src = join(root, 'src')
const OUT = join(root, 'docs/images/structure.svg')
const SDK = '@countersign/sdk'

/** The folder that each loose file belongs to. */
const HOME = { 'app.ts': 'app', 'main.ts': 'cli' }

const [BOX, GAP, ROW, MARGIN] = [270, 24, 60, 30]
const MOST_IN_ROW = 5
const CHARS = 46

const homeOf = (path) => HOME[path] ?? path.split('/')[0]

function importsOf(file, text) {
  const pattern = /(?:^|\n)\s*(?:import|export)\s+(?:[^'"]*?from\s+)?'([^']+)'|import\(\s*'([^']+)'\s*\)/g
  return [...text.matchAll(pattern)]
    .map((match) => match[1] ?? match[2])
    .filter((path) => path.startsWith('.') || path.startsWith(SDK))
    .map((path) =>
      path.startsWith('.') ? homeOf(relative(src, normalize(join(src, dirname(file), path)))) : SDK,
    )
}

/** The first sentence of the folder's README. */
function holdsOf(folder) {
  const [, text = ''] = readFileSync(join(src, folder, 'README.md'), 'utf8').split('\n\n')
  const [sentence] = text.replaceAll('\n', ' ').split(/\.(?: |$)/)
  return sentence.charAt(0).toLowerCase() + sentence.slice(1)
}

/** Returns the contents and imports of each folder. */
function readFolders() {
  const folders = new Map([
    [SDK, { holds: "the agent's side: a package without dependencies", imports: new Set() }],
  ])
  for (const file of readdirSync(src, { recursive: true, encoding: 'utf8' }).sort()) {
    if (!/\.tsx?$/.test(file)) continue
    const text = readFileSync(join(src, file), 'utf8')
    const home = homeOf(file)
    const folder = folders.get(home) ?? { holds: holdsOf(home), imports: new Set() }
    for (const one of importsOf(file, text)) if (one !== home) folder.imports.add(one)
    folders.set(home, folder)
  }
  return folders
}

/** Returns the rows of folders, top row first. A folder is above all folders that it imports. */
function rowsOf(folders) {
  const ranks = new Map()
  const rank = (name) => {
    if (!ranks.has(name)) {
      const below = [...folders.get(name).imports].map(rank)
      ranks.set(name, below.length === 0 ? 0 : Math.max(...below) + 1)
    }
    return ranks.get(name)
  }
  const rows = []
  for (const name of [...folders.keys()].sort((a, b) => (a < b ? -1 : 1)))
    (rows[rank(name)] ??= []).push(name)
  return rows.reverse().flatMap((row) => {
    const parts = Math.ceil(row.length / MOST_IN_ROW)
    const size = Math.ceil(row.length / parts)
    return Array.from({ length: parts }, (_, i) => row.slice(i * size, (i + 1) * size))
  })
}

/** Returns the imports that no longer path reaches. */
function directOf(folders, name) {
  const reach = (from, seen = new Set()) => {
    for (const one of folders.get(from).imports) if (!seen.has(one)) reach(one, seen.add(one))
    return seen
  }
  const all = [...folders.get(name).imports]
  return all.filter((one) => !all.some((other) => other !== one && reach(other).has(one)))
}

function wrapped(text) {
  const lines = ['']
  for (const word of text.split(' ')) {
    if (`${lines.at(-1)} ${word}`.length > CHARS) lines.push('')
    lines[lines.length - 1] = `${lines.at(-1)} ${word}`.trim()
  }
  return lines
}

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

function draw() {
  const folders = readFolders()
  const rows = rowsOf(folders)
  const width = MOST_IN_ROW * (BOX + GAP) - GAP + 2 * MARGIN
  const boxes = new Map()
  let y = MARGIN
  for (const row of rows) {
    const texts = row.map((name) => {
      const { holds, imports } = folders.get(name)
      const list = [...imports].sort((a, b) => (a < b ? -1 : 1)).join(', ') || 'nothing'
      return { name, holds: wrapped(holds), imports: wrapped(`imports ${list}`) }
    })
    const height = 36 + 15 * Math.max(...texts.map(({ holds, imports }) => holds.length + imports.length))
    const left = (width - row.length * (BOX + GAP) + GAP) / 2
    texts.forEach((text, i) => boxes.set(text.name, { ...text, x: left + i * (BOX + GAP), y, height }))
    y += height + ROW
  }
  const lines = [...boxes.values()].flatMap(({ name, x, y: top, height }) =>
    directOf(folders, name).map((one) => {
      const to = boxes.get(one)
      return `<path d="M${x + BOX / 2} ${top + height}C${x + BOX / 2} ${top + height + ROW} ${to.x + BOX / 2} ${to.y - ROW} ${to.x + BOX / 2} ${to.y}"/>`
    }),
  )
  const shapes = [...boxes.values()].map(({ name, x, y: top, height, holds, imports }) => {
    const line = (text, i, kind) =>
      `<text class="${kind}" x="${x + 12}" y="${top + 40 + 15 * i}">${escaped(text)}</text>`
    return [
      `<rect x="${x}" y="${top}" width="${BOX}" height="${height}" rx="6"/>`,
      `<text class="name" x="${x + 12}" y="${top + 22}">${name}</text>`,
      ...holds.map((text, i) => line(text, i, 'holds')),
      ...imports.map((text, i) => line(text, holds.length + i, 'imports')),
    ].join('\n')
  })
  const style =
    'text{font:11px sans-serif;fill:#1f2933}.name{font-size:15px;font-weight:600}.imports{fill:#52606d;font-style:italic}rect{fill:#fff;stroke:#486581}path{fill:none;stroke:#9fb3c8;stroke-width:1.5}'
  const height = y - ROW + MARGIN
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="Folders of src and what they import">
<style>${style}</style>
<rect width="100%" height="100%" style="fill:#f5f7fa;stroke:none"/>
${lines.join('\n')}
${shapes.join('\n')}
</svg>
`
}

if (process.argv.includes('--print')) process.stdout.write(draw())
else writeFileSync(OUT, draw())
