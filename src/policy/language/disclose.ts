import { isSensitive } from './sensitive.ts'

/**
 * The part of a value that evidence keeps beside the log: the value, only the name of its field, or nothing
 * (docs/policy-language.md, `disclose`).
 */
export const DISCLOSE = ['full', 'masked', 'none'] as const
export type Disclose = (typeof DISCLOSE)[number]

/** Levels by the name of a field. */
export type DiscloseLevels = Readonly<Record<string, Disclose>>

/** The levels of words, which have no name to keep. */
export const WORDS_KEPT = ['full', 'none'] as const

/** Words of people and agents, which a bundle may keep out of evidence. */
export interface KeptWords {
  readonly comments: boolean
  readonly agent_words: boolean
}

/** The level of a field: the lowest that the contract sets for it, for a part of it, or for what contains it. */
export function disclosureOf(
  { sensitive, disclose = {} }: { readonly sensitive: readonly string[]; readonly disclose?: DiscloseLevels },
  field: string,
): Disclose {
  const set = Object.keys(disclose).filter((name) => isSensitive([name], field))
  if (set.some((name) => disclose[name] === 'none')) return 'none'
  const masked = isSensitive(sensitive, field) || set.some((name) => disclose[name] === 'masked')
  return masked ? 'masked' : 'full'
}

/** True when the contract keeps the value of a field out of evidence that is not sensitive. */
export const isLowered = ({ disclose = {} }: { readonly disclose?: DiscloseLevels }): boolean =>
  Object.values(disclose).some((level) => level !== 'full')
