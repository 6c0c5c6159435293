/** A flag of a command. Parser, usage, reference page and completion read this row. */
export interface Flag {
  /** The placeholder of the value, such as `FILE`. A flag without `takes` and `values` has no value. */
  readonly takes?: string
  /** The values, where they are a closed list. */
  readonly values?: readonly string[]
  readonly default?: string
  /** May be given several times. */
  readonly many?: true
  /** The command does not run without it. */
  readonly needed?: true
  readonly short?: string
  /** Each subcommand accepts it. */
  readonly common?: true
  /** The effect of the flag. Absent where the list of values says it. */
  readonly says?: string
}

/** A subcommand, such as `list` of `countersign review list`. */
export interface Subcommand {
  readonly operands?: string
  /** The flags that it accepts, in addition to the common ones. */
  readonly flags?: readonly string[]
  /** The flags without which it does not run. */
  readonly needs?: readonly string[]
  readonly says?: string
}

export interface Command {
  readonly name: string
  /**
   * The operands, as the usage prints them: `[DIR]` is optional, lower-case words are fixed choices (`agent|reviewer`),
   * and everything after `--` belongs to another program.
   */
  readonly operands?: string
  readonly says: string
  readonly flags: Readonly<Record<string, Flag>>
  /** A command with operands of its own runs a subcommand only when more operands follow its name. */
  readonly subcommands?: Readonly<Record<string, Subcommand>>
  /** The command also accepts the flags of all settings (src/settings). The usage prints this text in their place. */
  readonly settings?: string
  /** Lines at the end of the usage, printed as they are. */
  readonly notes?: string
}

/** Returns the row. Its type keeps the names of flags and subcommands. */
export const command = <const C extends Command>(row: C): C => row

/** The flags of a subcommand, or of a command without one. */
export function flagsOf(row: Command, subcommand?: string): [string, Flag][] {
  return Object.entries(row.flags).filter(([name]) => isTaken(row, subcommand, name))
}

export function isTaken(
  { flags, subcommands = {} }: Command,
  subcommand: string | undefined,
  name: string,
): boolean {
  const one = subcommand === undefined ? undefined : subcommands[subcommand]
  if (one === undefined || flags[name]?.common) return true
  return [...(one.flags ?? []), ...(one.needs ?? [])].includes(name)
}

/** True for a flag without which the command does not run. */
export function isNeeded(row: Command, subcommand: string | undefined, name: string): boolean {
  const needs = row.subcommands?.[subcommand ?? '']?.needs ?? []
  return isTaken(row, subcommand, name) && (row.flags[name]?.needed === true || needs.includes(name))
}

/** An operand of the row. */
export interface Operand {
  readonly name: string
  readonly isOptional: boolean
  /** The fixed choices, such as `agent` and `reviewer`. */
  readonly choices: readonly string[] | undefined
}

export interface Operands {
  readonly own: readonly Operand[]
  /** The other program, such as `-- COMMAND [ARGUMENT ...]`; empty without one. */
  readonly program: string
}

export function operandsOf({ operands = '', subcommands = {} }: Command, subcommand?: string): Operands {
  const text = subcommand === undefined ? operands : (subcommands[subcommand]?.operands ?? '')
  const at = text.search(/\[?--/)
  const own = (at < 0 ? text : text.slice(0, at)).split(' ').filter((word) => word !== '')
  return {
    program: at < 0 ? '' : text.slice(at),
    own: own.map((word) => {
      const name = word.replace(/^\[(.*)\]$/, '$1')
      const choices = /^[a-z][a-z|-]*$/.test(name) ? name.split('|') : undefined
      return { name, isOptional: name !== word, choices }
    }),
  }
}
