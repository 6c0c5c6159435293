import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { ChangesRequested, Rejected } from '@countersign/sdk'
import { bundle, Reviewer, startGateway, type TestGateway } from '@countersign/sdk/testing'
import { ensureProgram } from '../debian.ts'
import { execFileSync } from '../sync-child.ts'
import { until } from '../until.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const TOOLS = { allow: ['read'], review: ['pay'], reject: ['never'] }
let gateway: TestGateway
let directory: string

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cs-testing-'))
  gateway = await startGateway(bundle(TOOLS), { source: ROOT })
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
    expect(await reviewer.outcomes()).toEqual([
      ['read', 'executed'],
      ['pay', 'executed'],
    ])
    // another test's reviewer does not see it
    await (await gateway.reviewer()).assertHeld('pay', 0)
    await reviewer.close()
  })

  it('rejects, asks for changes, and votes in the order of asking', async () => {
    const reviewer = await gateway.reviewer()
    const gate = gateway.gate()
    reviewer.reject('pay', 'refunded already')
    await expect(gate.guard('pay', { order: 1 }, () => 1)).rejects.toThrow(/refunded already/)
    reviewer.requestChanges('pay', 'less')
    reviewer.reject()
    const first = gate.guard('pay', { order: 2 }, () => 1).catch((error: unknown) => error)
    await reviewer.waitUntilHeld('pay', 0)
    expect(await first).toBeInstanceOf(ChangesRequested)
    expect(await gate.guard('pay', { order: 3 }, () => 1).catch((error: unknown) => error)).toBeInstanceOf(
      Rejected,
    )
    await reviewer.assertNotRan()
    await reviewer.close()
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
    await expect(reviewer.decide('thr_none', 'approve')).rejects.toThrow(
      /^the gateway refused threads\/thr_none/,
    )
    await reviewer.close()
  })

  it('says at its end that the votes in the background failed', async () => {
    const reviewer = new Reviewer({ ...gateway, reviewerKey: 'csk_none' }, 0)
    const vote = reviewer.approve()
    await expect(vote.wait()).rejects.toThrow(/^the gateway refused threads/)
    await expect(reviewer.close()).rejects.toThrow(/^the gateway refused threads/)
  })
})

describe('a gateway of the tests', () => {
  it('has the bundle that the package for Python writes', () => {
    ensureProgram('python3', 'python3-minimal')
    const from = join(ROOT, 'clients/python/src/countersign_sdk/testing/bundle.py')
    const given = {
      allow: ['Orders.read_1'],
      review: { pay: { type: 'object' } },
      reject: ['no'],
      expires: '1m',
    }
    const main = `import json, runpy, sys; print(json.dumps(runpy.run_path(sys.argv[1])["bundle"](**json.load(sys.stdin))))`
    const out = execFileSync('python3', ['-c', main, from], { input: JSON.stringify(given) })
    const values = (files: object): object =>
      Object.fromEntries(Object.entries(files).map(([name, text]) => [name, parse(text as string)]))
    expect(values(bundle(given))).toEqual(values(JSON.parse(out) as object))
  })

  it('says how to get a gateway, and what a gateway said that did not start', async () => {
    const empty = join(directory, 'empty')
    mkdirSync(join(empty, 'bad/dist/bin'), { recursive: true })
    await expect(startGateway({}, { source: empty })).rejects.toThrow(
      `${empty} holds no built gateway: run \`npm ci && npm run build\` there`,
    )
    writeFileSync(join(empty, 'bad/dist/bin/main.js'), "console.log('the port is taken'); process.exit(3)")
    await expect(startGateway({}, { source: join(empty, 'bad') })).rejects.toThrow(
      new Error('the gateway did not start:\nthe port is taken'),
    )
    await expect(startGateway({ 'routing.yaml': '[' }, { source: ROOT })).rejects.toThrow(
      /^the (bundle in .* does not load|gateway did not start):\n/,
    )
    const script = `import { startGateway } from '@countersign/sdk/testing'
      await startGateway({}).catch((error) => console.log(error.message))`
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: project('without'),
      env: { PATH: process.env['PATH'] },
      encoding: 'utf8',
    })
    expect(stdout).toContain('no gateway for the tests: install it (`npm install --save-dev PATH/TO/')
  })

  it('is found as an installed package, and ends with tests that are killed or forget it', async () => {
    const cwd = project('with')
    symlinkSync(ROOT, join(cwd, 'node_modules/countersign'))
    const script = `import { bundle, startGateway } from '@countersign/sdk/testing'
      const gateway = await startGateway(bundle({ review: ['pay'] }))
      const reviewer = await gateway.reviewer()
      console.log(gateway.url)
      if (process.argv[2] === 'wait') await reviewer.waitUntilHeld('pay', 1, 600_000)`
    writeFileSync(join(cwd, 'agent.mjs'), script)
    for (const how of ['wait', 'forget']) {
      const env = { PATH: process.env['PATH'], TMPDIR: cwd }
      const child = spawn(process.execPath, ['agent.mjs', how], { cwd, env })
      let url = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => (url += text.trim()))
      await until(() => url !== '')
      if (how === 'wait') child.kill('SIGKILL')
      await until(() => child.exitCode !== null || child.signalCode !== null)
      const isAway = (): Promise<boolean> =>
        fetch(`${url}/livez`).then(
          () => false,
          () => true,
        )
      await until(isAway)
    }
    await until(
      () => spawnSync('ls', [cwd], { encoding: 'utf8' }).stdout.includes('countersign-test') === false,
    )
  })
})

/** A project in which the SDK is installed. */
function project(name: string): string {
  const cwd = join(directory, name)
  mkdirSync(join(cwd, 'node_modules/@countersign/sdk'), { recursive: true })
  for (const part of ['package.json', 'dist'])
    symlinkSync(join(ROOT, 'packages/sdk', part), join(cwd, 'node_modules/@countersign/sdk', part))
  expect(existsSync(join(cwd, 'node_modules/@countersign/sdk/dist/testing/index.js'))).toBe(true)
  return cwd
}
