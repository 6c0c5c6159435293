import { deceptiveWords, inspectText, spelled, type TextWarning, WARNINGS } from '../../domain/hidden-text.ts'
import type { Doc } from './doc.ts'
import type { Findings, Mark, Source } from './source.ts'

/** Of all that text can deceive with. What nobody sees is an error elsewhere; long gaps and addresses are what some rules are about. */
const KINDS: readonly TextWarning[] = [
  'mixed_script',
  'look_alike_word',
  'look_alike',
  'digits',
  'space',
  'stacked',
]
/** Patterns name ranges of letters (`[a-zа-я]`), which are no words. */
const PATTERNS = ['matches', 'pattern']
const SHOWN = 60

/** Only here can a text hold anything but ASCII: as it is, or by an escape. */
const MAY_DECEIVE = /[^\0-\x7f]|\\[xuUN_LP]/

/**
 * Warns of texts that a reviewer reads as others: a reject rule for `pаypal.com` with a Cyrillic letter never fires for the real one, and a pull request
 * shows no difference.
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
      'retype it, unless it is meant',
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

/** The sentence of a warning, to stand before a colon. */
function clauseOf(kind: TextWarning): string {
  const sentence = WARNINGS[kind].slice(0, -1)
  return sentence.charAt(0).toLowerCase() + sentence.slice(1)
}
