import { SETTING_ROWS } from '../../settings/settings.ts'
import { valuesOf } from '../../settings/parsers.ts'
import { command, type Command, type Flag, flagsOf, operandsOf } from '../terminal/command.ts'
import { parse } from '../terminal/parse.ts'
import { described } from '../terminal/usage.ts'
import { bash, type CompletedFlag, fish, type Place, type Word, zsh } from './shells.ts'

export const COMPLETION = command({
  name: 'completion',
  operands: 'bash|zsh|fish',
  says: `Prints a script that completes the commands, their flags and the values of flags. Load it where the shell
    starts.`,
  flags: {},
  notes: `  ~/.bashrc                    eval "$(countersign completion bash)"
  ~/.zshrc, after compinit     eval "$(countersign completion zsh)"
  ~/.config/fish/config.fish   countersign completion fish | source`,
})

interface Described {
  readonly row: Command
  readonly summary: string
}

const SHELLS = { bash, zsh, fish }

/** `countersign completion SHELL`: prints a script that holds every command and flag. */
export function completion(args: readonly string[], commands: readonly Described[]): void {
  const [shell] = parse(COMPLETION, args).operands
  console.log(scriptFor(shell as keyof typeof SHELLS, commands))
}

export function scriptFor(shell: keyof typeof SHELLS, commands: readonly Described[]): string {
  const names = commands.map(({ row, summary }) => ({ text: row.name, says: summary }))
  return SHELLS[shell](
    names,
    commands.flatMap(({ row }) => placesOf(row)),
  )
}

function placesOf(row: Command): Place[] {
  const { name, subcommands = {} } = row
  const names = Object.entries(subcommands).map(([text, { says = '' }]) => ({ text, says: oneLine(says) }))
  const own = row.subcommands === undefined || row.operands !== undefined
  const flags = own ? flagsOf(row) : Object.entries(row.flags).filter(([, { common }]) => common)
  const settings = row.subcommands === undefined && row.settings !== undefined ? SETTING_FLAGS : []
  return [
    {
      command: name,
      subcommand: undefined,
      words: [...names, ...choicesOf(row)],
      flags: [...flags, ...settings].map(completed),
    },
    ...names.map(({ text }) => ({
      command: name,
      subcommand: text,
      words: choicesOf(row, text),
      flags: flagsOf(row, text).map(completed),
    })),
  ]
}

const choicesOf = (row: Command, subcommand?: string): Word[] =>
  operandsOf(row, subcommand).own.flatMap(({ choices = [] }) => choices.map((text) => ({ text, says: '' })))

const completed = ([name, flag]: readonly [string, Flag]): CompletedFlag => ({
  text: name,
  short: flag.short,
  says: oneLine(described({ says: flag.says ?? '' })),
  values: flag.values ?? (flag.takes === undefined ? undefined : []),
})

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ')

/** The flags of the settings, which are rows of their own. */
const SETTING_FLAGS: readonly (readonly [string, Flag])[] = [
  ['config', { takes: 'FILE', says: 'file of settings, in place of countersign.yaml' }],
  ...SETTING_ROWS.map(({ flag, help, parse: parser }) => {
    const values = valuesOf(parser)
    return [flag, { takes: 'VALUE', says: help, ...(values === undefined ? {} : { values }) }] as const
  }),
]
