#!/usr/bin/env node
import { CliFailure, EXIT } from './failure.ts'

interface Command {
  readonly summary: string
  readonly run: (args: readonly string[]) => Promise<void>
}

/** Commands load what they need when they run, so that `serve` starts fast. */
const COMMANDS: Record<string, Command> = {
  serve: { summary: 'run the gateway', run: async (args) => (await import('./serve.ts')).serve(args) },
  quickstart: {
    summary: 'run the gateway with demo credentials (npm start)',
    run: async (args) => (await import('./quickstart.ts')).quickstart(args),
  },
  demo: {
    summary: 'run the demo agent (npm run demo)',
    run: async (args) => (await import('./demo.ts')).demo(args),
  },
  review: {
    summary: 'list, show and decide threads as a reviewer',
    run: async (args) => (await import('./review.ts')).review(args),
  },
  check: { summary: 'check a policy bundle', run: async (args) => (await import('./check.ts')).check(args) },
  test: {
    summary: 'run the tests inside a policy bundle',
    run: async (args) => (await import('./test.ts')).test(args),
  },
  explain: {
    summary: 'show how a bundle decides one request, rule by rule',
    run: async (args) => (await import('./explain.ts')).explain(args),
  },
  keys: { summary: 'issue and revoke keys', run: async (args) => (await import('./keys.ts')).keys(args) },
  evidence: {
    summary: 'export evidence as NDJSON',
    run: async (args) => (await import('./evidence.ts')).evidence(args),
  },
  config: {
    summary: 'print every setting with its value and origin',
    run: async (args) => (await import('./config.ts')).config(args),
  },
}

const USAGE = [
  'countersign <command> [options]',
  '',
  ...Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(12)} ${summary}`),
  '',
  'Exit codes: 0 fine, 1 unexpected, 2 usage, 3 does not check, 4 tests failed.',
].join('\n')

async function main([name = 'help', ...args]: readonly string[]): Promise<void> {
  if (['help', '--help', '-h'].includes(name)) return console.log(USAGE)
  if (name === '--version') return console.log(await version())
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command === undefined)
    throw new CliFailure(`unknown command \`${name}\``, { exit: EXIT.usage, hint: USAGE })
  await command.run(args)
}

async function version(): Promise<string> {
  const { readFile } = await import('node:fs/promises')
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

function fail(error: unknown): void {
  const { code, message } = error as { code?: string; message?: string }
  if (error instanceof CliFailure) {
    console.error(`countersign: ${error.message}`)
    if (error.hint !== undefined) console.error(`\n${error.hint}`)
    process.exitCode = error.exit
  } else if (code?.startsWith('ERR_PARSE_ARGS')) {
    console.error(`countersign: ${message ?? code}`)
    process.exitCode = EXIT.usage
  } else {
    console.error(error)
    process.exitCode = EXIT.unexpected
  }
}

await main(process.argv.slice(2)).catch(fail)
