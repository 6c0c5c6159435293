// @first
import { execFile } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { bareEnvironment, interpreters, ROOT } from '../clients/python-environment.ts'
import { type StartedProcess, startProcess } from '../crash.ts'
import { until } from '../until.ts'
import { execFileSync } from '../sync-child.ts'

let home: string

/** A project in which the packed package is installed, with its `npx countersign`. */
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'cs-dev-'))
  const modules = join(home, 'node_modules')
  mkdirSync(join(modules, '.bin'), { recursive: true })
  for (const name of readdirSync(join(ROOT, 'node_modules')).filter((one) => !one.startsWith('.')))
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  const packed = execFileSync('npm', ['pack', '--json', '--pack-destination', home], { cwd: ROOT })
  const [{ filename = '' } = {}] = JSON.parse(packed) as { filename?: string }[]
  mkdirSync(join(modules, 'countersign'))
  execFileSync('tar', [
    '-xzf',
    join(home, filename),
    '--strip-components=1',
    '-C',
    join(modules, 'countersign'),
  ])
  symlinkSync('../countersign/dist/bin/main.js', join(modules, '.bin/countersign'))
  writeFileSync(join(home, 'package.json'), '{"private":true}')
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

interface Keys {
  readonly url: string
  readonly agent?: string
  readonly reviewer_key: string
  readonly agent_keys: Record<string, string>
}

interface Dev {
  readonly gateway: StartedProcess
  readonly text: string
  readonly keys: () => Keys
}

/** Runs `countersign dev` in a folder until its screen is complete. */
async function startDev(folder: string, args: readonly string[] = []): Promise<Dev> {
  const main = join(home, 'node_modules/countersign/dist/bin/main.js')
  const through = ['sh', '-c', `cd ${folder} && exec "$@"`, 'sh']
  const flags = ['--port', '0', '--metrics-port', '0', ...args]
  const gateway = startProcess(main, ['dev', ...flags], { through })
  onTestFinished(() => void gateway.kill('SIGKILL'))
  await gateway.lineWhere((line) => line.includes('Ctrl-C stops the gateway'))
  const keys = (): Keys =>
    JSON.parse(readFileSync(join(folder, 'data/demo-credentials.json'), 'utf8')) as Keys
  return { gateway, text: gateway.lines.join('\n'), keys }
}

/** The program below a heading of a printed screen. */
function program(text: string, heading: string): string {
  const from = text.slice(text.indexOf(`\n# ${heading}`) + 1)
  return from.slice(from.indexOf('\n') + 1).split(/\n\n/)[0] ?? ''
}

const inShell = (script: string, env: Record<string, string> = {}) =>
  promisify(execFile)('sh', ['-c', script], { cwd: home, env: { ...process.env, ...env } })

/** Approves each thread that waits, until the work is done. */
async function approving<T>({ url, reviewer_key }: Keys, work: Promise<T>): Promise<T> {
  const headers = { authorization: `Bearer ${reviewer_key}`, 'content-type': 'application/json' }
  let isDone = false
  void work.then(
    () => (isDone = true),
    () => (isDone = true),
  )
  await until(async () => {
    const answer = await fetch(`${url}/api/review/threads?status=pending_review`, { headers })
    const { threads } = (await answer.json()) as { threads: { thread_id: string }[] }
    for (const { thread_id } of threads)
      await fetch(`${url}/api/review/threads/${thread_id}/votes`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ decision: 'approve', revision: 1, comment: 'Fine.' }),
      })
    return isDone
  })
  return work
}

describe('countersign dev from the packed package', () => {
  it('runs as `npx countersign dev` in a folder without policies', async () => {
    const npx = promisify(execFile)('npx', ['--no-install', 'countersign', 'dev', '--help'], { cwd: home })
    expect((await npx).stdout).toContain('countersign dev [--demo]')
  })

  it('copies the starter policies, lets only the owner read the keys, and prints calls that work', async () => {
    const { gateway, text, keys } = await startDev(home)
    expect(existsSync(join(home, 'policies/directory.yaml'))).toBe(true)
    expect(statSync(join(home, 'data/demo-credentials.json')).mode & 0o777).toBe(0o600)
    for (const part of [
      /Console +http:\/\/\S+\/console\/#\/sign-in\/csl_/,
      /Policies +\.\/policies: \d+ tools, \d+ rules/,
      /Data +\.\/data: /,
      /Admin key +csa_/,
      /Next +npx countersign dev --demo/,
    ])
      expect(text).toMatch(part)
    const curl = await inShell(program(text, 'curl'))
    expect(JSON.parse(curl.stdout)).toMatchObject({ status: 'pending_review', task_id: 'first' })
    const node = await approving(keys(), inShell(program(text, 'TypeScript')))
    expect(node.stdout).toMatch(/^held: .*\nyour tool runs with /)
    const python = await pythonWithClient(text)
    if (python !== undefined) {
      const ran = await approving(keys(), inShell(program(text, 'Python'), { PATH: python }))
      expect(ran.stdout).toMatch(/^held: .*\nyour tool runs with /)
    }
    await gateway.kill('SIGTERM')

    const again = await startDev(home)
    expect(again.text).not.toContain('Admin key')
    expect(again.text).toContain(Object.values(keys().agent_keys)[0])
    expect((await again.gateway.kill('SIGTERM')).code).toBe(0)
  })

  it('keeps existing policies, and gives a key to an agent that is added at run time', async () => {
    const folder = mkdtempSync(join(home, 'own-'))
    await promisify(execFile)('npx', ['--no-install', 'countersign', 'init', folder, '--empty'], {
      cwd: home,
    })
    const { gateway, text, keys } = await startDev(folder)
    expect(text).not.toContain('# curl')
    expect(text).toMatch(/Next +npx countersign add tool/)
    expect(keys()).toMatchObject({ reviewer: 'admin', agent_keys: {} })
    const directory = join(folder, 'policies/directory.yaml')
    writeFileSync(
      directory,
      readFileSync(directory, 'utf8').replace(
        'agents: {}',
        'agents: { own: { owners: [admin], prevent_self_review: false } }',
      ),
    )
    await gateway.lineWhere((line) => line.includes('new agent own: its key is in'))
    expect(keys().agent_keys['own']).toMatch(/^csk_main_/)
  })

  it('refuses a store that cannot keep keys', async () => {
    const main = join(home, 'node_modules/countersign/dist/bin/main.js')
    const { code, errors } = await startProcess(main, ['dev', '--store', 'redis://127.0.0.1']).ended
    expect(code).toBe(2)
    expect(errors).toContain('works with the embedded store only')
  })
})

/** The PATH of a virtual environment in which the printed `pip install` ran; undefined where it cannot run. */
async function pythonWithClient(text: string): Promise<string | undefined> {
  const [python] = await interpreters()
  const install = /# Python, after: (pip install .*)/.exec(text)?.[1] ?? ''
  expect(install).toBe('pip install ./node_modules/countersign/clients/python')
  if (python === undefined) return undefined
  const path = `${join(home, 'venv/bin')}:${process.env['PATH'] ?? ''}`
  await bareEnvironment(python, join(home, 'venv'))
  try {
    await inShell(install, { PATH: path })
  } catch (error) {
    console.warn(`the Python call is skipped, its package cannot be installed: ${(error as Error).message}`)
    return undefined
  }
  return path
}
