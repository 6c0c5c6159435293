/*
 * The ledger of code lines: no blanks, no comments; TypeScript, TSX, CSS and Python. A file that a program made of
 * another one says so in its first line, and has none.
 *
 * - `npm run ledger` prints each folder's lines, and lowers the numbers of ledger.json to them.
 * - `npm run ledger -- --raise` also raises numbers. The commit's message says why.
 * - `npm run ledger -- --since COMMIT` prints net code lines by folder since that commit.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const KEPT = new URL('ledger.json', import.meta.url)
/** Counted folders. The caps of issues count all but the tests. */
const PRODUCT = ['src', 'packages', 'clients/python/src']
const COUNTED = [...PRODUCT, 'test']

/** The lines of a source that hold code. A Python docstring is a comment. */
export function codeLines(path, source) {
  if (source.startsWith('# Generated from ')) return 0
  const read = path.endsWith('.py') ? pythonLine : otherLine
  /** A comment or text that is open at the end of a line: the mark that ends it, and whether its lines are code. */
  let open
  return source.split('\n').filter((raw) => {
    const line = raw.trim()
    if (open !== undefined) {
      const { isCode } = open
      if (line.includes(open.until)) open = undefined
      return isCode && line !== ''
    }
    const { isCode, until } = read(line)
    open = until === undefined ? undefined : { isCode, until }
    return isCode && line !== ''
  }).length
}

/** A line that begins with a comment is a comment; a comment behind code belongs to the code. */
function otherLine(line) {
  if (line.startsWith('//')) return { isCode: false }
  const [opening] = /^\{?\/\*/.exec(line) ?? []
  if (opening === undefined) return { isCode: true }
  const end = line.indexOf('*/', opening.length)
  if (end < 0) return { isCode: false, until: '*/' }
  return { isCode: !/^\}?$/.test(line.slice(end + 2)) }
}

function pythonLine(line) {
  if (line.startsWith('#')) return { isCode: false }
  const [, quotes] = /("""|''')/.exec(line) ?? []
  if (quotes === undefined) return { isCode: true }
  const isCode = !/^r?("""|''')/.test(line)
  return { isCode, until: line.split(quotes).length % 2 === 0 ? quotes : undefined }
}

/** The folder under which a file is counted: `src/gateway`, `packages/sdk`, `test` for a loose file of test/. */
function folderOf(path) {
  if (path.startsWith('clients/python/src/')) return 'clients/python/src'
  const [top, next, ...inner] = path.split('/')
  return inner.length === 0 ? top : `${top}/${next}`
}

/** Code lines by folder of the checkout at `root`. */
export function countLines(root = ROOT) {
  const git = ['-C', root, 'ls-files', '--cached', '--others', '--exclude-standard', '--', ...COUNTED]
  const files = new Set(execFileSync('git', git, { encoding: 'utf8' }).split('\n'))
  const folders = new Map()
  for (const path of [...files].filter((one) => /\.(tsx?|css|py)$/.test(one)).sort()) {
    const source = readIfThere(join(root, path))
    folders.set(folderOf(path), (folders.get(folderOf(path)) ?? 0) + codeLines(path, source))
  }
  return folders
}

function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // deleted, and not committed yet
  }
}

/** Code lines by folder at a commit, in a work tree that is removed again. */
function countAt(commit) {
  const place = join(mkdtempSync(join(tmpdir(), 'countersign-ledger-')), 'tree')
  const git = (...args) =>
    execFileSync('git', ['-C', ROOT, ...args], { stdio: ['ignore', 'ignore', 'inherit'] })
  try {
    git('worktree', 'add', '--quiet', '--detach', place, commit)
    return countLines(place)
  } finally {
    git('worktree', 'remove', '--force', place)
    rmSync(dirname(place), { recursive: true, force: true })
  }
}

const sumOf = (folders, tops) =>
  [...folders].reduce((sum, [name, lines]) => sum + (tops.some((top) => isIn(name, top)) ? lines : 0), 0)
const namesOf = (...maps) =>
  [...new Set(maps.flatMap((one) => [...one.keys()]))].sort((a, b) => (a < b ? -1 : 1))
const isIn = (name, top) => name === top || name.startsWith(`${top}/`)

function printSince(commit) {
  const [before, now] = [countAt(commit), countLines()]
  const signed = (number) => `${number > 0 ? '+' : ''}${number}`
  for (const name of namesOf(before, now)) {
    const net = (now.get(name) ?? 0) - (before.get(name) ?? 0)
    if (net !== 0) console.log(`${signed(net).padStart(7)}  ${name}`)
  }
  for (const tops of [PRODUCT, ['test']]) {
    const was = sumOf(before, tops)
    const is = sumOf(now, tops)
    console.log(`${signed(is - was).padStart(7)}  ${tops.join(', ')}: ${was} -> ${is}`)
  }
}

function settle({ raise }) {
  const kept = JSON.parse(readFileSync(KEPT, 'utf8'))
  const now = countLines()
  const lines = {}
  for (const name of namesOf(now)) {
    const count = now.get(name)
    const allowed = kept.lines[name] ?? 0
    lines[name] = raise ? count : Math.min(count, allowed)
    const note = count > allowed ? `  ${count - allowed} above its number` : ''
    console.log(`${String(count).padStart(7)}  ${name}${raise ? '' : note}`)
  }
  for (const top of COUNTED) console.log(`${String(sumOf(now, [top])).padStart(7)}  ${top}, in all`)
  writeFileSync(KEPT, `${JSON.stringify({ ...kept, lines }, null, 2)}\n`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { since: { type: 'string' }, raise: { type: 'boolean' } } })
  if (values.since === undefined) settle({ raise: values.raise === true })
  else printSince(values.since)
}
