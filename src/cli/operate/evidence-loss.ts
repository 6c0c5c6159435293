import { setTimeout as pause } from 'node:timers/promises'
import type { LossView } from '../../contract/checkpoint.ts'
import { createApi } from '../client/api-client.ts'
import { reachAsAdmin } from '../client/credentials.ts'
import { isConfirmed } from '../terminal/confirm.ts'
import { CliFailure, wholeNumber } from '../terminal/failure.ts'
import { jsonOf } from '../terminal/visible-text.ts'

interface Values {
  readonly url: string | undefined
  readonly before: string | undefined
  readonly reason: string | undefined
  readonly yes: boolean
  readonly json: boolean
}

/** Time that all gateways have to answer, ms. A bucket with a year of files takes minutes. */
const WAIT_MS = 300_000
const AGAIN_MS = 1_000

/** `countersign evidence accept-loss`: asks all gateways, shows what is lost, asks, and accepts it. */
export async function acceptLoss(
  tenant: string,
  { url, before = '', reason = '', yes, json }: Values,
): Promise<void> {
  const api = createApi(reachAsAdmin(url))
  const body = { tenant, reason, before: wholeNumber(before, '--before') }
  const begun = Date.now()
  let found = await api.accept_loss({ body: { ...body, preview: true } })
  while (isOpen(found) && Date.now() - begun < WAIT_MS) {
    await pause(AGAIN_MS)
    found = await api.accept_loss({ body: { ...body, preview: true } })
  }
  if (isOpen(found))
    throw new CliFailure(`gateways did not answer: ${found.waiting.join(', ')}; nothing was changed`)
  if (found.lost.length === 0)
    throw new CliFailure(`a gateway can read all records of ${tenant} before ${before}: nothing is lost`)
  console.error(`no gateway can read ${textOf(found)} of ${tenant}; their disclosures are deleted too`)
  if (!yes && !(await isConfirmed('accept this loss'))) throw new CliFailure('nothing was changed')
  const lost = await api.accept_loss({ body, timeoutMs: WAIT_MS })
  if (isOpen(lost)) throw new CliFailure('a gateway started meanwhile: run this command again')
  if (json) return console.log(jsonOf(lost))
  console.log(`evidence of ${tenant} says now that ${textOf(lost)} are lost`)
}

const isOpen = ({ waiting, lost }: LossView): boolean => waiting.length > 0 && lost.length === 0

const textOf = ({ lost }: LossView): string =>
  lost.map(({ from, to, until }) => `records ${from} to ${to} (until ${until})`).join(', ')
