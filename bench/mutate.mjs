/*
 * Seeded faults that no test finds: 24 places of domain, gateway, policy and events, drawn by a seed. Each is changed
 * alone, in a work tree. A comparison turns round, a condition is negated, `&&` becomes `||`, a boolean flips, a number
 * moves by one. Then the nearest tests run. Where they pass, every test that imports the file runs.
 *
 * node bench/mutate.mjs [--seed 1] [--places 24] [--near]
 *
 * Prints each place with its fate. `--near` runs the nearest tests only. It takes minutes for each place that survives.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { parseAst } from 'rolldown/parseAst'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FOLDERS = ['src/domain', 'src/gateway', 'src/policy', 'src/events']
const OTHERWISE = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '&&': '||',
  '||': '&&',
  '+': '-',
  '-': '+',
}

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    places: { type: 'string', default: '24' },
    near: { type: 'boolean', default: false },
  },
})

/** Every change that could be made in a source: its bounds, and the text instead. */
function changesOf(source) {
  const found = []
  const visit = (node) => {
    if (node === null || typeof node !== 'object') return
    if (Array.isArray(node)) return node.forEach(visit)
    // types have no effect at run time
    if (/^TS(Type|Interface|Union|Literal|Array|Function)|TypeAnnotation/.test(node.type ?? '')) return
    const instead = changeOf(node, source)
    if (instead !== undefined) found.push(instead)
    for (const child of Object.values(node)) visit(child)
  }
  visit(parseAst(source, { lang: 'ts' }))
  return found
}

function changeOf(node, source) {
  const { type, start, end } = node
  if (type === 'BinaryExpression' || type === 'LogicalExpression') {
    const operator = OTHERWISE[node.operator]
    if (operator === undefined || /'|`/.test(source.slice(start, end))) return undefined
    const at = source.indexOf(node.operator, node.left.end)
    return { start: at, end: at + node.operator.length, text: operator }
  }
  if (type === 'IfStatement' || type === 'ConditionalExpression') {
    const { test } = node
    return { start: test.start, end: test.end, text: `!(${source.slice(test.start, test.end)})` }
  }
  if (type === 'Literal' && typeof node.value === 'boolean') return { start, end, text: String(!node.value) }
  if (type === 'Literal' && typeof node.value === 'number')
    return { start, end, text: String(node.value + 1) }
  return undefined
}

/** Mulberry32: the same places for the same seed and the same sources. */
function randomFrom(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let word = Math.imul(state ^ (state >>> 15), state | 1)
    word ^= word + Math.imul(word ^ (word >>> 7), word | 61)
    return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32
  }
}

function draw(count, random) {
  const files = execFileSync('git', ['-C', ROOT, 'ls-files', '--', ...FOLDERS], { encoding: 'utf8' })
    .split('\n')
    .filter((path) => path.endsWith('.ts'))
  const all = files.flatMap((path) =>
    changesOf(readFileSync(join(ROOT, path), 'utf8')).map((change) => ({ path, ...change })),
  )
  return Array.from({ length: count }, () => all[Math.floor(random() * all.length)])
}

/** The test file of the same name, or the nearest folder of test/ that mirrors the file's folder. */
function nearestTests(path) {
  const mirrored = path.replace(/^src/, 'test').replace(/\.ts$/, '.test.ts')
  if (existsSync(join(ROOT, mirrored))) return mirrored
  let folder = dirname(mirrored)
  while (!existsSync(join(ROOT, folder))) folder = dirname(folder)
  return folder
}

const tree = join(mkdtempSync(join(tmpdir(), 'countersign-mutate-')), 'tree')
const git = (...args) => execFileSync('git', ['-C', ROOT, ...args], { stdio: 'ignore' })

/** True when a test fails in the tree as it is. */
function isKilledBy(...args) {
  const vitest = join(tree, 'node_modules/vitest/vitest.mjs')
  const all = [vitest, ...args, '--run', '--bail', '1', '--project', 'embedded', '--reporter', 'dot']
  return spawnSync(process.execPath, all, { cwd: tree, stdio: 'ignore' }).status !== 0
}

function fateOf({ path, start, end, text }) {
  const file = join(tree, path)
  const source = readFileSync(file, 'utf8')
  writeFileSync(file, source.slice(0, start) + text + source.slice(end))
  try {
    if (isKilledBy(nearestTests(path))) return 'killed by the nearest tests'
    if (values.near) return 'SURVIVES the nearest tests'
    return isKilledBy('related', path) ? 'killed by a test that imports it' : 'SURVIVES'
  } finally {
    writeFileSync(file, source)
  }
}

try {
  git('worktree', 'add', '--quiet', '--detach', tree, 'HEAD')
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
  const fates = new Map()
  for (const place of draw(Number(values.places), randomFrom(Number(values.seed)))) {
    const source = readFileSync(join(tree, place.path), 'utf8')
    const line = source.slice(0, place.start).split('\n').length
    const fate = fateOf(place)
    fates.set(fate, (fates.get(fate) ?? 0) + 1)
    const was = source.slice(place.start, place.end).replaceAll(/\s+/g, ' ')
    console.log(`${place.path}:${line}  ${was} -> ${place.text.replaceAll(/\s+/g, ' ')}  ${fate}`)
  }
  for (const [fate, count] of fates) console.log(`${count} ${fate}`)
} finally {
  git('worktree', 'remove', '--force', tree)
  rmSync(dirname(tree), { recursive: true, force: true })
}
