import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCli } from '../cli/run.ts'
import { inDirectory, startGateway, SMALL_POLICIES } from './gateway.ts'
import { until } from '../until.ts'

const KEY = 'an-admin-key-for-tests-on-the-loopback-only'

describe('a rollout of policies', () => {
  it(
    'is listed by `countersign policies status`, which says whether all gateways have the bundle',
    () =>
      inDirectory(async (directory) => {
        const policies = join(directory, 'policies')
        await cp(SMALL_POLICIES, policies, { recursive: true })
        const gateway = await startGateway({ directory, policies })
        const status = (...args: string[]) =>
          runCli(['policies', 'status', '--url', gateway.url, ...args], {
            cwd: directory,
            env: { COUNTERSIGN_ADMIN_KEY: KEY },
          })
        await until(async () => (await status()).code === 0)
        const revision = async (): Promise<string> =>
          String((await gateway.admin('GET', '/policies')).body['revision'])
        const before = await revision()
        expect((await status()).out).toContain(before.slice(0, 12))
        const routing = join(policies, 'routing.yaml')
        await writeFile(routing, `${await readFile(routing, 'utf8')}# another bundle\n`)
        await until(async () => (await revision()) !== before)
        const after = await revision()
        await until(async () => (await status('--revision', after)).code === 0)
        const wrong = await status('--revision', before)
        expect([wrong.code, wrong.out]).toEqual([1, expect.stringContaining('not every gateway decides by')])
        await writeFile(routing, 'unmatched: [')
        await until(async () => (await status()).out.includes('the last load of a gateway failed'))
        expect((await status()).code).toBe(1)
        gateway.hangUp()
        await gateway.process.kill('SIGTERM')
      }),
    60_000,
  )
})
