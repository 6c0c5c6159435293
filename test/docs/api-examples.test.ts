import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { checkDocumented } from '../documented.ts'
import { inDirectory, STARTER_POLICIES, withGateway } from '../fault/gateway.ts'
import { API_EXAMPLES, commandOf } from './api-examples.ts'
import { operations } from './api-page.ts'
import { runBlocks } from './shell.ts'

const ADMIN_KEY = 'an-admin-key-for-tests-on-the-loopback-only'

it('matches the answer to each example of docs/reference/api.md', async () => {
  await inDirectory(async (directory) => {
    const policies = await checkOut(join(directory, 'checkout'))
    await withGateway({ directory, policies }, async (gateway) => {
      const env = {
        COUNTERSIGN_URL: gateway.url,
        ADMIN_KEY,
        AGENT_KEY: await gateway.key('agent', 'demo-agent'),
        REVIEWER_KEY: await gateway.key('reviewer', 'carol'),
      }
      const blocks = API_EXAMPLES.map((example) => {
        const kept = Object.entries(example.keep ?? {}).map(
          ([name, member]) =>
            `${name}=$(node -p 'JSON.parse(fs.readFileSync("answer", "utf8")).${member}')\n`,
        )
        return `: > answer\n${commandOf(example)} -o answer -w '%{http_code}\\n'; if [ -s answer ]; then cat answer; fi\n${kept.join('')}`
      })
      const runs = await runBlocks(blocks, { cwd: directory, env })
      const answers = runs.map(({ out, err }, i) => {
        const example = API_EXAMPLES[i]
        const [status = '', ...body] = out.split('\n')
        expect(`${example?.operation} ${status} ${err}`.trim()).toBe(
          `${example?.operation} ${example?.status}`,
        )
        if (Number(status) === 204) return null
        const answer = JSON.parse(body.join('\n')) as unknown
        const operation = operations().find(({ id }) => id === example?.operation)
        const path = (example?.path ?? '').replaceAll(/\$[A-Z]+/g, 'x').split('?')[0] ?? ''
        checkDocumented(operation?.method ?? '', path, { status: Number(status), body: answer })
        return steady(answer)
      })
      expect(runs).toHaveLength(API_EXAMPLES.length)
      await expect(`${JSON.stringify(answers, null, 1)}\n`).toMatchFileSnapshot(
        fileURLToPath(new URL('api-answers.json', import.meta.url)),
      )
    })
  })
})

/** The starter policies in a git work tree of their own, so that the answers name a commit wherever the test runs. */
async function checkOut(directory: string): Promise<string> {
  const policies = join(directory, 'policies')
  await cp(STARTER_POLICIES, policies, { recursive: true })
  await mkdir(join(directory, '.git'))
  await writeFile(join(directory, '.git', 'HEAD'), `${'0123456789'.repeat(4)}\n`)
  return policies
}

/** An answer without values that differ in each run: ids, times, keys, digests. A list keeps only its first entry. */
function steady(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map((one) => steady(one, name))
  if (value !== null && typeof value === 'object')
    return Object.fromEntries(
      // the last checkpoint of the log, which the gateway signs by the clock
      Object.entries(value).flatMap(([key, member]) => (key === 'log' ? [] : [[key, steady(member, key)]])),
    )
  if (typeof value === 'number') return /(_ms|_seconds|_at|millis|age|uptime|room)$/.test(name) ? 0 : value
  if (typeof value !== 'string') return value
  const isDrawn =
    /^(thr|whk|whd|evt|whsec|csl|csa|csr|cs[a-z]*)_|^[0-9a-f]{16,}$|^\d{4}-\d\d-\d\dT|^https?:\/\/127|^countersign\/[0-9a-f]{16}\/|^sha256:|^[A-Za-z0-9_-]{22}$|\d{9,}|[A-Za-z0-9+/_-]{32,}/
  return isDrawn.test(value) ? '...' : value
}
