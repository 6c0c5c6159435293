const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const OPENS = new Set([0x7b, 0x5b])
const CLOSES = new Set([0x7d, 0x5d])

/**
 * Returns true when an object has a member twice. Some readers of JSON take the first of them, others the last. The
 * text must be valid JSON. Walks it without recursion, because servers may nest deeply.
 */
export function repeatedMember(json: Buffer): boolean {
  const open: Set<string>[] = []
  let text: { readonly from: number; readonly to: number } | undefined
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] ?? 0
    if (byte === QUOTE) {
      const to = endOfText(json, at)
      text = { from: at, to }
      at = to - 1
    } else if (OPENS.has(byte)) open.push(new Set())
    else if (CLOSES.has(byte)) open.pop()
    else if (byte === COLON && text !== undefined) {
      const name = JSON.parse(json.toString('utf8', text.from, text.to)) as string
      const names = open.at(-1)
      if (names?.has(name) === true) return true
      names?.add(name)
    }
  }
  return false
}

/** Returns the offset behind the text that begins at `from`. */
function endOfText(json: Buffer, from: number): number {
  for (let at = json.indexOf(QUOTE, from + 1); at >= 0; at = json.indexOf(QUOTE, at + 1)) {
    let slashes = 0
    while (json[at - 1 - slashes] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return at + 1
  }
  return json.length
}
