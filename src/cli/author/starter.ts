import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BundleText } from '../../policy/bundle/check.ts'
import { readBundle } from '../../policy/bundle/directory.ts'
import { formatFile } from '../../policy/format/format.ts'
import { makeDirectory } from '../../system/make-directory.ts'
import { PACKAGE_ROOT } from '../../system/package.ts'
import { cannotWrite, CliFailure } from '../terminal/failure.ts'

const STARTER = fileURLToPath(new URL('policies', PACKAGE_ROOT))

/** The starter policies of this package, formatted, by their paths in a bundle. */
export async function starterBundle(): Promise<readonly BundleText[]> {
  const read = await readBundle(STARTER)
  if (!read.ok) throw new CliFailure('the starter policies of this package cannot be read')
  return read.texts.map((file) => {
    const formatted = formatFile(file)
    return { path: file.path, text: formatted.ok ? formatted.text : file.text }
  })
}

/** An empty starting bundle: no agent, no tool, and one reviewer for all calls. */
export const EMPTY_BUNDLE: readonly BundleText[] = [
  {
    path: 'routing.yaml',
    text: `# Who reviews a call, how many people must approve it, and how long it waits.
# A call that no reviewer decides in time is rejected: silence is never consent.

unmatched: reject            # a call that no rule covers
allow_up_to: low             # above this risk, an allowed call is reviewed anyway

levels:
  low:      { group: reviewers, approvals: 1, expires: 8h }
  medium:   { group: reviewers, approvals: 1, expires: 8h }
  high:     { group: reviewers, approvals: 1, expires: 8h }
  critical: { group: reviewers, approvals: 1, expires: 8h }
`,
  },
  {
    path: 'directory.yaml',
    text: `# Agents and reviewers. Add agents under \`agents:\`, each with its owners:
#
#   agents:
#     my-agent: { owners: [someone], tools: ['my.*'] }

tenants:
  main:
    agents: {}
    reviewers:
      admin: { name: First Reviewer, groups: [reviewers], roles: [admin] }
`,
  },
  { path: 'tools/README.md', text: 'One contract for each tool; `countersign add tool` writes them.\n' },
  { path: 'rules/README.md', text: 'Rule files, with their tests inside.\n' },
]

export async function writeNew(path: string, text: string): Promise<void> {
  try {
    makeDirectory(dirname(path))
    await writeFile(path, text, { flag: 'wx' })
  } catch (cause) {
    throw cannotWrite(path, cause)
  }
}

export async function writeBundle(dir: string, bundle: readonly BundleText[]): Promise<void> {
  for (const { path, text } of bundle) await writeNew(join(dir, path), text)
}
