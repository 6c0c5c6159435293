import { describe, expect, it } from 'vitest'
import type { RuleFileView } from '../../src/contract/admin.ts'
import type { BundleTexts } from '../../src/contract/reviewer.ts'
import { BUNDLE } from '../bundle.ts'
import { fileWorld, world } from '../agent-world.ts'
import { call, openWorld, type Reviewer } from '../gateway-fixture.ts'

/** The text of a rule file of the bundle in force. */

fileWorld({
  files: {
    'directory.yaml': (BUNDLE['directory.yaml'] ?? '').replace(
      'bot: { owners: [yan] }',
      'bot: { owners: [yan], tools: [hold] }',
    ),
  },
})

const read = (by: Reviewer, path: string) =>
  call<RuleFileView>(`${world.url}/api/admin/policies/rules?path=${encodeURIComponent(path)}`, 'GET', {
    headers: by.credentials(),
  })

describe('GET policies/rules', () => {
  it('200 with the text of a rule file and the revision in force, for every reviewer', async () => {
    const { status, body } = await read(await world.reviewer('dan'), 'rules/pay.yaml')
    expect(status).toBe(200)
    expect(body).toMatchObject({ path: 'rules/pay.yaml', text: BUNDLE['rules/pay.yaml'] })
    const { body: view } = await world.admin<{ revision: string }>('GET', 'policies')
    expect(body.revision).toBe(view.revision)
  })

  it('200 for the key of the administrator', async () => {
    const answer = await world.admin<RuleFileView>('GET', 'policies/rules?path=rules/private.yaml')
    expect([answer.status, answer.body.text]).toEqual([200, BUNDLE['rules/private.yaml']])
  })

  it('404 for a file that covers no tool of the tenant, for other files, and for paths outside', async () => {
    const zoe = await world.reviewer('zoe', 'globex')
    expect((await read(zoe, 'rules/hold.yaml')).status).toBe(200)
    expect((await read(zoe, 'rules/pay.yaml')).status).toBe(404)
    const ann = await world.reviewer('ann')
    for (const path of ['directory.yaml', 'tools/pay.yaml', 'rules/nothing.yaml', '../package.json'])
      expect((await read(ann, path)).status).toBe(404)
  })

  it('401 without a credential', async () => {
    const answer = await call(`${world.url}/api/admin/policies/rules?path=rules/pay.yaml`, 'GET')
    expect(answer.status).toBe(401)
  })
})

describe('GET bundle', () => {
  it('200 with every file, for the reviewers of the only tenant', async () => {
    const own = await openWorld({
      files: {
        'directory.yaml': `tenants:
  acme:
    agents: { bot: { owners: [yan] } }
    reviewers:
      yan: { groups: [desk, leads, board, audit] }
      ann: { groups: [desk, leads, board, audit] }
      ben: { groups: [desk, leads, board, audit] }
`,
      },
    })
    const ann = await own.reviewer('ann')
    const { status, body } = await ann.call<BundleTexts>('GET', 'bundle')
    expect(status).toBe(200)
    expect(body.files.find(({ path }) => path === 'rules/pay.yaml')?.text).toBe(BUNDLE['rules/pay.yaml'])
    expect(body.files.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['routing.yaml', 'directory.yaml']),
    )
    await own.close()
  })

  it('404 for a bundle with other tenants', async () => {
    const { status, problem } = await (await world.reviewer('dan')).call('GET', 'bundle')
    expect([status, problem.code]).toEqual([404, 'not_found'])
  })
})
