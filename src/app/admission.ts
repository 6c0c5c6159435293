import { BlockList } from 'node:net'
import type { Logger } from 'pino'
import type { AdminKeys } from '../gateway/core/admin-keys.ts'
import type { Deps } from '../gateway/core/deps.ts'
import { createAdmission, type Admission } from '../http/admission/admission.ts'
import { senderOf } from '../http/admission/sender.ts'
import type { StrangerBounds } from '../http/wire/strangers.ts'
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
    senderOf: (request) => senderOf(request, known),
    onOverload: ({ began, refused }) => {
      if (began) log.warn('this gateway receives more requests than it can serve: some are refused')
      else log.info({ refused }, 'requests are no longer refused')
    },
  })
}

export const strangersOf = ({ connectionsPerAddress, trustedProxies }: Config): StrangerBounds => ({
  perAddress: connectionsPerAddress,
  trusted: trustedProxies ?? new BlockList(),
})
