import { runCli } from '../cli/run.ts'

/** docs/reference/cli.md: the help of every command, as the program prints it. */
export async function cliPage(root: string): Promise<string> {
  const { out } = await runCli(['--help'], { cwd: root })
  const commands = [...out.matchAll(/^ {2}([a-z][a-z-]+) {2,}(.+)$/gm)].map(([, name = '', does = '']) => ({
    name,
    does,
  }))
  const parts = await Promise.all(
    commands.map(async ({ name, does }) => {
      const help = await runCli([name, '--help'], { cwd: root })
      return ['', `## \`${name}\``, '', `${does[0]?.toUpperCase()}${does.slice(1)}.`, '', ...block(help.out)]
    }),
  )
  return [
    '# Command line',
    '',
    'This page has the help of every command. `npm run schemas` makes it from the program.',
    '',
    'In a built checkout, the program is `npx countersign`. Elsewhere, run an installed `countersign`: npx would run another',
    'package of this name.',
    '',
    ...block(out),
    ...parts.flat(),
    '',
  ].join('\n')
}

const block = (text: string): string[] => ['```text', text.trimEnd(), '```']
