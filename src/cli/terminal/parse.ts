import { parseArgs } from 'node:util'
import { type Command, type Flag, isNeeded, isTaken, type Operands, operandsOf } from './command.ts'
import { usage } from './failure.ts'
import { usageOf } from './usage.ts'

type ValueOf<F extends Flag> = F extends { values: readonly (infer V)[] }
  ? Given<F, V>
  : F extends { takes: string }
    ? Given<F, string>
    : boolean
type Given<F extends Flag, V> = F extends { many: true }
  ? readonly V[]
  : F extends { default: string } | { needed: true }
    ? V
    : V | undefined

type ValuesOf<C extends Command> = { readonly [N in keyof C['flags']]: ValueOf<C['flags'][N]> }
type SubcommandOf<C extends Command> = C extends { subcommands: infer S }
  ? (keyof S & string) | (C extends { operands: string } ? undefined : never)
  : undefined

/** The arguments of a command, read by its row. */
export interface Asked<C extends Command = Command> {
  readonly values: ValuesOf<C>
  readonly subcommand: SubcommandOf<C>
  readonly operands: readonly string[]
  /** The arguments after `--`, which belong to another program. */
  readonly program: readonly string[]
  /** The arguments for `loadConfig`. */
  readonly settings: readonly string[]
}

/**
 * Reads the arguments of a command.
 *
 * @throws CliFailure, and the errors of `parseArgs`, for arguments that the row does not permit
 */
export function parse<C extends Command>(row: C, args: readonly string[]): Asked<C> {
  const [before, program] = splitProgram(row, args)
  const { own, settings } = splitSettings(row, before)
  const options = optionsOf(row)
  const { values, positionals, tokens } = parseArgs({
    args: own,
    options,
    allowPositionals: true,
    tokens: true,
  })
  const subcommand = subcommandIn(row, positionals)
  const help = usageOf(row, subcommand)
  for (const token of tokens)
    if (token.kind === 'option' && !isTaken(row, subcommand, token.name))
      throw usage(`\`${token.rawName}\` is not an option of this command`, help)
  const operands = subcommand === undefined ? positionals : positionals.slice(1)
  checkOperands({ operands, program }, operandsOf(row, subcommand), help)
  checkValues(row, subcommand, { values, help })
  return { values, subcommand, operands, program, settings } as unknown as Asked<C>
}

function optionsOf({ flags }: Command) {
  return Object.fromEntries(
    Object.entries(flags).map(([name, { takes, values, many = false, short, ...flag }]) => {
      const isText = takes !== undefined || values !== undefined
      const standard = isText ? (many ? [] : flag.default) : false
      const type = isText ? 'string' : 'boolean'
      return [
        name,
        {
          type,
          multiple: many,
          ...(short === undefined ? {} : { short }),
          ...(standard === undefined ? {} : { default: standard }),
        } as const,
      ]
    }),
  )
}

function splitProgram(row: Command, args: readonly string[]): [readonly string[], readonly string[]] {
  const end = operandsOf(row).program === '' ? -1 : args.indexOf('--')
  return end < 0 ? [args, []] : [args.slice(0, end), args.slice(end + 1)]
}

/** Separates the command's own flags and operands from the flags of settings, which `loadConfig` checks. */
function splitSettings(row: Command, args: readonly string[]): { own: string[]; settings: string[] } {
  const own: string[] = []
  const settings: string[] = []
  if (row.settings === undefined) return { own: [...args], settings }
  const others = args
    .map((arg) => /^--([\w-]+)/.exec(arg)?.[1])
    .filter((name) => name !== undefined && !Object.hasOwn(row.flags, name))
  const options = {
    ...Object.fromEntries(others.map((name) => [name, { type: 'string' } as const])),
    ...optionsOf(row),
  }
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true })
  for (const token of tokens) {
    const words = args.slice(token.index, token.index + (hasOwnValue(token) ? 2 : 1))
    const isOwn = token.kind === 'positional' || ('name' in token && Object.hasOwn(row.flags, token.name))
    ;(isOwn ? own : settings).push(...words)
  }
  return { own, settings }
}

/** True when the value of an option is the next argument. */
const hasOwnValue = (token: {
  kind: string
  value?: string | undefined
  inlineValue?: boolean | undefined
}) => token.kind === 'option' && token.value !== undefined && token.inlineValue === false

function subcommandIn(row: Command, [first, ...more]: readonly string[]): string | undefined {
  const { name, operands, subcommands } = row
  if (subcommands === undefined) return undefined
  if (first !== undefined && Object.hasOwn(subcommands, first) && (operands === undefined || more.length > 0))
    return first
  if (operands !== undefined) return undefined
  if (first !== undefined) throw usage(`unknown command \`${name} ${first}\``, usageOf(row))
  throw usage(`name a command: ${listed(Object.keys(subcommands))}`, usageOf(row))
}

const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`

function checkOperands(
  given: Pick<Asked, 'operands' | 'program'>,
  { own, program }: Operands,
  help: string,
): void {
  if (program.startsWith('--') && given.program.length === 0)
    throw usage(`missing argument: ${program}`, help)
  const missing = own.filter(({ isOptional }) => !isOptional)[given.operands.length]
  if (missing !== undefined) throw usage(`missing argument: ${missing.name}`, help)
  // a further argument must not be ignored silently
  const extra = given.operands[own.length]
  if (extra !== undefined) throw usage(`unexpected argument \`${extra}\``, help)
  for (const [at, { choices }] of own.entries()) {
    const word = given.operands[at]
    if (word !== undefined && choices?.includes(word) === false)
      throw usage(`\`${word}\` is not ${listed(choices)}`, help)
  }
}

function checkValues(
  row: Command,
  subcommand: string | undefined,
  { values, help }: { readonly values: Readonly<Record<string, unknown>>; readonly help: string },
): void {
  for (const [name, flag] of Object.entries(row.flags)) {
    const given = textsOf(values[name])
    if (isNeeded(row, subcommand, name) && given.every((one) => one.trim() === ''))
      throw usage(`missing option: --${name} ${flag.takes ?? flag.values?.join('|') ?? ''}`, help)
    const wrong = given.find((one) => flag.values?.includes(one) === false)
    if (wrong !== undefined)
      throw usage(`--${name} must be one of ${flag.values?.join(', ')}, not \`${wrong}\``, help)
  }
}

/** The texts of a flag; none for a flag without a value. */
const textsOf = (value: unknown): string[] =>
  [value].flat().filter((one): one is string => typeof one === 'string')
