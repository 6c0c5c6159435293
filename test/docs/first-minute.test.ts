import { execFile, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bareEnvironment, interpreters, ROOT } from '../clients/python-environment.ts'
import { freePort } from '../ports.ts'
import { until } from '../until.ts'

/* The lines of the README and of the first tutorial, from a clone in which nothing was built. */

const run = promisify(execFile)
/** For npm, which may have to download, and for the build, ms. */
const PATIENCE_MS = 400_000

/** The block of a page that contains this text, without the comments of its lines. */
function block(page: string, text: string): string {
  const blocks = readFileSync(join(ROOT, page), 'utf8').split(/^```\w*\n/m)
  return (blocks.find((one) => one.includes(text)) ?? '').replaceAll(/ +# .*$/gm, '')
}

const directory = mkdtempSync(join(tmpdir(), 'cs-minute-'))
const [clone, project, venv] = ['clone', 'project', 'venv'].map((name) => join(directory, name)) as [
  string,
  string,
  string,
]
const own = Object.entries(process.env).filter(([name]) => !/^(COUNTERSIGN|VITEST|NODE_)/.test(name))
const path = [join(venv, 'bin'), dirname(process.execPath), process.env['PATH']].join(delimiter)
const env: Record<string, string | undefined> = {
  ...Object.fromEntries(own),
  PATH: path,
  npm_config_prefer_offline: 'true',
}
let stop = (): void => undefined

const shell = async (script: string, cwd = clone): Promise<string> =>
  (await run('bash', ['-ec', script], { cwd, env })).stdout

/** Runs the program of an agent, approves the call that it holds, and returns what it printed. */
async function approvedRun(program: string): Promise<string> {
  const running = shell(program, project)
  const lines = (): Promise<string> => shell('npx countersign review list', clone)
  let thread = ''
  const isHeld = async (): Promise<unknown> =>
    (thread = /^thr_\w+(?=.*orders\.refund)/m.exec(await lines())?.[0] ?? '')
  await Promise.race([running, until(isHeld)])
  await shell(`npx countersign review approve ${thread} -m fine`)
  return running
}

beforeAll(async () => {
  await run('git', ['clone', '--quiet', ROOT, clone])
  await run('bash', ['-c', `git -C "${ROOT}" diff --binary HEAD | git -C "${clone}" apply --allow-empty`])
  mkdirSync(project)
  env['COUNTERSIGN_PORT'] = String(await freePort())
  env['COUNTERSIGN_METRICS_PORT'] = String(await freePort())
  const [start = ''] = block('README.md', 'npm start').split('\n')
  const gateway = spawn('bash', ['-c', start], { cwd: clone, env, detached: true, stdio: 'pipe' })
  let said = ''
  for (const stream of [gateway.stdout, gateway.stderr]) stream.on('data', (text) => (said += String(text)))
  stop = () => void (gateway.pid && gateway.exitCode === null && process.kill(-gateway.pid, 'SIGKILL'))
  await until(() => said.includes('Ctrl-C') || gateway.exitCode !== null, PATIENCE_MS)
  expect(said).toContain(`Countersign runs at http://127.0.0.1:${env['COUNTERSIGN_PORT']}`)
  const [add = ''] = block('README.md', 'add tool').split('\n')
  env['COUNTERSIGN_AGENT_KEY'] = /csk_[\w-]+/.exec(await shell(add))?.[0]
  env['COUNTERSIGN_URL'] = `http://127.0.0.1:${env['COUNTERSIGN_PORT']}`
}, 2 * PATIENCE_MS)

afterAll(() => {
  stop()
  rmSync(directory, { recursive: true, force: true })
})

it('README, JavaScript: an agent in a project of its own refunds an order after an approval', async () => {
  const [, install = ''] = block('README.md', 'add tool').split('\n')
  await shell(install.replace('YOUR_PROJECT', project))
  writeFileSync(join(project, 'agent.mjs'), block('README.md', 'createGate'))
  expect(await approvedRun('node agent.mjs')).toBe('refunded order 7\n')
})

it('docs/javascript/testing.md after the README: the test of an agent passes, with a gateway of its own', async () => {
  writeFileSync(join(project, 'agent.test.mjs'), block('docs/javascript/testing.md', 'startGateway'))
  const out = await shell(`COUNTERSIGN_TEST_GATEWAY='${clone}' node --test agent.test.mjs`, project)
  expect(out).toMatch(/^# pass 1$/m)
})

it('README, Python: the same', { timeout: PATIENCE_MS }, async ({ skip }) => {
  const python = (await interpreters()).at(-1)
  if (python === undefined) return skip('this machine has no supported Python with venv')
  await bareEnvironment(python, venv)
  const [, , install = ''] = block('README.md', 'add tool').split('\n')
  await shell(install)
  writeFileSync(join(project, 'agent.py'), block('README.md', '@gate.tool'))
  expect(await approvedRun('python agent.py')).toBe('refunded order 7\n')
})

it('first-call.md after the README: its line sets the address and the key, and step 2 is allowed', async () => {
  delete env['COUNTERSIGN_URL']
  delete env['COUNTERSIGN_AGENT_KEY']
  const page = 'docs/tutorials/first-call.md'
  const out = await shell(block(page, 'export ') + block(page, 'docs.python.org'))
  expect(JSON.parse(out)).toMatchObject(JSON.parse(block(page, '"allow"')) as object)
})
