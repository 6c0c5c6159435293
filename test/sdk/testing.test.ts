import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { ChangesRequested, Rejected } from '@countersign/sdk'
import { bundle, Reviewer, startGateway, type TestGateway } from '@countersign/sdk/testing'
import { ensureProgram } from '../debian.ts'
import { execFileSync, spawnSync } from '../sync-child.ts'
import { until } from '../until.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** For the end of a process on a machine with much to do, ms. */
const PATIENCE_MS = 120_000
let gateway: TestGateway
let directory: string

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cs-testing-'))
  const files = { ...bundle({ allow: ['read'], review: ['pay', 'wire'] }) }
  files['tools/wire.yaml'] = files['tools/wire.yaml']?.replace('low', 'high') ?? ''
  gateway = await startGateway(files, { source: ROOT })
})
afterAll(async () => {
  await gateway.stop()
  rmSync(directory, { recursive: true, force: true })
  await expect(fetch(`${gateway.url}/livez`)).rejects.toThrow('fetch failed')
})

describe('a reviewer of the tests', () => {
  it('approves the next held call, and reads the calls that were held, redeemed and run', async () => {
    const reviewer = await gateway.reviewer()
    const gate = gateway.gate()
    const vote = reviewer.approve('pay')
    expect(await gate.guard('read', { order: 7 }, () => 'read')).toBe('read')
    expect(await gate.guard('pay', { order: 7 }, ({ order }) => order)).toBe(7)
    const thread = await vote.wait()
    expect([vote.payload, await reviewer.held('pay')]).toEqual([{ order: 7 }, [thread]])
    await reviewer.assertHeld('pay')
    await reviewer.assertRedeemed('pay')
    await reviewer.assertRan('pay')
    expect((await reviewer.outcomes()).flat()).toEqual(['read', 'executed', 'pay', 'executed'])
    // another test's reviewer does not see it
    await (await gateway.reviewer()).assertHeld('pay', 0)
    await reviewer.close()
  })

  it('rejects, asks for changes, and votes in the order of asking', async () => {
    const reviewer = await gateway.reviewer()
    reviewer.reject('pay', 'refunded already')
    reviewer.requestChanges('pay', 'less')
    reviewer.reject()
    const guarded = (order: number) => gateway.gate().guard('pay', { order }, () => 1)
    await expect(guarded(1)).rejects.toThrow(/refunded already/)
    await expect(guarded(2)).rejects.toBeInstanceOf(ChangesRequested)
    await expect(guarded(3)).rejects.toBeInstanceOf(Rejected)
    await reviewer.assertNotRan()
    await reviewer.close()
  })

  it('sees held calls in the order of their opening, not of their urgency', async () => {
    const reviewer = await gateway.reviewer()
    const propose = (tool: string) => gateway.gate().propose(tool, {}, { taskId: tool, callId: 'c' })
    for (const tool of ['pay', 'wire', 'read']) await propose(tool)
    expect((await reviewer.pending()).map(({ tool_name }) => tool_name)).toEqual(['pay', 'wire'])
    expect(await reviewer.waitUntilHeld('wire')).toHaveLength(1)
  })

  it('fails with plain errors that say what was otherwise', async () => {
    const reviewer = await gateway.reviewer()
    await gateway.gate().guard('read', {}, () => 1)
    for (const [assertion, text] of [
      [() => reviewer.assertHeld('pay'), 'pay was held 0 times, not 1'],
      [() => reviewer.assertRedeemed('pay'), '0 proofs of pay were redeemed, not 1'],
      [() => reviewer.assertRan('read', 2), 'read ran 1 times, not 2'],
      [() => reviewer.assertNotRan(), 'read ran'],
      [() => reviewer.approve('pay').wait(1), 'no call of pay was held within 1 ms'],
      [() => reviewer.waitUntilHeld(undefined, 1, 1), '0 calls of any tool are held, not 1'],
    ] as const)
      await expect(assertion()).rejects.toThrow(new Error(text))
    const refused = /^the gateway refused threads/
    await expect(reviewer.decide('thr_none', 'approve')).rejects.toThrow(refused)
    await reviewer.close()
    const stranger = new Reviewer({ ...gateway, reviewerKey: 'csk_none' }, 0)
    await expect(stranger.approve().wait()).rejects.toThrow(refused)
    await expect(stranger.close()).rejects.toThrow(refused)
  })
})

