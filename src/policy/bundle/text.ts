import type { Diagnostic } from '../report/diagnostics.ts'
import { createFindings, createSource } from '../yaml/source.ts'

/** The text of a file, or the finding at its first byte outside UTF-8. */
export type DecodedText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly diagnostic: Diagnostic }

/** Decodes UTF-8. Keeps a byte order mark in the text, because the scan refuses it. */
export function decodeText(path: string, bytes: Uint8Array): DecodedText {
  try {
    return { ok: true, text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) }
  } catch {
    return { ok: false, diagnostic: describeBytes(path, bytes) }
  }
}

function describeBytes(path: string, bytes: Uint8Array): Diagnostic {
  const sound = soundText(bytes)
  const source = createSource(path, new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
  const mark = { start: sound.length, end: sound.length + 1 }
  const byte = (bytes[Buffer.byteLength(sound)] ?? 0).toString(16).toUpperCase().padStart(2, '0')
  const findings = createFindings()
  const hint = isWide(bytes) ? 'the file is UTF-16: save it as UTF-8' : 'save the file as UTF-8'
  findings.add('not-utf8', { source, mark }, `the byte 0x${byte} is not valid UTF-8`, hint)
  return findings.sorted()[0] as Diagnostic
}

/** True for UTF-16 with a byte order mark, as some editors and shells write it. */
function isWide([first, second]: Uint8Array): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
}

/**
 * Returns the whole characters before the first invalid byte. Uses bisection, because prefixes of valid UTF-8 are
 * valid.
 */
function soundText(bytes: Uint8Array): string {
  let [sound, broken] = [0, bytes.length + 1]
  while (sound + 1 < broken) {
    const middle = (sound + broken) >> 1
    if (beginning(bytes, middle) === undefined) broken = middle
    else sound = middle
  }
  return beginning(bytes, sound) ?? ''
}

/** Decodes the first bytes, without an incomplete character at the end; undefined when they are not UTF-8. */
function beginning(bytes: Uint8Array, length: number): string | undefined {
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    return decoder.decode(bytes.subarray(0, length), { stream: true })
  } catch {
    return undefined
  }
}
