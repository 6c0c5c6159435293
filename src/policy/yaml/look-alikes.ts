import { deceptiveWords, inspectText, spelled, type TextWarning, WARNINGS } from '../../domain/hidden-text.ts'
import type { Doc } from './doc.ts'
import type { Findings, Mark, Source } from './source.ts'

/** The kinds of deceptive text that cause a warning. Other checks report hidden characters as errors. */
const KINDS: readonly TextWarning[] = [
  'mixed_script',
  'look_alike_word',
  'look_alike',
  'digits',
  'space',
  'stacked',
]
/** Keys of patterns, whose ranges of letters (`[a-zа-я]`) are not words. */
const PATTERNS = ['matches', 'pattern']
const SHOWN = 60

/** Matches a character outside ASCII, or an escape that can produce such a character. */
const MAY_DECEIVE = /[^\0-\x7f]|\\[xuUN_LP]/

/**
 * Warns about text that people misread. A reject rule for `pаypal.com` with a Cyrillic letter never fires for the real
 * domain, and a pull request shows no difference.
 */
export function warnOfLookAlikes(doc: Doc, source: Source, findings: Findings): void {
  if (!MAY_DECEIVE.test(source.text)) return
  const look = (text: string, mark: Mark): void => {
    const kinds = inspectText(text).warnings.filter((kind) => KINDS.includes(kind))
    if (kinds.length === 0) return
    const words = deceptiveWords(text, 3).map((word) => `\`${spelled(word)}\``)
    const shown = words.length > 0 ? words.join(', ') : `\`${spelled(text.slice(0, SHOWN))}\``
    findings.add(
      'look-alike',
      { source, mark },
      `${kinds.map(clauseOf).join('; ')}: ${shown}`,
      'retype it, unless you intend it',
    )
  }
  const walk = (one: Doc): void => {
    if (one.kind === 'text') look(one.value, one.mark)
    else if (one.kind === 'list') one.items.forEach(walk)
    else if (one.kind === 'map') {
      for (const { key, keyMark, value } of one.entries) {
        look(key, keyMark)
        if (value.kind !== 'text' || !PATTERNS.includes(key)) walk(value)
      }
    }
  }
  walk(doc)
}

/** Returns the sentence of a warning as a lower-case clause, which a colon can follow. */
function clauseOf(kind: TextWarning): string {
  const sentence = WARNINGS[kind].slice(0, -1)
  return sentence.charAt(0).toLowerCase() + sentence.slice(1)
}
