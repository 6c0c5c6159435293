const LINE_END = 0x0a

/** A line without its end, and whether it had one: the last one of a file that was cut off has none. */
export interface Line {
  readonly bytes: Buffer
  readonly ended: boolean
}

/** Lines of bytes, however they arrive. Not by node:readline, which takes other characters for line ends, too. */
export async function* linesOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  let parts: Uint8Array[] = []
  for await (const chunk of source) {
    let from = 0
    for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, from)) {
      yield { bytes: Buffer.concat([...parts, chunk.subarray(from, end)]), ended: true }
      parts = []
      from = end + 1
    }
    if (from < chunk.length) parts.push(chunk.subarray(from))
  }
  if (parts.length > 0) yield { bytes: Buffer.concat(parts), ended: false }
}
