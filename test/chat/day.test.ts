import { expect, it } from 'vitest'
import { INSTALL_MS } from '../debian.ts'
import { long, starterFiles } from '../day-of-calls.ts'
import { held } from '../gateway-fixture.ts'
import { SLACK } from './fake-slack.ts'
import { openSlackWorld } from './slack-world.ts'

/** Reviewers may decide in a chat those of a day's 25 calls that one message holds whole. */

const withChat = (levels: readonly string[]): Record<string, string | null> => {
  const files = starterFiles()
  const routing = levels.reduce(
    (text, level) => text.replace(new RegExp(`^(  ${level}: +\\{ )`, 'm'), '$1chat: true, '),
    files['routing.yaml'] ?? '',
  )
  return { ...files, 'routing.yaml': routing }
}

it.each([
  { levels: ['low', 'medium'], approvable: 6 },
  { levels: ['low', 'medium', 'high'], approvable: 8 },
])('with chat for $levels, $approvable of 25 calls have Approve', { timeout: INSTALL_MS }, async (given) => {
  const at = await openSlackWorld({ files: withChat(given.levels) })
  const { world, slack } = at
  await at.webhook(SLACK.channel)
  for (const [agent, tool_name, payload] of long) await held(await world.agent(agent), { tool_name, payload })
  await slack.until(() => slack.messages.size === 25)
  const shown = [...slack.messages.values()].map(({ versions }) =>
    JSON.stringify(versions.at(-1)?.['blocks']),
  )
  const withText = (text: string): string[] => shown.filter((blocks) => blocks.includes(text))
  const approvable = withText('countersign:approve')
  const [hidden, long_] = [withText('hidden value'), withText('more than 1000 characters')]
  console.log(
    `with chat for ${given.levels.join(', ')}: ${approvable.length} of 25 calls have Approve, ` +
      `${hidden.length} have hidden values, ${long_.length} are long`,
  )
  expect(approvable).toHaveLength(given.approvable)
  expect(
    approvable.filter((blocks) => !given.levels.some((level) => blocks.includes(`${level} risk`))),
  ).toEqual([])
  expect(approvable.filter((blocks) => hidden.includes(blocks) || long_.includes(blocks))).toEqual([])
  expect(withText('@mail.example')).toEqual([])
  await at.close()
})
