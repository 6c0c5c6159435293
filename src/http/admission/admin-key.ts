import type { AdminKeys } from '../../gateway/core/admin-keys.ts'

/** True when the header contains an admin key in force. */
export function isAdminKey(authorization: string, keys: Pick<AdminKeys, 'accepts'>): boolean {
  const given = /^bearer (.+)$/i.exec(authorization)?.[1]
  return given !== undefined && keys.accepts(given)
}
