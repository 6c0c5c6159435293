import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SignInError } from '../../../src/contract/sign-in-problems.ts'
import { refuseUnknownGroups, vouchedGroups } from '../../../src/gateway/auth/vouched-groups.ts'
import type { Directory } from '../../../src/policy/language/snapshot.ts'
import { loadBundle } from '../../../src/policy/bundle/directory.ts'
import { BUNDLE } from '../../bundle.ts'
import { writeBundle } from '../../gateway-fixture.ts'

const directory = async (more = ''): Promise<Directory> => {
  const text = `${BUNDLE['directory.yaml']}${more}`
  const dir = await mkdtemp(join(tmpdir(), 'countersign-groups-'))
  try {
    await writeBundle(dir, { ...BUNDLE, 'directory.yaml': text })
    const loaded = await loadBundle(dir)
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics))
    return loaded.snapshot.directory
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}
const MAPPED = 'identities:\n  groups:\n    "/org/security": leads\n    7f3a-guid: board\n'

const problemOf = (act: () => unknown): readonly [string, string] => {
  try {
    act()
  } catch (error) {
    if (error instanceof SignInError) return [error.problem, error.message]
    throw error
  }
  return ['none', '']
}

describe('the groups that a provider vouches for', () => {
  it('the groups that a provider vouches for are found by a claim, by a path into a claim, and by a claim name with dots', async () => {
    const known = await directory()
    expect(vouchedGroups({ groups: ['desk'] }, 'groups', known)).toEqual(['desk'])
    expect(vouchedGroups({ groups: 'desk' }, 'groups', known)).toEqual(['desk'])
    expect(vouchedGroups({ realm_access: { roles: ['desk'] } }, 'realm_access.roles', known)).toEqual([
      'desk',
    ])
    const odd = { 'https://acme.example/roles': ['leads'], https: { '//acme': 1 } }
    expect(vouchedGroups(odd, 'https://acme.example/roles', known)).toEqual(['leads'])
    expect(vouchedGroups({ groups: [] }, 'groups', known)).toEqual([])
  })

  it('the groups that a provider vouches for are mapped to groups of the directory; others keep their names', async () => {
    const known = await directory(MAPPED)
    const groups = ['/org/security', '7f3a-guid', 'desk', '/org/chess', 'leads']
    expect(vouchedGroups({ groups }, 'groups', known)).toEqual(['/org/chess', 'board', 'desk', 'leads'])
  })

  it('the groups that a provider vouches for stop the sign-in with a reason when they cannot be read', async () => {
    const known = await directory()
    const said = (claims: Record<string, unknown>, claim = 'groups') =>
      problemOf(() => vouchedGroups(claims, claim, known))
    expect(said({})).toEqual(['groups_unread', expect.stringContaining('did not send the claim `groups`')])
    expect(said({ _claim_names: { groups: 'src1' } })).toEqual([
      'groups_unread',
      expect.stringContaining('_claim_names'),
    ])
    expect(said({ groups: [{ name: 'desk' }] })).toEqual([
      'groups_unread',
      expect.stringContaining('objects'),
    ])
    expect(said({ realm_access: null }, 'realm_access.roles')[0]).toBe('groups_unread')
    expect(said({ realm_access: { roles: 1 } }, 'realm_access.toString')[0]).toBe('groups_unread')
  })

  it('the groups that a provider vouches for stop the sign-in of a reviewer without a known group, but not of an administrator', async () => {
    const known = await directory()
    const reviewers = known.tenants.get('acme')?.reviewers
    const said = (id: string, groups: string[]) => {
      const reviewer = reviewers?.get(id)
      if (reviewer === undefined) throw new Error('no such reviewer')
      return problemOf(() => refuseUnknownGroups(groups, known, { tenant: 'acme', reviewer }))
    }
    expect(said('ben', ['chess'])).toEqual(['groups_unknown', expect.stringContaining('`chess`')])
    expect(said('ben', [])).toEqual(['groups_unknown', expect.stringContaining('no group')])
    expect(said('ben', ['chess', 'desk'])[0]).toBe('none')
    expect(said('ann', ['chess'])[0]).toBe('none')
  })
})
