import { readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { makeDirectory } from '../../system/make-directory.ts'
import type { BundleText } from '../../policy/check/check.ts'
import { readBundle } from '../../policy/bundle/directory.ts'
import { formatFile } from '../../policy/yaml/format.ts'
import { cannotWrite, CliFailure, EXIT, refuseMore } from '../terminal/failure.ts'
import { workflow } from './init-workflow.ts'
import { onOneLine } from '../terminal/visible-text.ts'
import { PACKAGE_ROOT } from '../../system/package.ts'

export const INIT_USAGE = `countersign init [DIR]

  Writes a starter bundle (policies/) and a GitHub workflow that checks, tests, diffs and backtests it on every pull request.
  DIR is the current directory unless said, and must be empty; .git is no matter.`

const STARTER = fileURLToPath(new URL('policies', PACKAGE_ROOT))
/** What may be there already. */
const NO_MATTER = ['.git']

/** `countersign init [DIR]`: a repository for policies to start from. Exit 2 when the directory is not empty. */
export async function init(args: readonly string[]): Promise<void> {
  const { positionals } = parseArgs({ args: [...args], options: {}, allowPositionals: true })
  refuseMore(positionals, 1, INIT_USAGE)
  const dir = positionals[0] ?? '.'
  const there = await readdir(dir).catch((error: NodeJS.ErrnoException) => absentIsEmpty(dir, error))
  const [first] = there.filter((name) => !NO_MATTER.includes(name))
  if (first !== undefined)
    throw new CliFailure(`\`${dir}\` is not empty: it holds \`${first}\``, {
      exit: EXIT.usage,
      hint: 'name a new directory',
    })
  for (const { path, text } of await starterFiles()) {
    await writeNew(join(dir, path), text)
    console.log(onOneLine(`wrote ${join(dir, path)}`))
  }
  console.log(`\n${onOneLine(`next: countersign test ${join(dir, 'policies')}`)}`)
  console.log('the workflow installs what the variable COUNTERSIGN_PACKAGE of the repository on GitHub names')
}

async function writeNew(path: string, text: string): Promise<void> {
  try {
    makeDirectory(dirname(path))
    await writeFile(path, text, { flag: 'wx' })
  } catch (cause) {
    throw cannotWrite(path, cause)
  }
}

function absentIsEmpty(dir: string, error: NodeJS.ErrnoException): readonly string[] {
  if (error.code === 'ENOENT') return []
  throw new CliFailure(`\`${dir}\` cannot be read: ${error.message}`, { exit: EXIT.usage, cause: error })
}

async function starterFiles(): Promise<readonly BundleText[]> {
  const read = await readBundle(STARTER)
  if (!read.ok) throw new CliFailure('the starter policies of this package cannot be read')
  const bundle = read.texts.map((file) => {
    const formatted = formatFile(file)
    return { path: `policies/${file.path}`, text: formatted.ok ? formatted.text : file.text }
  })
  return [...bundle, { path: '.github/workflows/policies.yml', text: workflow() }]
}
