import { createHash, timingSafeEqual } from 'node:crypto'

/**
 * True when the header contains the admin key. The key may be any string, so digests are compared, in constant time.
 */
export function isAdminKey(authorization: string, adminKeyHash: Uint8Array): boolean {
  const given = /^bearer (.+)$/i.exec(authorization)?.[1]
  return given !== undefined && timingSafeEqual(createHash('sha256').update(given).digest(), adminKeyHash)
}
