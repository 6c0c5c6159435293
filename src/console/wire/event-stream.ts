/** One server-sent event in the form that the gateway writes. */
export interface ServerEvent {
  readonly id: string
  readonly event: string
  readonly data: string
}

/**
 * Reads the events of an answer. The page parses events itself, because the browser's EventSource sends no header
 * (docs/signing-in.md). Comments, which keep the connection open, are skipped.
 */
export async function* eventsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  for (let rest = ''; ;) {
    const { done, value } = await reader.read()
    if (done) return
    const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) if (!block.startsWith(':')) yield eventOf(block)
  }
}

function eventOf(block: string): ServerEvent {
  const fields = new Map(block.split('\n').map((line) => line.split(/: (.*)/s) as [string, string]))
  const of = (name: string): string => fields.get(name) ?? ''
  return { id: of('id'), event: of('event'), data: of('data') }
}
