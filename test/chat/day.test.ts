import { expect, it } from 'vitest'
import { INSTALL_MS } from '../debian.ts'
import { long, starterFiles } from '../day-of-calls.ts'
import { held } from '../gateway-fixture.ts'
import { SLACK } from './fake-slack.ts'
import { openSlackWorld } from './slack-world.ts'

/** Of the 25 calls of a day, a chat may decide those that one message holds whole. */

const withChat = (levels: readonly string[]): Record<string, string | null> => {
  const files = starterFiles()
  const routing = levels.reduce(
    (text, level) => text.replace(new RegExp(`^(  ${level}: +\\{ )`, 'm'), '$1chat: true, '),
    files['routing.yaml'] ?? '',
  )
  return { ...files, 'routing.yaml': routing }
}

it.each([
  { levels: ['low', 'medium'], approvable: 5 },
  { levels: ['low', 'medium', 'high'], approvable: 7 },
])('with chat for $levels, $approvable of 25 calls have Approve', { timeout: INSTALL_MS }, async (given) => {
  const { world, slack, webhook, close } = await openSlackWorld({ files: withChat(given.levels) })
  await webhook(SLACK.channel)
  for (const [agent, tool_name, payload] of long) await held(await world.agent(agent), { tool_name, payload })
  await slack.until(() => slack.messages.size === 25)
  const shown = [...slack.messages.values()].map(({ versions }) =>
    JSON.stringify(versions.at(-1)?.['blocks']),
  )
  const whole = shown.filter((blocks) => blocks.includes('countersign:approve'))
  const reasons = shown.flatMap((blocks) => /Not to approve here: ([^"]*)\./.exec(blocks)?.[1] ?? [])
  console.log(
    `${whole.length} of 25 calls have Approve with ${given.levels.join(', ')}; without: ${reasons.join('; ')}`,
  )
  expect(whole).toHaveLength(given.approvable)
  for (const secret of ['customer1@mail.example', 'customer6@mail.example'])
    expect(shown.join()).not.toContain(secret)
  await close()
})
