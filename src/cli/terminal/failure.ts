/**
 * Holds: the commands, which main.ts finds and loads.
 * Imports: @countersign/sdk, app, backup, contract, domain, evidence, gateway, hook, mcp, policy, settings,
 *   store, system, telemetry.
 * Start: operate/serve.ts, then author/check.ts.
 */
/** Exit codes of every command (docs/policy-language.md). */
export const EXIT = {
  ok: 0,
  unexpected: 1,
  usage: 2,
  doesNotCheck: 3,
  testsFailed: 4,
  leftOut: 4,
  changed: 5,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** A failure that a person reads: one sentence, and what to do next. */
export class CliFailure extends Error {
  override readonly name = 'CliFailure'
  readonly exit: ExitCode
  readonly hint: string | undefined
  /** Of the problem with which the gateway refused. */
  readonly code: string | undefined

  constructor(
    message: string,
    options: { exit?: ExitCode; hint?: string | undefined; code?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.exit = options.exit ?? EXIT.unexpected
    this.hint = options.hint
    this.code = options.code
  }
}

export function usage(message: string, hint?: string): CliFailure {
  return new CliFailure(message, { exit: EXIT.usage, ...(hint === undefined ? {} : { hint }) })
}

/** With the reason that the system gives: a full disk is mended elsewhere than a right that is missing. */
export function cannotWrite(path: string, cause: unknown): CliFailure {
  return new CliFailure(`cannot write \`${path}\`: ${(cause as Error).message}`, { cause })
}

/** What Node says of an option that there is not, without its advice how to write a file name that looks like one. */
export function plainly(message: string): string {
  return message.replace(/(^Unknown option '.*?')\. To specify a positional argument.*$/s, '$1')
}

/** More arguments than a command takes: what it would not look at must not seem fine. @throws CliFailure */
export function refuseMore(positionals: readonly string[], taken: number, help: string): void {
  const extra = positionals[taken]
  if (extra !== undefined) throw usage(`unexpected argument \`${extra}\``, help)
}

/** What `parseArgs` tells of one thing on the command line, with `tokens: true`. */
type Token =
  | { readonly kind: string }
  | { readonly kind: 'option'; readonly name: string; readonly rawName: string }

/** Options of other commands than this one: what it would not look at must not seem to be obeyed. Each takes `--url` and `--json`. @throws CliFailure */
export function refuseOptions(tokens: readonly Token[], taken: readonly string[], help: string): void {
  for (const token of tokens)
    if ('rawName' in token && ![...taken, 'url', 'json'].includes(token.name))
      throw usage(`\`${token.rawName}\` is no option of this command`, help)
}

/** A whole number in a flag. @throws CliFailure for anything else, nothing at all included */
export function wholeNumber(value: string, flag: string): number {
  if (!/^\d{1,15}$/.test(value)) throw usage(`${flag} is a whole number, not \`${value}\``)
  return Number(value)
}

/** The value of a flag that knows only some. */
export function oneOf<T extends string>(value: string, allowed: readonly T[], flag: string): T {
  const found = allowed.find((one) => one === value)
  if (found === undefined) throw usage(`${flag} is one of ${allowed.join(', ')}, not \`${value}\``)
  return found
}
