#!/usr/bin/env node
import { CliFailure, EXIT, plainly } from './cli/terminal/failure.ts'
import { visible } from './cli/terminal/visible-text.ts'

interface Command {
  readonly run: (args: readonly string[]) => Promise<void>
  readonly usage: string
}

interface Entry {
  readonly summary: string
  /** Loads the command when it runs, so that `serve` starts fast. */
  readonly load: () => Promise<Command>
  /**
   * True when the command's exit code is a decision. Every exit except its own 0 becomes EXIT.usage, which callers
   * treat as a refusal.
   */
  readonly decides?: true
}

const COMMANDS: Record<string, Entry> = {
  serve: {
    summary: 'run the gateway',
    load: () => import('./cli/operate/serve.ts').then((it) => ({ run: it.serve, usage: it.SERVE_USAGE })),
  },
  dev: {
    summary: 'run a gateway for development, with keys, a console link and a first call',
    load: () => import('./cli/dev/dev.ts').then((it) => ({ run: it.dev, usage: it.DEV_USAGE })),
  },
  demo: {
    summary: 'run the demo agent (npm run demo)',
    load: () => import('./cli/demo/demo.ts').then((it) => ({ run: it.demo, usage: it.DEMO_USAGE })),
  },
  review: {
    summary: 'list, show and decide threads as a reviewer',
    load: () => import('./cli/client/review.ts').then((it) => ({ run: it.review, usage: it.REVIEW_USAGE })),
  },
  check: {
    summary: 'check a policy bundle',
    load: () => import('./cli/author/check.ts').then((it) => ({ run: it.check, usage: it.CHECK_USAGE })),
  },
  test: {
    summary: 'run the tests inside a policy bundle',
    load: () => import('./cli/author/test.ts').then((it) => ({ run: it.test, usage: it.TEST_USAGE })),
  },
  backtest: {
    summary: 'replay recorded decisions on two policy bundles',
    load: () =>
      import('./cli/author/backtest.ts').then((it) => ({ run: it.backtest, usage: it.BACKTEST_USAGE })),
  },
  explain: {
    summary: 'show how a bundle decides one call, rule by rule',
    load: () =>
      import('./cli/author/explain.ts').then((it) => ({ run: it.explain, usage: it.EXPLAIN_USAGE })),
  },
  diff: {
    summary: 'show which calls another bundle would decide differently',
    load: () => import('./cli/author/diff.ts').then((it) => ({ run: it.diff, usage: it.DIFF_USAGE })),
  },
  schema: {
    summary: 'write JSON Schemas for your editor, from the contracts',
    load: () => import('./cli/author/schema.ts').then((it) => ({ run: it.schema, usage: it.SCHEMA_USAGE })),
  },
  add: {
    summary: 'add a tool: its contract, a rule that holds every call, an agent that may use it',
    load: () => import('./cli/author/add.ts').then((it) => ({ run: it.add, usage: it.ADD_USAGE })),
  },
  fmt: {
    summary: 'format the files of a policy bundle',
    load: () => import('./cli/author/fmt.ts').then((it) => ({ run: it.fmt, usage: it.FMT_USAGE })),
  },
  import: {
    summary: 'write tool contracts from an MCP server or an OpenAPI document',
    load: () =>
      import('./cli/author/import.ts').then((it) => ({ run: it.importContracts, usage: it.IMPORT_USAGE })),
  },
  init: {
    summary: 'write a starter bundle and a workflow that guards it',
    load: () => import('./cli/author/init.ts').then((it) => ({ run: it.init, usage: it.INIT_USAGE })),
  },
  lock: {
    summary: 'write the digests of all policy files, which every load checks',
    load: () => import('./cli/author/lock.ts').then((it) => ({ run: it.lock, usage: it.LOCK_USAGE })),
  },
  mcp: {
    summary: 'guard the tools of an MCP server',
    load: () => import('./cli/agent/mcp.ts').then((it) => ({ run: it.mcp, usage: it.MCP_USAGE })),
  },
  hook: {
    summary: 'decide on a tool call of a coding agent, before the tool runs',
    load: () => import('./cli/agent/hook.ts').then((it) => ({ run: it.hook, usage: it.HOOK_USAGE })),
    decides: true,
  },
  keys: {
    summary: 'issue and revoke keys',
    load: () => import('./cli/client/keys.ts').then((it) => ({ run: it.keys, usage: it.KEYS_USAGE })),
  },
  policies: {
    summary: 'list the gateways and the bundle of each',
    load: () =>
      import('./cli/client/policies.ts').then((it) => ({ run: it.policies, usage: it.POLICIES_USAGE })),
  },
  'login-link': {
    summary: 'print a link that signs a reviewer in to the console',
    load: () =>
      import('./cli/client/login-link.ts').then((it) => ({ run: it.loginLink, usage: it.LOGIN_LINK_USAGE })),
  },
  'sign-out': {
    summary: 'end all sessions of a reviewer',
    load: () =>
      import('./cli/client/login-link.ts').then((it) => ({ run: it.signOut, usage: it.SIGN_OUT_USAGE })),
  },
  freeze: {
    summary: 'stop an agent, a tool or a tenant at once',
    load: () => import('./cli/client/freeze.ts').then((it) => ({ run: it.freeze, usage: it.FREEZE_USAGE })),
  },
  unfreeze: {
    summary: 'end a freeze, so that policy decides new calls again',
    load: () =>
      import('./cli/client/freeze.ts').then((it) => ({ run: it.unfreeze, usage: it.UNFREEZE_USAGE })),
  },
  webhooks: {
    summary: 'manage destinations of webhooks',
    load: () =>
      import('./cli/client/webhooks.ts').then((it) => ({ run: it.webhooks, usage: it.WEBHOOKS_USAGE })),
  },
  evidence: {
    summary: 'export, verify and prove evidence',
    load: () =>
      import('./cli/operate/evidence.ts').then((it) => ({ run: it.evidence, usage: it.EVIDENCE_USAGE })),
  },
  store: {
    summary: 'check, back up, restore and move the store',
    load: () => import('./cli/operate/store.ts').then((it) => ({ run: it.store, usage: it.STORE_USAGE })),
  },
  doctor: {
    summary: 'check everything that a gateway needs, and report the remedies',
    load: () =>
      import('./cli/operate/doctor/doctor.ts').then((it) => ({ run: it.doctor, usage: it.DOCTOR_USAGE })),
  },
  health: {
    summary: 'check that a gateway answers, for a container',
    load: () => import('./cli/operate/health.ts').then((it) => ({ run: it.health, usage: it.HEALTH_USAGE })),
  },
  config: {
    summary: 'print every setting with its value and origin',
    load: () => import('./cli/operate/config.ts').then((it) => ({ run: it.config, usage: it.CONFIG_USAGE })),
  },
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
  const { run, usage } = await command.load()
  // arguments after -- belong to another command
  const own = args.includes('--') ? args.slice(0, args.indexOf('--')) : args
  if (own.some((arg) => HELP.includes(arg))) {
    process.exitCode = EXIT.ok
    return console.log(usage)
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
