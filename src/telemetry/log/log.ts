import { EventEmitter } from 'node:events'
import { type DestinationStream, type Logger, pino } from 'pino'
import type { EvidenceRecord } from '../../gateway/core/event-record.ts'
import type { Origin } from '../../gateway/core/trace-context.ts'
import { LogOutput } from './log-output.ts'

/** Paths of members that may contain a secret. */
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
  'page_secret',
  '*.page_secret',
  '*["countersign-page"]',
  'req.headers["countersign-page"]',
  '*.authorization',
  'headers.authorization',
  'req.headers.authorization',
  '*.api_key',
  '*.approval_token',
  '*.signature',
  '*.payload',
]

/**
 * Maximum number of characters that wait for a reader of the log. To save memory, further lines are dropped and
 * counted.
 */
const MOST_WAITING = 16 * 1024 * 1024

export function createLog(level: string, destination: DestinationStream = standardOutput()): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: REDACTED, censor: '[redacted]' },
  }
  const log = pino(options, destination)
  if (destination instanceof EventEmitter) sayDropped(log, destination)
  return log
}

/**
 * Creates the output of the log. At the end of the process, the output writes the waiting lines, or kills the process
 * if it is stuck in a write.
 *
 * @param onFault called when writing begins to fail, and again only after a recovery
 */
export function standardOutput(onFault: (error: Error) => void = () => undefined): LogOutput {
  const output = new LogOutput(1, MOST_WAITING)
  output.on('fault', onFault)
  process.once('exit', () => {
    if (output.isStuck()) process.kill(process.pid, 'SIGKILL')
    output.flush()
  })
  return output
}

function sayDropped(log: Pick<Logger, 'warn'>, output: EventEmitter): void {
  let dropped = 0
  output.on('drop', () => (dropped += 1))
  output.on('drain', () => {
    if (dropped === 0) return
    const lines = dropped
    dropped = 0
    log.warn({ lines }, 'the log had no reader for a while: lines are missing here')
  })
}

type Logged = { readonly record: EvidenceRecord; readonly origin?: Origin | undefined }

/**
 * Logs one line per record. Automatic decisions are logged at `debug`, because there are many. Never logs values that
 * rules read: the lines have no secret, and redaction would copy each member of them.
 */
export function evidenceLog(log: Logger): (logged: Logged) => void {
  const lines = log.child({}, { redact: [] })
  return ({ record, origin }) => {
    const level = record.type.startsWith('decision.') ? 'debug' : 'info'
    if (!lines.isLevelEnabled(level)) return
    const { type, tenant, actor, task_id, thread_id, revision, tool } = record
    const of = { request: origin?.request, trace_id: origin?.span?.traceId }
    const who = { tenant, actor: `${actor.kind}:${actor.id}` }
    lines[level]({ event: type, ...of, ...who, task_id, thread_id, revision, tool })
  }
}
