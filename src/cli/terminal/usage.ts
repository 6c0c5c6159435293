import { type Command, type Flag, flagsOf, isNeeded, operandsOf } from './command.ts'

const WIDTH = 120

/**
 * Returns the usage of a command, made from its row.
 *
 * @param only a subcommand: only its lines, for an error in its arguments
 */
export function usageOf(row: Command, only?: string): string {
  const { name, says, subcommands = {}, notes } = row
  if (only !== undefined)
    return `${subcommandLines(row, only)}\n\n\`countersign ${name} --help\` describes every command.`
  const names = Object.keys(subcommands)
  const isCommand = names.length === 0 || row.operands !== undefined
  const parts = [
    isCommand ? synopsis(row) : `countersign ${name} <command>`,
    wrapped(says, 2),
    names.map((one) => subcommandLines(row, one)).join('\n'),
    flagLines(Object.entries(row.flags)),
    notes ?? '',
  ]
  return parts.filter((part) => part !== '').join('\n\n')
}

function subcommandLines(row: Command, subcommand: string): string {
  const { says = '' } = row.subcommands?.[subcommand] ?? {}
  const line = synopsis(row, subcommand)
  return says === '' ? line : `${line}\n${wrapped(says, 6)}`
}

/** The command line, with operands and flags. The flags that every subcommand accepts are described elsewhere. */
function synopsis(row: Command, subcommand?: string): string {
  const { own, program } = operandsOf(row, subcommand)
  const taken = flagsOf(row, subcommand).filter(([, { common }]) => subcommand === undefined || !common)
  const flags = [true, false].flatMap((needed) =>
    taken
      .filter(([name]) => isNeeded(row, subcommand, name) === needed)
      .map(([name, flag]) => (needed ? withValue(name, flag) : `[${withValue(name, flag)}]`)),
  )
  const words = [
    subcommand === undefined ? `countersign ${row.name}` : subcommand,
    ...own.map(({ name, isOptional }) => (isOptional ? `[${name}]` : name)),
    ...flags,
    ...(row.settings === undefined || subcommand !== undefined ? [] : [row.settings]),
    ...(program === '' ? [] : [program]),
  ]
  return lines(words, subcommand === undefined ? 0 : 2, subcommand === undefined ? 4 : 6)
}

function withValue(name: string, { takes, values, many, short }: Flag): string {
  const value = takes ?? values?.join('|')
  const flag = short === undefined ? `--${name}` : `-${short}`
  return `${flag}${value === undefined ? '' : ` ${value}`}${many ? ' ...' : ''}`
}

function flagLines(flags: readonly (readonly [string, Flag])[]): string {
  const labelled = flags.flatMap(([name, flag]) => {
    const label = `${flag.short === undefined ? '' : `-${flag.short}, `}--${name}${flag.takes ? ` ${flag.takes}` : ''}`
    return flag.says === undefined ? [] : [[label, described(flag)] as const]
  })
  const width = Math.max(...labelled.map(([label]) => label.length)) + 5
  return labelled
    .map(([label, text]) => `  ${label}`.padEnd(width) + wrapped(text, width).trimStart())
    .join('\n')
}

/** The effect of a flag, with the list of its values where the synopsis does not show it, and with its default. */
export function described({ says = '', takes, values, default: standard }: Flag): string {
  const list = takes !== undefined && values !== undefined ? `: ${values.join(', ')}` : ''
  const unset = takes !== undefined && standard ? ` (default: ${standard})` : ''
  return `${says}${list}${unset}`
}

/** Breaks paragraphs into lines of the width of the page, indented by `indent`. */
function wrapped(text: string, indent: number): string {
  return text
    .split('\n\n')
    .map((paragraph) => lines(paragraph.trim().split(/\s+/), indent, 0))
    .join('\n\n')
}

/** Joins words to lines. Lines after the first are indented by `hang` more. */
function lines(words: readonly string[], indent: number, hang: number): string {
  const made: string[] = []
  let line = ' '.repeat(indent)
  let isEmpty = true
  for (const word of words) {
    if (!isEmpty && line.length + 1 + word.length > WIDTH) {
      made.push(line)
      line = ' '.repeat(indent + hang)
      isEmpty = true
    }
    line += isEmpty ? word : ` ${word}`
    isEmpty = false
  }
  return [...made, line].join('\n')
}
