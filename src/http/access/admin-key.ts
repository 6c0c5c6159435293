import { createHash, timingSafeEqual } from 'node:crypto'

/** Whether the header brings the admin key: it may be any string, and is compared in constant time over digests. */
export function isAdminKey(authorization: string, adminKeyHash: Uint8Array): boolean {
  const given = /^bearer (.+)$/i.exec(authorization)?.[1]
  return given !== undefined && timingSafeEqual(createHash('sha256').update(given).digest(), adminKeyHash)
}
