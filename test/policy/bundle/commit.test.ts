import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readCommit } from '../../../src/policy/bundle/commit.ts'
import { execFileSync } from '../../sync-child.ts'

/** The label of a bundle's commit, in the layouts in which git itself finds it. */

let place: string
beforeAll(() => void (place = realpathSync(mkdtempSync(join(tmpdir(), 'cs-commit-')))))
afterAll(() => rmSync(place, { recursive: true }))

const git = (cwd: string, ...args: string[]): string => {
  const identity = ['-c', 'user.name=t', '-c', 'user.email=t@t', '-c', 'protocol.file.allow=always']
  return execFileSync('git', [...identity, ...args], { cwd }).trim()
}

/** A repository with a bundle deep below its root. */
function repository(name: string): {
  readonly root: string
  readonly policies: string
  readonly commit: string
} {
  const root = join(place, name)
  const policies = join(root, 'infra', 'gates', 'policies')
  mkdirSync(policies, { recursive: true })
  writeFileSync(join(policies, 'routing.yaml'), '')
  git(root, 'init', '-q', '-b', 'main')
  git(root, 'add', '.')
  git(root, 'commit', '-qm', 'a bundle')
  return { root, policies, commit: git(root, 'rev-parse', 'HEAD') }
}

describe("the commit of a bundle's work tree", () => {
  it('is found at any depth, loose or packed, on a branch or detached', async () => {
    const { root, policies, commit } = repository('deep')
    expect(await readCommit(policies)).toBe(commit)
    git(root, 'pack-refs', '--all')
    expect(await readCommit(policies)).toBe(commit)
    git(root, 'checkout', '-q', '--detach')
    expect(await readCommit(policies)).toBe(commit)
  })

  it('is found in a linked work tree, whose branch is packed in the main repository', async () => {
    const { root, commit } = repository('linked')
    const tree = join(place, 'tree')
    git(root, 'worktree', 'add', '-q', '-b', 'team/x@2', tree)
    expect(await readCommit(join(tree, 'infra', 'gates', 'policies'))).toBe(commit)
    git(root, 'pack-refs', '--all')
    expect(await readCommit(join(tree, 'infra', 'gates', 'policies'))).toBe(commit)
  })

  it('belongs to the submodule with the bundle, not to its parent', async () => {
    const { root, commit } = repository('module')
    const parent = repository('parent')
    git(parent.root, 'submodule', 'add', '-q', root, 'vendor/module')
    git(parent.root, 'commit', '-qm', 'a submodule')
    expect(await readCommit(join(parent.root, 'vendor', 'module', 'infra', 'gates'))).toBe(commit)
  })

  it('is found in a checkout of git-sync, behind its link', async () => {
    const { root, commit } = repository('synced')
    const checkout = join(root, '.worktrees', commit)
    git(root, 'worktree', 'add', '-q', '--detach', checkout)
    symlinkSync(checkout, join(root, 'current'))
    expect(await readCommit(realpathSync(join(root, 'current', 'infra', 'gates', 'policies')))).toBe(commit)
  })

  it('is unknown outside of a repository, and for a branch without a commit', async () => {
    const empty = join(place, 'empty')
    mkdirSync(empty)
    expect(await readCommit(empty)).toBeUndefined()
    git(empty, 'init', '-q')
    expect(await readCommit(empty)).toBeUndefined()
  })
})
