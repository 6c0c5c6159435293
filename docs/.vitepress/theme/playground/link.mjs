/*
 * A playground as the fragment of a link: `#recipe=NAME`, or `#bundle=` with files and request, deflated.
 * A browser sends a fragment to no server.
 */
const base64url = (bytes) =>
  btoa(Array.from(bytes, (byte) => String.fromCodePoint(byte)).join(''))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

const bytesOf = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.codePointAt(0))

const through = async (bytes, stream) =>
  new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer())

export async function fragmentOf(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state))
  return `#bundle=${base64url(await through(bytes, new CompressionStream('deflate-raw')))}`
}

/** `{ recipe }`, `{ files, request }`, or undefined for a fragment that says neither. */
export async function readFragment(fragment) {
  const [, kind, value = ''] = /^#(recipe|bundle)=(.+)$/.exec(fragment) ?? []
  if (kind === 'recipe') return { recipe: decodeURIComponent(value) }
  if (kind !== 'bundle') return undefined
  try {
    const bytes = await through(bytesOf(value), new DecompressionStream('deflate-raw'))
    const { files, request } = JSON.parse(new TextDecoder().decode(bytes))
    const isFile = ({ path, text }) => typeof path === 'string' && typeof text === 'string'
    return Array.isArray(files) && files.every(isFile) && typeof request === 'string'
      ? { files, request }
      : undefined
  } catch {
    return undefined
  }
}
