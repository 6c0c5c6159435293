import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'

const at = (path) => fileURLToPath(new URL(path, import.meta.url))
const SOURCE = at('src/console/')
const OUT = at('dist/console/')

/**
 * The console as three files: one page, one script, one style sheet. The latter have the hash of their bytes in their name, so that browsers
 * may keep them for good, and each is compressed here, once, as far as it goes (docs/decisions/0014).
 */
export async function bundleConsole() {
  await rm(OUT, { recursive: true, force: true })
  await mkdir(OUT, { recursive: true })
  const script = await keep('js', await scriptText())
  const style = await keep('css', await styleText())
  const icon = await keep('svg', await readFile(`${SOURCE}icon.svg`, 'utf8'))
  const page = await readFile(`${SOURCE}index.html`, 'utf8')
  await write('index.html', page.replace('console.js', script).replace('console.css', style).replace('icon.svg', icon))
}

async function scriptText() {
  const bundle = await rolldown({
    input: `${SOURCE}main.tsx`,
    platform: 'browser',
    tsconfig: false,
    transform: { target: 'es2022', jsx: { runtime: 'automatic', importSource: 'preact' } },
  })
  const { output } = await bundle.generate({ format: 'esm', minify: true })
  await bundle.close()
  if (output.length !== 1) throw new Error('the console is one script')
  return output[0].code
}

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
  await mkdir(`${OUT}assets`, { recursive: true })
  await write(name, text)
  return name
}

async function write(name, text) {
  const bytes = Buffer.from(text)
  const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
  await writeFile(`${OUT}${name}`, bytes)
  await writeFile(`${OUT}${name}.gz`, gzipSync(bytes, { level: 9 }))
  await writeFile(`${OUT}${name}.br`, brotliCompressSync(bytes, { params: quality }))
}
