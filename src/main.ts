#!/usr/bin/env node
import type { Command } from './cli/terminal/command.ts'
import { CliFailure, EXIT, plainly } from './cli/terminal/failure.ts'
import { usageOf } from './cli/terminal/usage.ts'
import { visible } from './cli/terminal/visible-text.ts'

interface Loaded {
  readonly row: Command
  readonly run: (args: readonly string[]) => Promise<void>
}

interface Entry {
  readonly summary: string
  /** Loads the command when it runs, so that `serve` starts fast. */
  readonly load: () => Promise<Loaded>
  /**
   * True when the command's exit code is a decision. Every exit except its own 0 becomes EXIT.usage, which callers
   * treat as a refusal.
   */
  readonly decides?: true
}

/** Every command, in the order of the usage. */
const COMMANDS: Readonly<Record<string, Entry>> = {
  serve: {
    summary: 'run the gateway',
    load: () => import('./cli/operate/serve.ts').then((it) => ({ row: it.SERVE, run: it.serve })),
  },
  dev: {
    summary: 'run a gateway for development, with keys, a console link, a first call and a demo',
    load: () => import('./cli/dev/dev.ts').then((it) => ({ row: it.DEV, run: it.dev })),
  },
  review: {
    summary: 'list, show and decide threads as a reviewer',
    load: () => import('./cli/client/review.ts').then((it) => ({ row: it.REVIEW, run: it.review })),
  },
  check: {
    summary: 'check a policy bundle',
    load: () => import('./cli/author/check.ts').then((it) => ({ row: it.CHECK, run: it.check })),
  },
  test: {
    summary: 'run the tests inside a policy bundle',
    load: () => import('./cli/author/test.ts').then((it) => ({ row: it.TEST, run: it.test })),
  },
  backtest: {
    summary: 'replay recorded decisions on two policy bundles',
    load: () => import('./cli/author/backtest.ts').then((it) => ({ row: it.BACKTEST, run: it.backtest })),
  },
  explain: {
    summary: 'show how a bundle decides one call, rule by rule',
    load: () => import('./cli/author/explain.ts').then((it) => ({ row: it.EXPLAIN, run: it.explain })),
  },
  diff: {
    summary: 'show which calls another bundle would decide differently',
    load: () => import('./cli/author/diff.ts').then((it) => ({ row: it.DIFF, run: it.diff })),
  },
  schema: {
    summary: 'write JSON Schemas for your editor, from the contracts',
    load: () => import('./cli/author/schema.ts').then((it) => ({ row: it.SCHEMA, run: it.schema })),
  },
  add: {
    summary: 'add a tool with a rule that holds every call, or the contracts of all tools of a source',
    load: () => import('./cli/author/add.ts').then((it) => ({ row: it.ADD, run: it.add })),
  },
  fmt: {
    summary: 'format the files of a policy bundle',
    load: () => import('./cli/author/fmt.ts').then((it) => ({ row: it.FMT, run: it.fmt })),
  },
  init: {
    summary: 'write a starter bundle and a workflow that guards it',
    load: () => import('./cli/author/init.ts').then((it) => ({ row: it.INIT, run: it.init })),
  },
  lock: {
    summary: 'write the digests of all policy files, which every load checks',
    load: () => import('./cli/author/lock.ts').then((it) => ({ row: it.LOCK, run: it.lock })),
  },
  mcp: {
    summary: 'guard the tools of an MCP server',
    load: () => import('./cli/agent/mcp.ts').then((it) => ({ row: it.MCP, run: it.mcp })),
  },
  hook: {
    summary: 'decide on a tool call of a coding agent, before the tool runs',
    load: () => import('./cli/agent/hook.ts').then((it) => ({ row: it.HOOK, run: it.hook })),
    decides: true,
  },
  keys: {
    summary: 'issue and revoke keys',
    load: () => import('./cli/client/keys.ts').then((it) => ({ row: it.KEYS, run: it.keys })),
  },
  policies: {
    summary: 'list the gateways and the bundle of each',
    load: () => import('./cli/client/policies.ts').then((it) => ({ row: it.POLICIES, run: it.policies })),
  },
  'login-link': {
    summary: 'print a link that signs a reviewer in to the console',
    load: () =>
      import('./cli/client/login-link.ts').then((it) => ({ row: it.LOGIN_LINK, run: it.loginLink })),
  },
  'sign-out': {
    summary: 'end all sessions of a reviewer',
    load: () => import('./cli/client/login-link.ts').then((it) => ({ row: it.SIGN_OUT, run: it.signOut })),
  },
  freeze: {
    summary: 'stop an agent, a tool or a tenant at once',
    load: () => import('./cli/client/freeze.ts').then((it) => ({ row: it.FREEZE, run: it.freeze })),
  },
  unfreeze: {
    summary: 'end a freeze, so that policy decides new calls again',
    load: () => import('./cli/client/freeze.ts').then((it) => ({ row: it.UNFREEZE, run: it.unfreeze })),
  },
  erase: {
    summary: 'erase the data of a task, a thread, an agent, or a value',
    load: () => import('./cli/client/erase.ts').then((it) => ({ row: it.ERASE, run: it.erase })),
  },
  api: {
    summary: 'call an operation of the admin or the review API',
    load: () => import('./cli/client/api.ts').then((it) => ({ row: it.API, run: it.api })),
  },
  evidence: {
    summary: 'export, verify and prove evidence',
    load: () => import('./cli/operate/evidence.ts').then((it) => ({ row: it.EVIDENCE, run: it.evidence })),
  },
  store: {
    summary: 'check, back up, restore and move the store',
    load: () => import('./cli/operate/store.ts').then((it) => ({ row: it.STORE, run: it.store })),
  },
  chat: {
    summary: 'set up Slack, in which reviewers decide',
    load: () => import('./cli/operate/chat.ts').then((it) => ({ row: it.CHAT, run: it.chat })),
  },
  doctor: {
    summary: 'check everything that a gateway needs, and report the remedies',
    load: () => import('./cli/operate/doctor/doctor.ts').then((it) => ({ row: it.DOCTOR, run: it.doctor })),
  },
  health: {
    summary: 'check that a gateway answers, for a container',
    load: () => import('./cli/operate/health.ts').then((it) => ({ row: it.HEALTH, run: it.health })),
  },
  config: {
    summary: 'print every setting with its value and origin',
    load: () => import('./cli/operate/config.ts').then((it) => ({ row: it.CONFIG, run: it.config })),
  },
  completion: {
    summary: 'print a script that completes commands in bash, zsh or fish',
    load: () =>
      import('./cli/completion/completion.ts').then((it) => ({
        row: it.COMPLETION,
        run: async (args) => it.completion(args, await describedCommands()),
      })),
  },
}

