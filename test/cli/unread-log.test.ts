import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { MAIN, startProcess } from '../crash.ts'
import { until } from '../until.ts'
import { throughFullPipe } from '../full-pipe.ts'
import { freePort } from '../ports.ts'

const STARTER = fileURLToPath(new URL('../../policies', import.meta.url))

async function settings(): Promise<{ port: string; flags: string[] }> {
  const directory = mkdtempSync(join(tmpdir(), 'cs-unread-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const port = String(await freePort())
  const store = ['--store', `file:${join(directory, 'store')}`]
  return { port, flags: [...store, '--policies', STARTER, '--port', port, '--metrics-port', '0'] }
}

const answers = (port: string): Promise<void> =>
  until(async () => (await fetch(`http://127.0.0.1:${port}/livez`)).ok)

it.each(['serve', 'dev'])(
  '%s without a reader of its output closes everything on a signal, and the next gateway opens its store',
  async (command) => {
    const { port, flags } = await settings()
    const gateway = startProcess(MAIN, [command, ...flags], { through: throughFullPipe() })
    // one that hangs is deaf to all else
    onTestFinished(() => void gateway.kill('SIGKILL'))
    await answers(port)
    expect(await gateway.kill('SIGTERM')).toMatchObject({ code: 0 })

    const next = startProcess(MAIN, ['serve', ...flags])
    await next.lineWhere((line) => line.includes('listening'))
    expect(await next.kill('SIGTERM')).toMatchObject({ code: 0 })
  },
)

it('a gateway that cannot write its log reports it once, still answers, and ends normally', async () => {
  const { port, flags } = await settings()
  const through = ['sh', '-c', 'exec "$@" >/dev/full', 'sh']
  const gateway = startProcess(MAIN, ['serve', ...flags], { through })
  onTestFinished(() => void gateway.kill('SIGKILL'))
  await answers(port)
  const { code, errors } = await gateway.kill('SIGTERM')
  expect(code).toBe(0)
  expect(
    errors.match(/the log cannot be written now; its lines are kept until it can: ENOSPC/g),
  ).toHaveLength(1)
})
