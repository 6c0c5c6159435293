import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { BundleText } from '../../policy/bundle/check.ts'
import { isStartedByNpx } from '../../settings/config.ts'
import { command } from '../terminal/command.ts'
import { CliFailure, EXIT } from '../terminal/failure.ts'
import { parse } from '../terminal/parse.ts'
import { EMPTY_BUNDLE, starterBundle, writeNew } from './starter.ts'
import { workflow } from './init-workflow.ts'
import { onOneLine } from '../terminal/visible-text.ts'

export const INIT = command({
  name: 'init',
  operands: '[DIR]',
  says: `Writes a starter bundle (policies/), and a GitHub workflow that checks, tests, diffs and backtests it on every
    pull request. DIR (default: the current directory) must be empty, except for .git.`,
  flags: { empty: { says: 'writes a bundle without tools, agents and rules' } },
})

/** Entries that may already exist. */
const NO_MATTER = ['.git']

/**
 * `countersign init [DIR]`: creates a starter repository for policies. Exits with 2 when the directory is not empty.
 */
export async function init(args: readonly string[]): Promise<void> {
  const { values, operands } = parse(INIT, args)
  const [dir = '.'] = operands
  const there = await readdir(dir).catch((error: NodeJS.ErrnoException) => absentIsEmpty(dir, error))
  const [first] = there.filter((name) => !NO_MATTER.includes(name))
  if (first !== undefined)
    throw new CliFailure(`\`${dir}\` is not empty: it holds \`${first}\``, {
      exit: EXIT.usage,
      hint: 'name a new directory',
    })
  for (const { path, text } of await filesOf(values.empty)) {
    await writeNew(join(dir, path), text)
    console.log(onOneLine(`wrote ${join(dir, path)}`))
  }
  console.log(
    `\n${onOneLine(`next: ${isStartedByNpx() ? 'npx ' : ''}countersign ${values.empty ? 'check' : 'test'} ${join(dir, 'policies')}`)}`,
  )
  console.log(
    'before the first pull request: set the variable COUNTERSIGN_PACKAGE of the GitHub repository to the package for CI',
  )
}

function absentIsEmpty(dir: string, error: NodeJS.ErrnoException): readonly string[] {
  if (error.code === 'ENOENT') return []
  throw new CliFailure(`\`${dir}\` cannot be read: ${error.message}`, { exit: EXIT.usage, cause: error })
}

async function filesOf(isEmpty: boolean): Promise<readonly BundleText[]> {
  const bundle = isEmpty ? EMPTY_BUNDLE : await starterBundle()
  const policies = bundle.map(({ path, text }) => ({ path: `policies/${path}`, text }))
  // keeps line ends, because files with converted line ends would not match countersign.lock
  const attributes = { path: '.gitattributes', text: 'policies/** text eol=lf\n' }
  return [...policies, attributes, { path: '.github/workflows/policies.yml', text: workflow() }]
}
