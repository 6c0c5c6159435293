/** A word that completes, with what it does. */
export interface Word {
  readonly text: string
  readonly says: string
}

export interface CompletedFlag extends Word {
  readonly short: string | undefined
  /** Undefined for a flag without a value, and empty for one with any value. */
  readonly values: readonly string[] | undefined
}

/** A command, or a subcommand of it, with the words that may follow. */
export interface Place {
  readonly command: string
  readonly subcommand: string | undefined
  readonly words: readonly Word[]
  readonly flags: readonly CompletedFlag[]
}

type Script = (commands: readonly Word[], places: readonly Place[]) => string

export const bash: Script = (commands, places) => `# completion of countersign for bash
_countersign() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} place=\${COMP_WORDS[1]} word words=
  COMPREPLY=()
  # for bash, --flag=value is three words
  if [ "$current" = = ]; then current=; elif [ "$previous" = = ]; then previous=\${COMP_WORDS[COMP_CWORD-2]}; fi
  [ "$COMP_CWORD" = 1 ] && place=
  for word in "\${COMP_WORDS[@]:2:COMP_CWORD-2}"; do
    [ "$word" = -- ] && return
${subcommandCase(places)}
  done
  case "$place $previous" in
${valueCases(places, (values) => `words=${quoted(values.join(' '))}`, 'return')}
  *) case "$place" in
${placeCases(commands, places, (words) => `words=${quoted(words.map(({ text }) => text).join(' '))}`)}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _countersign countersign`

export const zsh: Script = (commands, places) => `#compdef countersign
# completion of countersign for zsh
_countersign() {
  local previous=\${words[CURRENT-1]} place=\${words[2]} word
  local -a found
  (( CURRENT == 2 )) && place=
  if [[ $PREFIX == --*=* ]]; then previous=\${PREFIX%%=*}; compset -P '*='; fi
  for word in \${words[3,CURRENT-1]}; do
    [[ $word == -- ]] && { _files; return }
${subcommandCase(places)}
  done
  case "$place $previous" in
${valueCases(places, (values) => `found=(${values.map((value) => quoted(value.replaceAll(':', '\\:'))).join(' ')})`, '_files; return')}
  *) case "$place" in
${placeCases(commands, places, (words) => `found=(${words.map(({ text, says }) => quoted(says === '' ? text : `${text}:${says}`)).join(' ')})`)}
    esac ;;
  esac
  _describe countersign found || _files
}
if [ "$funcstack[1]" = _countersign ]; then _countersign "$@"; else compdef _countersign countersign; fi`

export const fish: Script = (commands, places) => `# completion of countersign for fish
function __countersign_at
    set -l words (commandline -opc)
    test "$words[2]" = "$argv[1]"; or return 1
    set -q argv[2]; or return 0
    contains -- $argv[2] $words[3..-1]
end
${[
  ...commands.map((word) => fishWord('test (count (commandline -opc)) -eq 1', word)),
  ...places.flatMap(({ command, subcommand, words, flags }) => {
    const at = ['__countersign_at', command, ...(subcommand === undefined ? [] : [subcommand])].join(' ')
    const length = subcommand === undefined ? 2 : 3
    const next = `${at}; and test (count (commandline -opc)) -eq ${length}`
    return [...words.map((word) => fishWord(next, word)), ...flags.map((flag) => fishFlag(at, flag))]
  }),
].join('\n')}`

const fishWord = (when: string, { text, says }: Word): string =>
  `complete -c countersign -f -n ${fishQuoted(when)} -a ${fishQuoted(text)} -d ${fishQuoted(says)}`

function fishFlag(when: string, { text, short, says, values }: CompletedFlag): string {
  const value =
    values === undefined ? '' : values.length === 0 ? ' -r' : ` -x -a ${fishQuoted(values.join(' '))}`
  const name = `${short === undefined ? '' : ` -s ${short}`} -l ${text}`
  return `complete -c countersign -n ${fishQuoted(when)}${name}${value} -d ${fishQuoted(says)}`
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
const fishQuoted = (text: string): string => `'${text.replaceAll(/[\\']/g, '\\$&')}'`

/** Recognizes a subcommand, and makes it part of the place. */
function subcommandCase(places: readonly Place[]): string {
  const known = places.filter(({ subcommand }) => subcommand !== undefined).map(nameOf)
  return `    case "$place $word" in ${known.map(quoted).join('|')}) place="$place $word"; break ;; esac`
}

/** The cases of a flag before the cursor: its values, or anything. */
function valueCases(
  places: readonly Place[],
  closed: (values: readonly string[]) => string,
  open: string,
): string {
  const flags = places.flatMap((place) =>
    place.flags.map(({ values, ...flag }) => ({ values, pattern: patternOf(place, flag) })),
  )
  const free = flags.filter(({ values }) => values?.length === 0).map(({ pattern }) => pattern)
  return [
    ...flags.flatMap(({ pattern, values = [] }) =>
      values.length === 0 ? [] : [`  ${pattern}) ${closed(values)} ;;`],
    ),
    `  ${free.join('|')}) ${open} ;;`,
  ].join('\n')
}

const patternOf = (place: Place, { text, short }: Pick<CompletedFlag, 'text' | 'short'>): string =>
  [`--${text}`, ...(short === undefined ? [] : [`-${short}`])]
    .map((flag) => quoted(`${nameOf(place)} ${flag}`))
    .join('|')

const nameOf = ({ command, subcommand }: Place): string =>
  subcommand === undefined ? command : `${command} ${subcommand}`

function placeCases(
  commands: readonly Word[],
  places: readonly Place[],
  set: (words: readonly Word[]) => string,
): string {
  return [
    `    '') ${set(commands)} ;;`,
    ...places.map((place) => {
      const flags = place.flags.map(({ text, says }) => ({ text: `--${text}`, says }))
      return `    ${quoted(nameOf(place))}) ${set([...place.words, ...flags])} ;;`
    }),
  ].join('\n')
}
