import type { BundleFile } from './messages.ts'

/** A recipe by its name, or a bundle with a call. */
export type Linked =
  | { readonly recipe: string }
  | { readonly files: readonly BundleFile[]; readonly request: string }

/**
 * A bundle and a call, deflated, as the end of a fragment: `bundle=...`. Browsers do not send the fragment to a server.
 *
 * @param request the text of the call
 */
export async function linkOf(files: readonly BundleFile[], request: string): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify({ files, request }))
  return `bundle=${base64url(await through(bytes, new CompressionStream('deflate-raw')))}`
}

/** Largest bundle of a link, inflated. A link of a few hundred kB could otherwise inflate to hundreds of MB. */
const LARGEST_BYTES = 1024 * 1024

/** Parses `recipe=NAME` or `bundle=...`. Returns undefined for any other text, and for a larger bundle. */
export async function readLink(link: string): Promise<Linked | undefined> {
  const [, kind, value = ''] = /^(recipe|bundle)=(.+)$/.exec(link) ?? []
  try {
    if (kind === 'recipe') return { recipe: decodeURIComponent(value) }
    if (kind !== 'bundle') return undefined
    const bytes = await through(bytesOf(value), new DecompressionStream('deflate-raw'), LARGEST_BYTES)
    const { files, request } = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>
    const isWhole = Array.isArray(files) && files.every(isFile) && typeof request === 'string'
    return isWhole ? { files, request } : undefined
  } catch {
    return undefined
  }
}

const isFile = (value: unknown): value is BundleFile => {
  const { path, text } = (value ?? {}) as Record<string, unknown>
  return typeof path === 'string' && typeof text === 'string'
}

const base64url = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (byte) => String.fromCodePoint(byte)).join(''))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(
    atob(text.replaceAll('-', '+').replaceAll('_', '/')),
    (letter) => letter.codePointAt(0) ?? 0,
  )

/** Browsers inflate a whole piece before its reader can stop them, and a byte becomes a thousand at most. */
const PIECE_BYTES = 1024

function piecesOf(bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  let at = 0
  return new ReadableStream({
    pull: (pieces) => {
      if (at >= bytes.length) return pieces.close()
      pieces.enqueue(bytes.slice(at, at + PIECE_BYTES))
      at += PIECE_BYTES
    },
  })
}

async function through(
  bytes: Uint8Array<ArrayBuffer>,
  stream: CompressionStream | DecompressionStream,
  mostBytes = Infinity,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = piecesOf(bytes).pipeThrough(stream).getReader()
  const parts: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer())
    size += value.length
    if (size > mostBytes) {
      await reader.cancel()
      throw new RangeError('larger than a bundle of the playground')
    }
    parts.push(value)
  }
}
