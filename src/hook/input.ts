import { Aborted, InvalidPayload } from '@countersign/sdk'

/**
 * Reads the whole input of a hook. Bytes beyond the limit are read and dropped. A harness that cannot write reports a
 * failed hook and may run the tool.
 *
 * @throws NotExecuted when the input exceeds `mostBytes`, or when the signal aborts before its end
 */
export async function inputOf(
  source: AsyncIterable<Uint8Array>,
  mostBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  return Promise.race([readAll(source, mostBytes), aborted(signal)])
}

async function readAll(source: AsyncIterable<Uint8Array>, mostBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of source) {
    length += part.length
    if (length <= mostBytes) parts.push(part)
  }
  if (length > mostBytes) throw new InvalidPayload(`the input is longer than ${mostBytes} bytes`)
  return Buffer.concat(parts)
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = (): void => reject(new Aborted('the input did not end', { cause: signal.reason }))
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}
