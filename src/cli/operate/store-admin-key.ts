import { randomBytes } from 'node:crypto'
import { openStore } from '../../app/store.ts'
import { rotateAdminKey } from '../../gateway/core/admin-keys.ts'
import { parseDuration } from '../../policy/text/text.ts'
import type { Config } from '../../settings/config.ts'
import { usage } from '../terminal/failure.ts'
import { orExplain } from './store-failure.ts'

const MOST_MS = 7 * 24 * 3_600_000
const KEY_BYTES = 32

/** `countersign store rotate-admin-key`: the configured admin key, or a new one, replaces the key of the store. */
export async function rotateAdminKeyOf(config: Config, overlap: string): Promise<void> {
  const overlapMs = overlap === '0' ? 0 : parseDuration(overlap)
  if (overlapMs === undefined || overlapMs > MOST_MS)
    throw usage(`\`${overlap}\` is not an overlap: write digits and s, m, h or d, at most 7d, or 0`)
  const key = config.adminKey ?? `csa_${randomBytes(KEY_BYTES).toString('base64url')}`
  const { until } = await orExplain('rotate the admin key', async () => {
    const store = await openStore(config)
    try {
      const commitId = (): string => `rotate.${randomBytes(12).toString('base64url')}`
      return await rotateAdminKey({ store, commitId, deadlineMs: config.storeDeadline }, key, overlapMs)
    } finally {
      await store.close()
    }
  })
  if (config.adminKey === undefined) console.log(key)
  const fate =
    until === undefined ? 'no other key works' : `the old key works until ${new Date(until).toISOString()}`
  const whose =
    config.adminKey === undefined ? 'the admin key above (shown once)' : 'the configured admin key'
  console.error(`${whose} is in force in ${config.store.shown}; ${fate}`)
}
