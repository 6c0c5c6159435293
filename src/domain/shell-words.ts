/**
 * The words of a shell's command line. The reader refuses no line, and reads a quoted word once more as a line
 * (`sh -c 'sh deploy.sh'`). The words serve to find names of files, not to decide about the line.
 */
export function shellWords(line: string, most: number): string[] {
  const found = new Set<string>()
  const left = [line]
  for (let text = left.pop(); text !== undefined && found.size < most; text = left.pop())
    for (const word of wordsOf(text)) {
      if (found.size >= most) break
      found.add(word)
      // a quoted word is shorter than its line, so this ends
      if (BREAKS.test(word) && word.length < text.length) left.push(word)
    }
  return [...found]
}

const BREAKS = /[\s;&|()<>`]/

function wordsOf(line: string): string[] {
  const words: string[] = []
  let word: string | undefined
  for (let at = 0; at < line.length;) {
    const sign = line.charAt(at)
    if (BREAKS.test(sign)) {
      if (word !== undefined) words.push(word)
      word = undefined
      at++
      continue
    }
    const { text, end } = readQuoted(line, at) ?? { text: sign, end: at + 1 }
    word = (word ?? '') + text
    at = end
  }
  if (word !== undefined) words.push(word)
  return words.filter((one) => one !== '')
}

/** The text of a quote, and the place behind it. Without its second sign, `closed` is false. */
export interface Quoted {
  readonly text: string
  readonly end: number
  readonly closed: boolean
}

/** Reads the quote that begins at a place: `'...'`, `"..."`, or one sign behind a backslash. */
export function readQuoted(line: string, at: number): Quoted | undefined {
  const quote = line.charAt(at)
  if (quote === '\\') {
    const sign = line.charAt(at + 1)
    return { text: sign === '\n' ? '' : sign, end: at + 2, closed: sign !== '' }
  }
  if (quote !== "'" && quote !== '"') return undefined
  let text = ''
  for (let end = at + 1; end < line.length; end++) {
    const sign = line.charAt(end)
    if (sign === quote) return { text, end: end + 1, closed: true }
    const next = line.charAt(end + 1)
    if (quote === '"' && sign === '\\' && next !== '' && '"\\$`\n'.includes(next)) {
      text += next === '\n' ? '' : next
      end++
    } else text += sign
  }
  return { text, end: line.length, closed: false }
}
