/**
 * The soak: test files at full length. It takes hours. A file belongs to it by its first line (test/marks.ts), or
 * because it imports runs.ts or fast-check, itself or by a helper.
 *
 *     npm run test:soak                            the whole soak
 *     npm run test:soak -- test/fault              of these folders or files
 *     npm run test:soak -- --changed               of what differs from the commit where this branch left main
 *     npm run test:soak -- --short --minutes 12    a few rounds of each, and no file is begun after twelve minutes
 *     node test/soak.mjs --list                    the names of its files
 *
 * CI runs the short soak of what changed, within a time (.ci/run).
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SUITE = fileURLToPath(new URL('suite.mjs', import.meta.url))
/** The branches into which other developers merge. */
const LANDED = ['origin/main', 'origin/HEAD', 'main']

/** Folders that a folder of tests proves beside its namesake in src/. */
const ALSO_PROVES = {
  'test/bench': ['bench', 'policies'],
  'test/clients': ['clients/python'],
  'test/fault': [
    'src/app',
    'src/evidence',
    'src/gateway',
    'src/http',
    'src/outbound',
    'src/store',
    'src/webhooks',
  ],
  'test/gateway': ['src/domain', 'src/store'],
  'test/http': ['src/contract', 'src/gateway', 'src/store'],
  'test/policy': ['policies'],
  'test/sdk': ['packages/sdk'],
}

function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

/** The files that differ from where this branch left main; a reason, when that cannot be known. */
function changedFiles() {
  const base = LANDED.map((ref) => git('merge-base', 'HEAD', ref)).find((commit) => commit !== undefined)
  if (base === undefined) return `no ${LANDED.join(', ')} here: what changed cannot be known`
  const files =
    git('diff', '--name-only', base)
      ?.split('\n')
      .filter((name) => name !== '') ?? []
  return files.length === 0 ? `nothing differs from ${base.slice(0, 12)}` : files
}

const folderOf = (file) => /^test\/[^/]+(?=\/)/.exec(file)?.[0] ?? file

function isProvedBy(file, changed) {
  const folder = folderOf(file)
  const places = [folder, folder.replace(/^test/, 'src'), ...(ALSO_PROVES[folder] ?? [])]
  return changed.some((name) => places.some((place) => name === place || name.startsWith(`${place}/`)))
}

const textOf = (file) => readFileSync(`${ROOT}${file}`, 'utf8')
const importsOf = (file) =>
  [...textOf(file).matchAll(/^(?:import|export) [^']*?from '([^']+)'/gm)].map(([, name]) => name)

/** Whether a file of the tests, or one that it imports, is longer in the soak, or draws random cases. */
function isLonger(file, seen = new Set()) {
  if (seen.has(file)) return false
  seen.add(file)
  const imported = importsOf(file)
  if (imported.includes('fast-check') || imported.some((name) => name.endsWith('/runs.ts'))) return true
  return imported
    .filter((name) => name.startsWith('.'))
    .map((name) => join(dirname(file), name))
    .some((name) => name.startsWith('test/') && isLonger(name, seen))
}

const isOnlySoak = (file) => textOf(file).startsWith('// @soak\n')

/** Whether the short soak has more of it than the check. */
const isLongerAtOnce = (file) =>
  /^import \{[^}]*\b(?:IS_SOAK|rounds)\b[^}]*\} from '[^']*\/runs\.ts'/m.test(textOf(file))

/** The test files, each with its soak settings. */
function soakFiles() {
  return readdirSync(`${ROOT}/test`, { recursive: true, encoding: 'utf8' })
    .map((name) => `test/${name}`)
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => ({
      file,
      onRedis: textOf(file).startsWith('// @store each, in the soak\n'),
      isLonger: isOnlySoak(file) || isLonger(file),
      isShort: isOnlySoak(file) || isLongerAtOnce(file),
    }))
    .filter((one) => one.onRedis || one.isLonger)
}

/** A run has so many files when the time is bounded, so that it ends soon after that time. */
const BATCH = 3

function batchesOf(files, size) {
  return Array.from({ length: Math.ceil(files.length / size) }, (_, i) =>
    files.slice(i * size, (i + 1) * size),
  )
}

const OPTIONS = {
  changed: { type: 'boolean' },
  short: { type: 'boolean' },
  minutes: { type: 'string' },
  list: { type: 'boolean' },
}

function listed() {
  for (const { file } of soakFiles()) console.log(file)
  return 0
}

function soak() {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true })
  if (values.list) return listed()
  const changed = values.changed ? changedFiles() : undefined
  if (typeof changed === 'string') return skipped(changed)
  const wanted = soakFiles()
    .filter(({ file }) => positionals.length === 0 || positionals.some((place) => file.startsWith(place)))
    .filter(({ file }) => changed === undefined || isProvedBy(file, changed))
  const size = values.minutes === undefined ? Infinity : BATCH
  const runs = [
    values.short
      ? { projects: ['embedded'], has: 'isShort' }
      : { projects: ['embedded', 'redis'], has: 'isLonger' },
    { projects: ['redis-soak'], has: 'onRedis' },
  ].flatMap(({ projects, has }) => {
    const files = wanted.filter((one) => one[has]).map(({ file }) => file)
    return batchesOf(files, Math.min(size, files.length)).map((batch) => ({ projects, files: batch }))
  })
  if (runs.length === 0) return skipped('no file of it proves what changed')
  return inTime(runs, { length: values.short ? 'short' : '1', minutes: Number(values.minutes ?? Infinity) })
}

/** Runs one after another, and begins none when the time is over. Returns the exit code. */
function inTime(runs, { length, minutes }) {
  const end = performance.now() + minutes * 60_000
  const env = { ...process.env, COUNTERSIGN_TEST_SOAK: length }
  let [code, left] = [0, [...runs]]
  while (left.length > 0 && performance.now() < end) {
    const [{ projects, files }, ...others] = left
    console.log(`soak on ${projects.join(' and ')}: ${files.join(' ')}`)
    const args = [...projects.flatMap((name) => ['--project', name]), ...files]
    if (spawnSync(process.execPath, [SUITE, ...args], { cwd: ROOT, stdio: 'inherit', env }).status !== 0)
      code = 1
    left = others
  }
  if (left.length > 0) console.log(`the ${minutes} minutes are over; these did not run:`)
  for (const { projects, files } of left) console.log(`  ${projects.join(' and ')}: ${files.join(' ')}`)
  return code
}

function skipped(why) {
  console.log(`no soak: ${why}`)
  return 0
}

process.exitCode = soak()
