/*
 * Judges published commands by the recipe shell-allow-list (examples/policies). It prints each abuse of GTFOBins that
 * is allowed, and their share. It also prints the share of the commands of the tldr pages that need a person. It reads
 * two checkouts. An abuse of several lines is allowed when every line is.
 *
 * npm run build && node bench/published-commands.mjs GTFOBINS TLDR
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { loadBundle } from '../dist/policy/bundle/directory.js'

const [gtfobins, tldr] = process.argv.slice(2)
if (tldr === undefined) {
  console.error('usage: node bench/published-commands.mjs GTFOBINS TLDR')
  process.exit(2)
}
const MOST_ALLOWED = 0.01
const PLATFORMS = ['common', 'linux']
const recipe = new URL('../examples/policies/shell-allow-list', import.meta.url).pathname
const loaded = await loadBundle(recipe)
if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics))
const { directory } = loaded.snapshot
const [tenant, { agents }] = [...directory.tenants][0]
const [agent] = agents.keys()

async function isAllowed(command) {
  const payload = { command, cwd: '/workspace/app' }
  const call = { tool: 'shell.run', payload, tenant, agent, at: Date.now() }
  return (await loaded.snapshot.judge(call)).verdict === 'allow'
}

const linesOf = (text) => text.split('\n').filter((line) => line.trim() !== '')

/** The abuses of all programs: `functions` in the head of each page has a list for each kind of abuse. */
function abuses() {
  const folder = join(gtfobins, '_gtfobins')
  return readdirSync(folder).flatMap((name) => {
    const [, head = ''] = /^---\n(.*?)\n(?:---|\.\.\.)/s.exec(readFileSync(join(folder, name), 'utf8')) ?? []
    const kinds = Object.entries(parse(head)?.functions ?? {})
    return kinds.flatMap(([kind, all]) =>
      all.flatMap((one) => codesOf(one).map((code) => ({ name, kind, code }))),
    )
  })
}

/** The code of an abuse, and those of its contexts that differ. */
const codesOf = ({ code, contexts = {} }) =>
  [code, ...Object.values(contexts).map((context) => context?.code)].filter((one) => typeof one === 'string')

/** The commands of the pages, with the first choice in place of `{{[-C|--directory]}}`, and the text of `{{path}}`. */
function commands() {
  return PLATFORMS.flatMap((platform) => {
    const folder = join(tldr, 'pages', platform)
    const pages = readdirSync(folder).filter((name) => name.endsWith('.md'))
    return pages.flatMap((name) =>
      [...readFileSync(join(folder, name), 'utf8').matchAll(/^`(.+)`$/gm)].map(([, text]) => filled(text)),
    )
  })
}

const filled = (text) => text.replace(/\{\{\[([^|\]]*)[^\]]*\]\}\}/g, '$1').replace(/\{\{(.*?)\}\}/g, '$1')

const allowed = []
const all = abuses()
for (const abuse of all) {
  const verdicts = await Promise.all(linesOf(abuse.code).map(isAllowed))
  if (verdicts.length > 0 && verdicts.every(Boolean)) allowed.push(abuse)
}
const usual = commands()
let asked = 0
for (const command of usual) if (!(await isAllowed(command))) asked += 1

const percent = (count, of) => `${((100 * count) / of).toFixed(1)} %`
for (const { name, kind, code } of allowed) console.log(`${name}, ${kind}: ${code.trim()}`)
console.log(
  `GTFOBins: ${allowed.length} of ${all.length} abuses allowed (${percent(allowed.length, all.length)})`,
)
console.log(`tldr: ${asked} of ${usual.length} commands need a person (${percent(asked, usual.length)})`)
if (all.length === 0 || usual.length === 0 || allowed.length > MOST_ALLOWED * all.length) process.exitCode = 1
