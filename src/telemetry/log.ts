import { type DestinationStream, type Logger, pino } from 'pino'
import type { EvidenceRecord } from '../gateway/evidence.ts'
import type { Origin } from '../gateway/origin.ts'

/** Members that may hold a secret, wherever a log line might carry them. */
const REDACTED = [
  'api_key',
  'approval_token',
  'signature',
  'payload',
  'request_payload',
  'authorization',
  'cookie',
  '*.cookie',
  'headers.cookie',
  'req.headers.cookie',
  '*.authorization',
  'headers.authorization',
  'req.headers.authorization',
  '*.api_key',
  '*.approval_token',
  '*.signature',
  '*.payload',
]

export function createLog(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: REDACTED, censor: '[redacted]' },
  }
  return pino(options, destination ?? standardOutput())
}

/** Lines are written beside the event loop, those that queue up meanwhile together; what waits at an orderly exit is flushed. */
function standardOutput(): DestinationStream {
  return pino.destination({ dest: 1, sync: false })
}

/** One line per record; automatic decisions are too many for `info`. Values that rules read are evidence, never log. */
export function logEvidence(log: Logger, record: EvidenceRecord, origin?: Origin): void {
  const level = record.type.startsWith('decision.') ? 'debug' : 'info'
  if (!log.isLevelEnabled(level)) return
  const { type, tenant, actor, task_id, thread_id, revision, tool } = record
  const of = { request: origin?.request, trace_id: origin?.span.traceId }
  const who = { tenant, actor: `${actor.kind}:${actor.id}` }
  log[level]({ event: type, ...of, ...who, task_id, thread_id, revision, tool })
}
