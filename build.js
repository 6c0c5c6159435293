import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/*
 * `npm run build` compiles src/, and bundles the program and the console from it. It keeps the digest of its inputs in
 * node_modules/.cache. With --if-changed, as `npm start` runs it, an equal digest means that there is nothing to do.
 * Another digest means that the bundles are made again. Nothing is compiled then: only tests and the package of the SDK
 * need the compiled files.
 */

const at = (path) => fileURLToPath(new URL(path, import.meta.url))
const ROOT = at('.')
const KEPT = at('node_modules/.cache/countersign-build')
const OUTPUTS = ['dist/bin/main.js', 'dist/console/index.html']
// without policies/, which users edit: only the examples of the console's playground come from there
const SOURCES = ['src', 'packages/sdk/src', 'examples/policies']
const INPUTS = [
  'build.js',
  'bundle.js',
  'compiled-in.js',
  'vite.config.ts',
  'package-lock.json',
  'tsconfig.json',
  'packages/sdk/tsconfig.json',
]

function digestOfInputs() {
  const sources = SOURCES.flatMap((folder) =>
    readdirSync(at(folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => `${entry.parentPath}/${entry.name}`),
  )
  const hash = createHash('sha256')
  for (const path of [...INPUTS.map(at), ...sources.sort()]) {
    const bytes = readFileSync(path)
    hash.update(`${relative(ROOT, path)}\0${bytes.length}\0`).update(bytes)
  }
  return hash.digest('hex')
}

const isBuilt = (digest) =>
  OUTPUTS.every((path) => existsSync(at(path))) &&
  existsSync(KEPT) &&
  readFileSync(KEPT, 'utf8').trim() === digest

/** The SDK first: the program takes its types from there. */
function compileAll() {
  const tsc = at('node_modules/typescript/bin/tsc')
  const child = spawn(process.execPath, [tsc, '-b', at('packages/sdk/src/testing'), at('tsconfig.json')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      said += text
    })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(said.trim()))))
  })
}

async function bundleConsole() {
  // vite would build for development where this names another environment, as the tests do
  process.env.NODE_ENV = 'production'
  await (await import('vite')).build()
}

/** Loads the command line's progress line from its source, because the first build has no compiled one. */
async function progressModule() {
  const { rolldown } = await import('rolldown')
  const bundle = await rolldown({
    input: at('src/cli/terminal/progress.ts'),
    platform: 'node',
    tsconfig: false,
  })
  const { output } = await bundle.generate({ format: 'esm' })
  await bundle.close()
  return import(`data:text/javascript,${encodeURIComponent(output[0].code)}`)
}

async function build(digest, { isStart }) {
  const { withProgress } = await progressModule()
  const steps = [
    ...(isStart ? [] : [['compiling', compileAll]]),
    ['bundling the program', async () => (await import('./bundle.js')).bundleProgram()],
    ['bundling the console', bundleConsole],
  ]
  mkdirSync(dirname(KEPT), { recursive: true })
  rmSync(KEPT, { force: true })
  for (const [index, [what, step]] of steps.entries())
    await withProgress(`Building Countersign, ${index + 1} of ${steps.length}: ${what}`, step)
  writeFileSync(KEPT, `${digest}\n`)
}

const digest = digestOfInputs()
const isStart = process.argv.includes('--if-changed')
if (!isStart || !isBuilt(digest)) {
  await build(digest, { isStart }).catch((error) => {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  })
}
