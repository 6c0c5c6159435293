/** Crockford base32, which has no dots and few vowels, and sorts like the numbers. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const TIME_CHARS = 10

export const TASK_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/
/** Names of agents and reviewers in the directory. */
export const HOLDER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
export const TENANT_NAME = /^[a-z0-9-]{1,32}$/
export const THREAD_ID = /^thr_[0-9A-HJKMNP-TV-Z]{26}$/

/** Ids of webhooks and deliveries. Requests contain these ids without a tenant, so the ids contain the tenant. */
export const WEBHOOK_ID = /^whk_([a-z0-9-]{1,32})_[0-9A-HJKMNP-TV-Z]{26}$/
export const DELIVERY_ID = /^whd_([a-z0-9-]{1,32})_[0-9A-HJKMNP-TV-Z]{26}$/

/**
 * 26 characters that sort by time: 48 bits of `time` (ms since 1970), then 80 bits of `random` (at least 10 bytes).
 */
export function timeOrderedId(time: number, random: Uint8Array): string {
  let text = ''
  for (let rest = time, i = 0; i < TIME_CHARS; i++) {
    text = ALPHABET.charAt(rest % 32) + text
    rest = Math.floor(rest / 32)
  }
  return text + base32(random.subarray(0, 10))
}

/** Encodes five bits per character. Ten bytes yield exactly 16 characters. */
function base32(bytes: Uint8Array): string {
  let text = ''
  /** the lowest `held` bits are not written yet */
  let bits = 0
  let held = 0
  for (const byte of bytes) {
    bits = (bits << 8) | byte
    for (held += 8; held >= 5; held -= 5) text += ALPHABET.charAt((bits >> (held - 5)) & 31)
  }
  return text
}

/**
 * `random` plus one, as a big-endian number. The result is the random part of the next id of the same millisecond,
 * which keeps ids in order.
 */
export function successor(random: Uint8Array): Uint8Array {
  const next = Uint8Array.from(random)
  for (let i = next.length - 1; i >= 0; i--) {
    const byte = ((next[i] ?? 0) + 1) & 0xff
    next[i] = byte
    if (byte !== 0) break
  }
  return next
}
