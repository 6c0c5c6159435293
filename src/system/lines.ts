const LINE_END = 0x0a

/** A line without its end. `ended` is false for the last line of a truncated file. */
export interface Line {
  readonly bytes: Buffer
  readonly ended: boolean
}

/** The error for a line that exceeds the limit. Reading more of the line would only fill memory. */
export class LongLine extends Error {
  override readonly name = 'LongLine'
}

/**
 * Splits bytes into lines of at most `mostBytes`. node:readline is not used, because it also splits at other
 * characters.
 *
 * @throws LongLine after the lines before it
 */
export async function* linesOf(source: AsyncIterable<Uint8Array>, mostBytes: number): AsyncGenerator<Line> {
  let parts: Uint8Array[] = []
  let length = 0
  const take = (part: Uint8Array): void => {
    length += part.length
    if (length > mostBytes) throw new LongLine(`a line is longer than ${mostBytes} bytes`)
    parts.push(part)
  }
  const whole = (): Buffer => {
    const bytes = Buffer.concat(parts)
    parts = []
    length = 0
    return bytes
  }
  for await (const chunk of source) {
    let from = 0
    for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, from)) {
      take(chunk.subarray(from, end))
      yield { bytes: whole(), ended: true }
      from = end + 1
    }
    if (from < chunk.length) take(chunk.subarray(from))
  }
  if (parts.length > 0) yield { bytes: whole(), ended: false }
}
