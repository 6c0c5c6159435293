import { diffBundles, type BundleDiff } from '../../policy/diff/diff.ts'
import { printMarkdown } from '../../policy/diff/markdown.ts'
import { printDiff } from '../../policy/diff/print.ts'
import { loosens, changes } from '../../policy/diff/gate.ts'
import { DEFAULT_POLICIES } from './default-policies.ts'
import { command } from '../terminal/command.ts'
import { parse } from '../terminal/parse.ts'
import { readBundle } from '../../policy/bundle/directory.ts'
import { createApi } from '../client/api-client.ts'
import { reachAsAdmin, URL_FLAG } from '../client/credentials.ts'
import { EXIT, usage } from '../terminal/failure.ts'
import { loadTwo, sayBeside } from './compare-bundles.ts'
import { withProgress } from '../terminal/progress.ts'
import { jsonOf, visible } from '../terminal/visible-text.ts'

export const DIFF = command({
  name: 'diff',
  operands: 'OLD [NEW]',
  says: `Shows how the bundle NEW (default: ${DEFAULT_POLICIES}) decides differently from OLD. Each is a directory or a git
    revision. main~1 means the other argument's directory in that revision, or ${DEFAULT_POLICIES}; origin/main:policies names
    the directory. Exits 3 if a bundle would not load.`,
  flags: {
    'fail-on': {
      values: ['loosens', 'changes'],
      says: `exit 5 when a decision gets looser or incomparable, or when diff cannot tell (loosens); on any
        difference, or a possible one (changes)`,
    },
    waiting: {
      says: `also list the waiting calls for which NEW, a directory, asks for more reviewers; asks the gateway with the
        admin key`,
    },
    tenant: { takes: 'TENANT', says: 'the tenant of the waiting calls' },
    url: URL_FLAG,
    format: { values: ['text', 'json', 'markdown'], default: 'text' },
  },
})

const PRINTERS: Readonly<Record<(typeof DIFF.flags.format.values)[number], (diff: BundleDiff) => string>> = {
  text: (diff) => visible(printDiff(diff)),
  json: (diff) => jsonOf(diff),
  markdown: (diff) => visible(printMarkdown(diff)),
}
const GATES = { loosens, changes }

/** `countersign diff OLD NEW`: the semantic difference of two bundles. Exits with 5 when `--fail-on` requires it. */
export async function diff(args: readonly string[]): Promise<void> {
  const { values, operands } = parse(DIFF, args)
  const [before = '', after = DEFAULT_POLICIES] = operands
  const failOn = values['fail-on']
  if (values.waiting === true && values.tenant === undefined) throw usage('--waiting needs --tenant TENANT')
  const bundles = await loadTwo(before, after, sayBeside(values.format))
  if (bundles === undefined) return
  const found = await withProgress('Comparing the bundles', () => diffBundles(...bundles))
  console.log(PRINTERS[values.format](found))
  if (values.waiting === true) await printWaiting(after, values)
  if (failOn !== undefined && GATES[failOn](found)) process.exitCode = EXIT.changed
}

/** Lists ids and seats. With `--format json`, the list is a second document. */
async function printWaiting(
  dir: string,
  {
    url,
    tenant = '',
    format,
  }: { readonly url: string | undefined; readonly tenant: string | undefined; readonly format: string },
): Promise<void> {
  const read = await readBundle(dir)
  if (!read.ok) throw usage(`--waiting needs NEW as a directory, which \`${dir}\` is not`)
  const payload = Object.fromEntries(read.texts.map(({ path, text }) => [path, text]))
  const found = await createApi(reachAsAdmin(url)).find_raised({
    body: { tenant, payload },
    timeoutMs: 60_000,
  })
  if (format === 'json') return console.log(jsonOf(found))
  const lines = found.threads.map(({ thread_id, asks }) => `${thread_id}  asks for ${asks}`)
  console.log(
    visible([...lines, `${found.threads.length} of ${found.examined} waiting calls raised`].join('\n')),
  )
}
