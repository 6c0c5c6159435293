import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { MAIN } from '../crash.ts'
import { inDirectory, STARTER_POLICIES, withGateway } from '../fault/gateway.ts'
import { runBlocks } from './shell.ts'

const ADMIN_KEY = 'an-admin-key-for-tests-on-the-loopback-only'
const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Pages whose `sh` blocks run from top to bottom, as a reader pastes them. A `json` or `text output` block shows the
 * output of the block above it. The program of an `sh background` block runs until the end of the page.
 */
const PAGES = [
  'docs/tutorials/first-call.md',
  'docs/tutorials/first-policy.md',
  'docs/tutorials/review-from-the-phone.md',
  'docs/tutorials/production-one-machine.md',
]

describe('tutorials', () => {
  it.each(PAGES)('works as printed: %s', async (page) => {
    const blocks = [
      ...readFileSync(`${root}/${page}`, 'utf8').matchAll(
        /^```(sh|sh background|json|text output)\n(.*?)^```/gms,
      ),
    ]
    const commands = blocks
      .filter(([, language]) => language?.startsWith('sh'))
      .map(([, language, text = '']) => (language === 'sh' ? text : inBackground(text)))
    expect(commands.length).toBeGreaterThan(0)
    await inDirectory(async (directory) => {
      await withGateway({ directory, policies: STARTER_POLICIES }, async (gateway) => {
        const env = {
          COUNTERSIGN_URL: gateway.url,
          COUNTERSIGN_PORT: new URL(gateway.url).port,
          COUNTERSIGN_ADMIN_KEY: ADMIN_KEY,
          COUNTERSIGN_AGENT_KEY: await gateway.key('agent', 'demo-agent'),
          COUNTERSIGN_REVIEWER_KEY: await gateway.key('reviewer', 'carol'),
        }
        const setup = `cp -r ${JSON.stringify(`${root}/policies`)} policies`
        const runs = (await runBlocks([setup, ...commands], { cwd: directory, env })).slice(1)
        expect(runs.filter(({ code }) => code !== 0)).toEqual([])
        expect(runs).toHaveLength(commands.length)
        let run = -1
        for (const [, language, text = ''] of blocks) {
          if (language?.startsWith('sh')) run++
          else if (language === 'text output') expect(runs[run]?.out.trim()).toMatch(likeText(text.trim()))
          else expect(JSON.parse(runs[run]?.out ?? '')).toMatchObject(shown(JSON.parse(text)) as object)
        }
      })
    })
  })
})

/** Starts a gateway for development on a free port, and waits for its keys. */
const inBackground = (text: string): string => `
${text.trim().replace('npx countersign', `COUNTERSIGN_PORT=0 ${process.execPath} ${MAIN}`)} > background.log 2>&1 &
trap "kill $!; wait" EXIT
until [ -e data/demo-credentials.json ]; do kill -0 $!; sleep 0.1; done`

/** `...` in an example stands for any text. */
const likeText = (text: string): RegExp =>
  new RegExp(
    `^${text
      .split('...')
      .map((part) => part.replaceAll(/[^\w\s]/g, '\\$&'))
      .join('.*')}$`,
  )

function shown(value: unknown): unknown {
  if (value === '...') return expect.any(String)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shown(member)]))
}