describe('a gateway of the tests', () => {
  it('has the bundle that the package for Python writes', () => {
    ensureProgram('python3', 'python3-minimal')
    const from = join(ROOT, 'clients/python/src/countersign_sdk/testing/bundle.py')
    const given = { allow: ['Orders.read_1'], review: { pay: { type: 'object' } }, expires: '1m' }
    const main = `import json, runpy, sys; print(json.dumps(runpy.run_path(sys.argv[1])["bundle"](**json.load(sys.stdin))))`
    const out = execFileSync('python3', ['-c', main, from], { input: JSON.stringify(given) })
    const values = (files: object): object =>
      Object.fromEntries(Object.entries(files).map(([name, text]) => [name, parse(text as string)]))
    expect(values(bundle(given))).toEqual(values(JSON.parse(out) as object))
  })

  it('says how to get a gateway, and what a gateway said that did not start', async () => {
    const bad = join(directory, 'bad')
    mkdirSync(join(bad, 'dist/bin'), { recursive: true })
    writeFileSync(join(bad, 'dist/bin/main.js'), "console.log('the port is taken'); process.exit(3)")
    const none = `${directory} holds no built gateway: run \`npm ci && npm run build\` there`
    await expect(startGateway({}, { source: directory })).rejects.toThrow(new Error(none))
    const taken = new Error('the gateway did not start:\nthe port is taken')
    await expect(startGateway({}, { source: bad })).rejects.toThrow(taken)
    const unread = /^the (bundle in .* does not load|gateway did not start):\n/
    await expect(startGateway({ 'routing.yaml': '[' }, { source: ROOT })).rejects.toThrow(unread)
  })

  it('is found as an installed package, and ends with tests that are killed or forget it', async () => {
    const cwd = join(directory, 'project')
    mkdirSync(join(cwd, 'node_modules/@countersign'), { recursive: true })
    symlinkSync(join(ROOT, 'packages/sdk'), join(cwd, 'node_modules/@countersign/sdk'))
    const script = `import { bundle, startGateway } from '@countersign/sdk/testing'
      const gateway = await startGateway(bundle({ review: ['pay'] }))
      const reviewer = await gateway.reviewer()
      console.log(gateway.url)
      reviewer.approve('pay')
      if (process.argv[2] === 'wait') await reviewer.waitUntilHeld('pay', 1, 600_000)
      await reviewer.close()`
    writeFileSync(join(cwd, 'agent.mjs'), script)
    const options = { cwd, env: { PATH: process.env['PATH'], TMPDIR: cwd }, encoding: 'utf8' } as const
    const { stderr } = spawnSync(process.execPath, ['agent.mjs'], options)
    expect(stderr).toContain('no gateway for the tests: install it (`npm install --save-dev PATH/TO/')
    symlinkSync(ROOT, join(cwd, 'node_modules/countersign'))
    for (const how of ['wait', 'forget']) {
      const child = spawn(process.execPath, ['agent.mjs', how], options)
      const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
      if (how === 'wait') child.kill('SIGKILL')
      // 13: Node found nothing that could still end `close`
      else expect(await once(child, 'exit')).toEqual([0, null])
      const away = () => expect(fetch(`${url}/livez`)).rejects.toThrow('fetch failed')
      await until(async () => (await away(), true), PATIENCE_MS)
    }
    const left = () => readdirSync(cwd).filter((name) => name.startsWith('countersign-test-'))
    await until(() => left().length === 0, PATIENCE_MS)
  })
})
