/** Exit codes of every command (docs/policy-language.md). */
export const EXIT = {
  ok: 0,
  unexpected: 1,
  usage: 2,
  doesNotCheck: 3,
  testsFailed: 4,
  leftOut: 4,
  changed: 5,
  loading: 6,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** A failure that a person can act on: one sentence, and the next step. */
export class CliFailure extends Error {
  override readonly name = 'CliFailure'
  readonly exit: ExitCode
  readonly hint: string | undefined
  /** The code in the gateway's problem document. */
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

/** A failure to write, with the system's reason, which determines the remedy. */
export function cannotWrite(path: string, cause: unknown): CliFailure {
  return new CliFailure(`cannot write \`${path}\`: ${(cause as Error).message}`, { cause })
}

/** Node's message about an unknown option, without the advice about file names that look like options. */
export function plainly(message: string): string {
  return message.replace(/(^Unknown option '.*?')\. To specify a positional argument.*$/s, '$1')
}

/**
 * Returns the whole number in a flag.
 *
 * @throws CliFailure for any other text, including empty text
 */
export function wholeNumber(value: string, flag: string): number {
  if (!/^\d{1,15}$/.test(value)) throw usage(`${flag} must be a whole number, not \`${value}\``)
  return Number(value)
}
