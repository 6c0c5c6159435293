import { describe, expect, it } from 'vitest'
import { AGENT_KEYS, REVIEWER_KEYS } from '../../../src/policy/check/directory-keys.ts'
import { diffOf } from '../../../src/policy/check/spec.ts'
import { diffDirectories } from '../../../src/policy/diff/directories.ts'
import type { BundleIr } from '../../../src/policy/language/rule.ts'
import type { AgentEntry, ReviewerEntry } from '../../../src/policy/language/snapshot.ts'

/** Each key of directory.yaml has a line when its value differs, and none otherwise. */

const AGENT: AgentEntry = {
  id: 'bot',
  owners: ['ann'],
  tools: ['*'],
  signedApprovals: true,
  tokenTtlMs: 60_000,
  preventSelfReview: true,
}
const AGENTS: Readonly<Record<string, Partial<AgentEntry>>> = {
  owners: { owners: [] },
  tools: { tools: ['*', 'pay'] },
  signed_approvals: { signedApprovals: false },
  token_ttl: { tokenTtlMs: 120_000 },
  prevent_self_review: { preventSelfReview: false },
  rate: { rate: { calls: 1, withinMs: 1_000 } },
}
const REVIEWER: ReviewerEntry = { id: 'ann', name: 'Ann', groups: [], roles: [] }
const REVIEWERS: Readonly<Record<string, Partial<ReviewerEntry>>> = {
  name: { name: 'Anna' },
  email: { email: 'ann@example.com' },
  subject: { subject: '1' },
  groups: { groups: ['g'] },
  roles: { roles: ['admin'] },
}

describe('a change of directory.yaml', () => {
  it.each(Object.keys(AGENT_KEYS.rows))('to %s of an agent is one line', (key) => {
    const of = (after: AgentEntry) => diffOf(AGENT_KEYS, [AGENT, after], { asked: false })
    expect([of(AGENT), of({ ...AGENT, ...AGENTS[key] })].map(({ length }) => length)).toEqual([0, 1])
  })

  it.each(Object.keys(REVIEWER_KEYS.rows))('to %s of a reviewer is one line', (key) => {
    const of = (after: ReviewerEntry) => diffOf(REVIEWER_KEYS, [REVIEWER, after], undefined)
    expect([of(REVIEWER), of({ ...REVIEWER, ...REVIEWERS[key] })].map(({ length }) => length)).toEqual([0, 1])
  })

  it('to a group of the identity provider is one line', () => {
    const bundle = (groups: Record<string, string>) =>
      ({
        head: { directory: { tenants: new Map(), groups: new Map(Object.entries(groups)) } },
        ruleFiles: [],
      }) as unknown as BundleIr
    expect(diffDirectories(bundle({ a: 'x', b: 'x' }), bundle({ a: 'y', c: 'x' }))).toEqual([
      { direction: 'loosens', text: 'group of the identity provider c: added' },
      { direction: 'changes', text: 'group of the identity provider a: is group y, no longer x' },
      { direction: 'tightens', text: 'group of the identity provider b: removed' },
    ])
  })
})