/** The rows of all commands. */
function describedCommands(): Promise<{ readonly row: Command; readonly summary: string }[]> {
  return Promise.all(
    Object.values(COMMANDS).map(async ({ summary, load }) => ({ summary, row: (await load()).row })),
  )
}

const USAGE = [
  'countersign <command> [options]',
  '',
  ...Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(12)} ${summary}`),
  '',
  '`countersign <command> --help` describes one command.',
  'Exit codes: 0 success, 1 unexpected error, 2 usage, 3 check failed, 4 tests failed, 5 loosened or changed.',
].join('\n')

const HELP = ['--help', '-h']

async function main([name = 'help', ...args]: readonly string[]): Promise<void> {
  if (name === 'help' || HELP.includes(name)) return console.log(USAGE)
  if (name === '--version') return console.log((await import('./system/package.ts')).packageVersion())
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command === undefined)
    throw new CliFailure(`unknown command \`${name}\``, { exit: EXIT.usage, hint: USAGE })
  if (command.decides) refuseUntilAllowed()
  const { row, run } = await command.load()
  // arguments after -- belong to another command
  const own = args.includes('--') ? args.slice(0, args.indexOf('--')) : args
  if (own.some((arg) => HELP.includes(arg))) {
    process.exitCode = EXIT.ok
    return console.log(usageOf(row))
  }
  await run(args)
}

/** From now on, every error and every unplanned exit counts as a refusal. */
function refuseUntilAllowed(): void {
  process.exitCode = EXIT.usage
  process.on('exit', (code) => {
    if (code !== EXIT.ok) process.exitCode = EXIT.usage
  })
}

function fail(error: unknown): void {
  const { code, message } = error as { code?: string; message?: string }
  if (error instanceof CliFailure) {
    console.error(visible(`countersign: ${error.message}`))
    if (error.hint !== undefined) console.error(visible(`\n${error.hint}`))
    process.exitCode = error.exit
  } else if (code?.startsWith('ERR_PARSE_ARGS')) {
    console.error(visible(`countersign: ${plainly(message ?? code)}`))
    process.exitCode = EXIT.usage
  } else if (code === 'EPIPE') {
    process.exitCode = EXIT.unexpected
  } else {
    console.error(error)
    process.exitCode = EXIT.unexpected
  }
}

/** Ends output quietly when its reader has closed it (\`head\`). A command that changes files still finishes. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return
  // Output was lost, so a later exit code must not report success.
  console.error(`countersign: standard output cannot be written: ${error.message}`)
  process.exit(EXIT.unexpected)
})

await main(process.argv.slice(2)).catch(fail)
