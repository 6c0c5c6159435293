import { readFileSync } from 'node:fs'
import { BlockList } from 'node:net'
import type { Logger } from 'pino'
import type { AdminKeys } from '../gateway/core/admin-keys.ts'
import type { Deps } from '../gateway/core/deps.ts'
import { createAdmission, type Admission } from '../http/admission/admission.ts'
import { sendersOf } from '../http/admission/request.ts'
import type { ConnectionBounds } from '../http/wire/connections.ts'
import type { Config } from '../settings/config.ts'

/**
 * Creates the queue of requests. Logs a line when the queue begins to refuse requests, and another line when it stops.
 */
export function admissionOf(
  { bodyLimit }: Config,
  { log, ...known }: { gateway: Deps; adminKeys: AdminKeys; log: Logger },
): Admission {
  return createAdmission({
    bodyBytes: bodyLimit,
    senderOf: sendersOf(known),
    onOverload: ({ began, refused }) => {
      if (began) log.warn('this gateway receives more requests than it can serve: some are refused')
      else log.info({ refused }, 'requests are no longer refused')
    },
  })
}

/** Files that the process needs besides connections of callers: store, policies, logs, its own connections. */
const OTHER_FILES = 256

export const connectionsOf = (
  { connections, connectionsPerAddress, trustedProxies }: Config,
  onShed: ConnectionBounds['onShed'],
): ConnectionBounds => ({
  most: Math.max(1, Math.min(connections, mostOpenFiles() - OTHER_FILES)),
  perAddress: connectionsPerAddress,
  trusted: trustedProxies ?? new BlockList(),
  onShed,
})

/** The number of files that this process may have open; `Infinity` where the system does not say. Node raises it. */
export function mostOpenFiles(): number {
  try {
    const [, most] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return most === undefined ? Infinity : Number(most)
  } catch {
    return Infinity
  }
}
