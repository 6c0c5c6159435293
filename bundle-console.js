import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'

const at = (path) => fileURLToPath(new URL(path, import.meta.url))
const SOURCE = at('src/console/')
const OUT = at('dist/console/')

/**
 * The console as a page, a style sheet and two scripts: the first paints the queue, the second holds the other pages and arrives meanwhile.
 * Names below assets/ carry a hash of the bytes, so that browsers may keep them for good, and each file is compressed here, once, as far as it
 * goes (docs/decisions/0014).
 */
export async function bundleConsole() {
  await rm(OUT, { recursive: true, force: true })
  await mkdir(`${OUT}assets`, { recursive: true })
  const { first, second } = await writeScripts()
  const style = await keep('css', await styleText())
  const icon = await keep('svg', await readFile(`${SOURCE}icon.svg`, 'utf8'))
  await writeFile(`${OUT}LICENSES.txt`, await licences())
  const page = await readFile(`${SOURCE}index.html`, 'utf8')
  const names = { 'console.js': first, 'pages.js': second, 'console.css': style, 'icon.svg': icon }
  await write(
    'index.html',
    page.replace(/console\.js|pages\.js|console\.css|icon\.svg/g, (name) => names[name]),
  )
}

async function writeScripts() {
  const bundle = await rolldown({
    input: { console: `${SOURCE}main.tsx` },
    platform: 'browser',
    tsconfig: false,
    transform: {
      target: 'es2022',
      jsx: { runtime: 'classic', pragma: 'h', pragmaFrag: 'Fragment' },
      inject: { h: ['preact', 'h'], Fragment: ['preact', 'Fragment'] },
    },
  })
  const { output } = await bundle.generate({
    format: 'esm',
    minify: true,
    comments: false,
    entryFileNames: 'assets/[name]-[hash].js',
    chunkFileNames: 'assets/[name]-[hash].js',
  })
  await bundle.close()
  if (output.length !== 2) throw new Error('the console is two scripts')
  for (const { fileName, code } of output) await write(fileName, code)
  const [first, second] = [true, false].map((isEntry) => output.find((one) => one.isEntry === isEntry))
  return { first: first.fileName, second: second.fileName }
}

/** Of what is in the scripts: it goes where they go. */
const licences = async () => `preact\n\n${await readFile(at('node_modules/preact/LICENSE'), 'utf8')}`

/** All style sheets in the order of their names, without comments and indentation. */
async function styleText() {
  const names = (await readdir(`${SOURCE}style`)).sort()
  const texts = await Promise.all(names.map((name) => readFile(`${SOURCE}style/${name}`, 'utf8')))
  return texts
    .join('\n')
    .replace(/\/\*[^]*?\*\//g, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};,]) ?/g, '$1')
    .trim()
}

async function keep(extension, text) {
  const name = `assets/console-${createHash('sha256').update(text).digest('base64url').slice(0, 10)}.${extension}`
  await write(name, text)
  return name
}

async function write(name, text) {
  const bytes = Buffer.from(text)
  const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
  await writeFile(`${OUT}${name}`, bytes)
  // blocks of half the usual size: texts as short as these become smaller
  await writeFile(`${OUT}${name}.gz`, gzipSync(bytes, { level: 9, memLevel: 6 }))
  await writeFile(`${OUT}${name}.br`, brotliCompressSync(bytes, { params: quality }))
}
